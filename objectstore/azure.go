package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"sluice/batch"
	"sluice/objectstore/answer"
)

// Azure says which container of which account of Azure Blob Storage, and how it is asked. What is empty comes from the
// environment: AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_CONNECTION_STRING,
// AZURE_STORAGE_DOMAIN, AZURE_STORAGE_PROTOCOL. Credentials of the environment count for the account that it names.
type Azure struct {
	Account, Container string
	// Domain is the end of the account's host name, blob.core.windows.net, or an emulator's host:port, which takes the account
	// as the first part of the path. Protocol is https, or http for an emulator on this machine.
	Domain, Protocol string
	// Emulator is a Domain that takes the account in the path; one on this machine is known to be.
	Emulator bool
	// Key is the account's, SAS a shared access signature, ConnectionString what the portal shows. Without any of them the
	// default chain counts: environment (AZURE_CLIENT_ID, …), workload identity, managed identity, az login.
	Key, SAS, ConnectionString string
	// SASFrom gives the signature of each request instead, where signatures are lent and end.
	SASFrom func(context.Context) (string, error)
	// ManagedIdentity is used alone, with ClientID if there are several.
	ManagedIdentity bool
	ClientID        string
}

const azureDomain = "blob.core.windows.net"

// withEnvironment fills in what is missing.
func (o Azure) withEnvironment() Azure {
	account := os.Getenv("AZURE_STORAGE_ACCOUNT")
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	o.Account = cmp.Or(o.Account, account, accountOf(connection))
	o.Domain = cmp.Or(o.Domain, os.Getenv("AZURE_STORAGE_DOMAIN"), azureDomain)
	o.Protocol = cmp.Or(o.Protocol, os.Getenv("AZURE_STORAGE_PROTOCOL"), "https")
	o.Emulator = o.Emulator || os.Getenv("AZURE_STORAGE_IS_LOCAL_EMULATOR") == "true" || isLoopback(o.Domain)
	if o.Key+o.SAS+o.ConnectionString != "" || o.ManagedIdentity || o.SASFrom != nil {
		return o
	}
	if account == "" || account == o.Account {
		o.Key, o.SAS = os.Getenv("AZURE_STORAGE_KEY"), os.Getenv("AZURE_STORAGE_SAS_TOKEN")
	}
	if named := accountOf(connection); named == "" || named == o.Account {
		o.ConnectionString = connection
	}
	return o
}

// accountOf is the account that a connection string names.
func accountOf(connection string) string {
	for part := range strings.SplitSeq(connection, ";") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(part), "AccountName="); ok {
			return name
		}
	}
	return ""
}

func isLoopback(domain string) bool {
	host, _, err := net.SplitHostPort(domain)
	if err != nil {
		host = domain
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// address is the container's.
func (o Azure) address() string {
	if o.Emulator {
		return o.Protocol + "://" + o.Domain + "/" + o.Account + "/" + o.Container
	}
	return o.Protocol + "://" + o.Account + "." + o.Domain + "/" + o.Container
}

// OpenAzure returns a whole container. Its keys may be any: they are those that other programs wrote down. No request is
// made yet.
func OpenAzure(o Azure) (*Cloud, error) {
	o = o.withEnvironment()
	if o.Account == "" {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "no storage account for the container " + o.Container,
			Hint: "name it in the address (?storage_account=…) or set AZURE_STORAGE_ACCOUNT"}
	}
	if o.Protocol == "http" && !isLoopback(o.Domain) {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "http to " + o.Domain + " would show data and credentials to everybody on the way", Hint: "use https; http is for emulators on this machine"}
	}
	client, err := o.client()
	if err != nil {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "the credentials for the storage account " + o.Account + " cannot be used", Err: errors.New(o.withoutSecrets(err.Error())),
			Hint: "correct AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, or leave them out to use an identity"}
	}
	name := "azblob://" + o.Container
	if o.Domain != azureDomain {
		name += " at " + o.Protocol + "://" + o.Domain + "/" + o.Account
	} else {
		name += " at " + o.Account
	}
	return &Cloud{native: &azureNative{client: client}, name: name, timeout: Timeout, anyKey: true}, nil
}

func (o Azure) withoutSecrets(text string) string {
	for _, secret := range []string{o.Key, o.SAS, o.ConnectionString} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "(redacted)")
		}
	}
	return text
}

