package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"sluice/objectstore/answer"
)

// azureNative speaks to Azure Blob Storage. What it sends lies in memory that Go looks after: uploads of streams by the same
// library use mapped memory, which they unmap while it is still being sent if the server answers early, and the process is
// gone (https://github.com/Azure/azure-sdk-for-go/issues/21555; measured for bodies of a mebibyte and more).
type azureNative struct {
	client *container.Client
}

func (n *azureNative) advice() advice {
	return advice{rights: "on Azure: the role Storage Blob Data Contributor, or a shared access signature with read, add, create, write, delete and list",
		credentials: "on Azure: AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID and its company, a managed or workload identity, or az login"}
}

func (n *azureNative) open(ctx context.Context, key string, from, length int64) (io.ReadCloser, Version, error) {
	o := &blob.DownloadStreamOptions{}
	if from > 0 || length >= 0 {
		o.Range = blob.HTTPRange{Offset: from, Count: max(length, 0)}
	}
	out, err := n.client.NewBlobClient(key).DownloadStream(ctx, o)
	if err != nil {
		return nil, "", err
	}
	return out.Body, versionOfTag(out.ETag), nil
}

func versionOfTag(tag *azcore.ETag) Version {
	if tag == nil {
		return ""
	}
	return Version(*tag)
}

func (n *azureNative) stat(ctx context.Context, key string) (Entry, error) {
	out, err := n.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Key: key}
	if out.ContentLength != nil {
		e.Size = *out.ContentLength
	}
	if out.LastModified != nil {
		e.Modified = *out.LastModified
	}
	return e, nil
}

func (n *azureNative) put(ctx context.Context, key string, data []byte, when condition) (Version, error) {
	o := &blockblob.UploadOptions{HTTPHeaders: headers(key)}
	if when.absent {
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
	}
	if when.match != "" {
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(when.match))}}
	}
	out, err := n.client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), o)
	if err != nil {
		return "", err
	}
	return versionOfTag(out.ETag), nil
}

func headers(key string) *blob.HTTPHeaders {
	return &blob.HTTPHeaders{BlobContentType: to.Ptr(contentType(key))}
}

// remove has a request for many, but not for accounts with a hierarchical namespace.
func (n *azureNative) remove(ctx context.Context, keys []string) error {
	return each(ctx, keys, func(ctx context.Context, key string) error {
		_, err := n.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
		if answer.Of(err) == answer.NotFound {
			return nil
		}
		return err
	})
}

// list asks to begin at a key; Azurite ignores that.
func (n *azureNative) list(ctx context.Context, prefix, after, token string) (page []Entry, next string, err error) {
	o := &container.ListBlobsFlatOptions{Prefix: &prefix}
	switch {
	case token != "":
		o.Marker = &token
	case after != "":
		o.StartFrom = &after
	}
	out, err := n.client.NewListBlobsFlatPager(o).NextPage(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, item := range out.Segment.BlobItems {
		p := item.Properties
		if isDirectory(item) {
			continue
		}
		page = append(page, Entry{Key: *item.Name, Size: *p.ContentLength, Modified: *p.LastModified})
	}
	if out.NextMarker != nil {
		next = *out.NextMarker
	}
	return page, next, nil
}

// isDirectory knows the folders of an account with a hierarchical namespace, which are listed as empty objects.
func isDirectory(item *container.BlobItem) bool {
	folder := item.Metadata["hdi_isfolder"]
	return folder != nil && strings.EqualFold(*folder, "true")
}

func (n *azureNative) parts(key string) parts {
	return &azureParts{azureNative: n, blob: n.client.NewBlockBlobClient(key), key: key, name: rand.Text()}
}

// azureParts are blocks. Those that no list commits are never seen, and gone after a week.
type azureParts struct {
	*azureNative
	blob *blockblob.Client
	key  string
	name string // of this upload: blocks of another one to the same key are not ours
}

func (p *azureParts) ordered() bool               { return false }
func (p *azureParts) begin(context.Context) error { return nil }
func (p *azureParts) abort(context.Context)       {}

func (p *azureParts) whole(ctx context.Context, data []byte) error {
	_, err := p.put(ctx, p.key, data, condition{})
	return err
}

// block is the id of part n. All of an object have the same length.
func (p *azureParts) block(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%05d", p.name, n))
}

func (p *azureParts) part(ctx context.Context, n int, data []byte) error {
	_, err := p.blob.StageBlock(ctx, p.block(n), streaming.NopCloser(bytes.NewReader(data)), nil)
	return err
}

func (p *azureParts) complete(ctx context.Context, n int, last []byte) error {
	if err := p.part(ctx, n, last); err != nil {
		return err
	}
	ids := make([]string, n+1)
	for i := range ids {
		ids[i] = p.block(i)
	}
	_, err := p.blob.CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{HTTPHeaders: headers(p.key)})
	return err
}

func (p *azureParts) size(ctx context.Context) (int64, error) {
	entry, err := p.stat(ctx, p.key)
	if answer.Of(err) == answer.NotFound {
		return 0, ErrNotFound
	}
	return entry.Size, err
}