// client is bound as the others are: four attempts with pauses of a second at most.
func (o Azure) client() (*container.Client, error) {
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: answer.Whole(newHTTP()),
		Retry: policy.RetryOptions{MaxRetries: 3, RetryDelay: 100 * time.Millisecond, MaxRetryDelay: time.Second}, Telemetry: policy.TelemetryOptions{Disabled: true}}}
	switch {
	case o.SASFrom != nil:
		options.PerRetryPolicies = append(options.PerRetryPolicies, lentSAS(o.SASFrom))
		return container.NewClientWithNoCredential(o.address(), options)
	case o.ConnectionString != "":
		return container.NewClientFromConnectionString(o.ConnectionString, o.Container, options)
	case o.Key != "":
		key, err := container.NewSharedKeyCredential(o.Account, o.Key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(o.address(), key, options)
	case o.SAS != "":
		return container.NewClientWithNoCredential(o.address()+"?"+strings.TrimPrefix(o.SAS, "?"), options)
	}
	return container.NewClient(o.address(), &identity{open: sync.OnceValues(o.identity)}, options)
}

// lentSAS signs each attempt of a request with the signature of that moment.
type lentSAS func(context.Context) (string, error)

// Do is policy.Policy's.
func (l lentSAS) Do(r *policy.Request) (*http.Response, error) {
	sas, err := l(r.Raw().Context())
	if err != nil {
		return nil, answer.WithoutCredentials(err)
	}
	u := r.Raw().URL
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+strings.TrimPrefix(sas, "?"), "&")
	return r.Next()
}

// identity finds who we are when the first token is needed: that may ask other servers.
type identity struct {
	open func() (azcore.TokenCredential, error)
}

func (o Azure) identity() (azcore.TokenCredential, error) {
	if !o.ManagedIdentity {
		return azidentity.NewDefaultAzureCredential(nil)
	}
	options := &azidentity.ManagedIdentityCredentialOptions{}
	if o.ClientID != "" {
		options.ID = azidentity.ClientID(o.ClientID)
	}
	return azidentity.NewManagedIdentityCredential(options)
}

// GetToken is azcore's.
func (i *identity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	credential, err := i.open()
	if err != nil {
		return azcore.AccessToken{}, answer.WithoutCredentials(err)
	}
	token, err := credential.GetToken(ctx, o)
	if err != nil && ctx.Err() == nil {
		err = answer.WithoutCredentials(err)
	}
	return token, err
}

// openAzure opens azblob://container/folder with gocloud.dev's parameters.
func openAzure(u *url.URL) (Folder, error) {
	query := u.Query()
	folder, err := folderOf(u, query)
	if err != nil {
		return nil, err
	}
	o := Azure{Container: u.Host, Account: query.Get("storage_account"), Domain: query.Get("domain"), Protocol: query.Get("protocol")}
	if o.Emulator, err = flag(query, "localemu"); err == nil {
		err = onlyKnown(query, "storage_account", "domain", "protocol", "localemu", "prefix")
	}
	if err != nil {
		return nil, badURL(u, "%w", err)
	}
	bucket, err := OpenAzure(o)
	if err != nil {
		return nil, err
	}
	return bucket.in(folder), nil
}

// openABFS opens abfss://container@account.dfs.core.windows.net/folder, as Hadoop and Iceberg write it.
func openABFS(u *url.URL) (Folder, error) {
	o, err := AzureOf(u)
	if err != nil {
		return nil, badURL(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}, "%w", err)
	}
	at := &url.URL{Scheme: u.Scheme, Host: o.Container, Path: u.Path}
	folder, err := folderOf(at, u.Query())
	if err == nil {
		err = onlyKnown(u.Query(), "prefix")
	}
	if err != nil {
		return nil, err
	}
	bucket, err := OpenAzure(o)
	if err != nil {
		return nil, err
	}
	return bucket.in(folder), nil
}

// AzureOf reads container and account of an address abfss://container@account.dfs.core.windows.net/…, or abfs, wasb or
// wasbs. The endpoint for blobs is the one beside that for files.
func AzureOf(u *url.URL) (Azure, error) {
	_, secret := u.User.Password()
	account, domain, ok := strings.Cut(u.Host, ".")
	if u.User.Username() == "" || secret || !ok || account == "" {
		return Azure{}, fmt.Errorf("want %s://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER", u.Scheme)
	}
	o := Azure{Container: u.User.Username(), Account: account}
	if domain = strings.Replace(domain, "dfs.", "blob.", 1); domain != azureDomain {
		o.Domain = domain
	}
	return o, nil
}
