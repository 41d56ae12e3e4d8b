package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice/batch"
)

const (
	// claimKey names the one query whose files Spark is told of.
	claimKey    = bookFolder + "spark.json"
	sparkFolder = "_spark_metadata/"
	// sparkEvery is after how many batches Spark's log is made one file, as Spark does by default
	// (spark.sql.streaming.fileSink.log.compactInterval); sparkKept how many of the newest batches keep their own.
	sparkEvery = 10
	sparkKept  = 100
	sparkHead  = "v1"
)

// claim is what claimKey holds.
type claim struct {
	V     int    `json:"v"`
	Query string `json:"query"`
}

// sinkFile is an entry of Spark's log of a file sink, with the fields of its SinkFileStatus in their order.
type sinkFile struct {
	Path             string `json:"path"`
	Size             int64  `json:"size"`
	IsDir            bool   `json:"isDir"`
	ModificationTime int64  `json:"modificationTime"`
	BlockReplication int    `json:"blockReplication"`
	BlockSize        int64  `json:"blockSize"`
	Action           string `json:"action"`
}

// blockSize is what Spark is told of every file; it plans its reading by it.
const blockSize = 128 << 20

// checkSpark refuses to write where Spark's readers would miss the rows, or take those of two queries for one's.
func (f *Folder) checkSpark(ctx context.Context, s *state, query string) error {
	wrong := f.notSparks
	switch err := f.sparkless(); {
	case err != nil:
		return err
	case s.claim == query, s.claim == "" && !f.options.SparkMetadata && !s.schema.Spark:
		return nil
	case s.claim != "":
		return f.claimedBy(s.claim)
	}
	for other := range maps.Keys(s.manifests) {
		if other != query {
			return wrong("query %s writes there too, and Spark's log can have the files of one query only", other)
		}
	}
	text, err := json.Marshal(&claim{formatVersion, query})
	if err == nil {
		err = f.options.Objects.Own(ctx, claimKey, text)
	}
	if errors.Is(err, fs.ErrExist) {
		return wrong("another query has just claimed it for Spark's readers")
	}
	if err != nil {
		return fmt.Errorf("create %s in %s: %w", claimKey, f.options.Location, err)
	}
	s.claim = query
	return nil
}

// notSparks is the fault of a folder that a query may not write to because of Spark's readers.
func (f *Folder) notSparks(format string, parts ...any) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s: "+format, append([]any{f.options.Location}, parts...)...),
		Hint: "write to another folder; or, if nobody reads this one with Spark, move " + claimKey + " and " + sparkFolder + " away, and set sink.parquet.sparkMetadata to false in every job that writes there"}
}

func (f *Folder) claimedBy(other string) error {
	return f.notSparks("%s says that Spark's readers see the rows of query %s alone", claimKey, other)
}

// sparks is what Spark has written, where the folder is to be gone on with: a reading for a query, which has the checkpoint, has
// found it.
func (f *Folder) sparks() *turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// foreignSpark refuses a folder that a Spark query writes and that is not gone on with: its readers see what Spark's log lists and
// nothing else.
func (f *Folder) foreignSpark(ctx context.Context) error {
	keys, err := f.options.Objects.List(ctx, sparkFolder, "")
	if err != nil || len(keys) == 0 || f.sparks() != nil {
		return err
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s is the output of a Spark query: it has %s, and Spark's readers see the files alone that are listed there", f.options.Location, keys[0]),
		Hint: "to go on with that query set sink.parquet.sparkMetadata to true, and checkpoint to its checkpointLocation; else write to another folder; or move " + sparkFolder + " away, if no Spark query writes there any more and its readers may see all files"}
}

// publish brings Spark's log of the folder up to the newest batch. What it writes follows from the manifests alone, each
// file is created only if there is none, and in order: whoever publishes at the same time writes the same. Fenced: Spark has
// carried out the batch at the same time, and its log has it.
func (f *Folder) publish(ctx context.Context, s *state, newest *Manifest) error {
	if newest == nil || s.claim != newest.Query {
		return nil
	}
	logs, err := f.sparkLogs(ctx)
	if err != nil {
		return err
	}
	last := newestLog(logs)
	if last >= newest.Batch { // another run publishes too, or Spark has gone on
		if err := f.gainsaid(ctx, newest); err != nil || last == newest.Batch {
			return err
		}
		if ahead, err := f.caughtUp(ctx, newest.Query, last); err != nil || ahead {
			return err
		}
		return f.ahead(logs[last], newest)
	}
	missing := map[int64]*Manifest{}
	for at := newest; at != nil && at.Batch > last; {
		missing[at.Batch] = at
		if t := at.Spark; t != nil && t.Until > last { // the log was moved away, and is written anew
			missing[t.Until] = &Manifest{Files: t.Files, WrittenMs: at.WrittenMs}
		}
		before, err := f.before(ctx, at)
		if err != nil && at.Previous > last {
			return err
		}
		at = before
	}
	if last == batch.None && newest.Batch >= sparkEvery { // Spark is told of a folder that has many already
		if last, err = f.begin(ctx, missing, newest.Batch); err != nil {
			return err
		}
	}
	for n := last + 1; n <= newest.Batch; n++ {
		name, text, err := f.sparkLog(ctx, n, missing[n])
		if err != nil {
			return err
		}
		err = f.options.Objects.Own(ctx, sparkFolder+name, text)
		if errors.Is(err, fs.ErrExist) {
			err = errors.Join(f.gainsaid(ctx, newest), err)
		}
		if err != nil {
			return err
		}
	}
	return f.forget(ctx, logs, newest.Batch)
}

// gainsaid is why Spark's log does not have the newest manifest: a Spark was carrying out the batch as well, and its readers see what it
// wrote. nil where the log has the manifest, or other batches of this package's.
func (f *Folder) gainsaid(ctx context.Context, newest *Manifest) error {
	s, err := f.look(ctx)
	if err == nil {
		_, err = f.tip(ctx, s, newest.Query)
	}
	switch {
	case err != nil:
		return err
	case s.crossed != nil:
		return s.crossed
	case s.turn == nil || s.turn.until < newest.Batch || s.turn.from > newest.Batch:
		return nil
	}
	return &batch.Fault{Class: batch.Fenced,
		Message: fmt.Sprintf("a Spark query has carried out batch %d in %s at the same time, and Spark's log has its files: those of this run do not count", newest.Batch, f.options.Location),
		Hint:    "nothing was harmed; let one of the two run at a time, Spark or sluice, and run again when Spark has ended"}
}

// ahead is the fault of a log with batches of sluice's own that no manifest has: one of the two was brought back from a backup.
func (f *Folder) ahead(log string, newest *Manifest) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s%s in %s is of a batch after %d, the newest of query %s here", sparkFolder, log, f.options.Location, newest.Batch, newest.Query),
		Hint:    "move " + sparkFolder + " away, and run again: the log is written anew from the manifests; if it is the manifests that are old, bring back newer ones"}
}

// caughtUp says whether the folder has a batch by now.
func (f *Folder) caughtUp(ctx context.Context, query string, n int64) (bool, error) {
	s, err := f.look(ctx)
	if err != nil || s.schema == nil {
		return false, err
	}
	newest, err := f.newestOf(ctx, s, query)
	return newest != nil && newest.Batch >= n, err
}

// begin writes the first log of a folder that has many batches: one for all of them up to where Spark would make one.
func (f *Folder) begin(ctx context.Context, all map[int64]*Manifest, newest int64) (last int64, err error) {
	last = (newest+1)/sparkEvery*sparkEvery - 1
	text := []byte(sparkHead)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if n > last {
			break
		}
		lines, err := f.sparkLines(all[n])
		if err != nil {
			return last, err
		}
		text = append(text, lines...)
	}
	if len(text) > mostRangeBytes {
		return last, f.tooLong()
	}
	return last, f.options.Objects.Own(ctx, sparkFolder+sparkName(last), text)
}

// sparkLog is the log of a batch: its files, and where it is time those of all batches before it. A batch that is none, since
// somebody has decided about lost ones, has no file.
func (f *Folder) sparkLog(ctx context.Context, n int64, m *Manifest) (name string, text []byte, err error) {
	text = []byte(sparkHead)
	if name = sparkName(n); strings.HasSuffix(name, ".compact") {
		for before := max(0, n-sparkEvery); before < n; before++ {
			lines, err := f.options.Objects.Get(ctx, sparkFolder+sparkName(before))
			if errors.Is(err, fs.ErrNotExist) {
				return "", nil, f.hollow(sparkName(before), name)
			}
			if err != nil {
				return "", nil, fmt.Errorf("read the log of batch %d for Spark: %w", before, err)
			}
			text = append(text, bytes.TrimRight(bytes.TrimPrefix(lines, []byte(sparkHead)), "\n")...)
		}
	}
	if m != nil {
		lines, err := f.sparkLines(m)
		if err != nil {
			return "", nil, err
		}
		text = append(text, lines...)
	}
	if len(text) > mostRangeBytes {
		return "", nil, f.tooLong()
	}
	return name, text, nil
}

// sparkLines are the entries of a batch.
func (f *Folder) sparkLines(m *Manifest) (text []byte, err error) {
	for _, file := range m.Files {
		line, err := json.Marshal(&sinkFile{Path: f.sparkPath(file.Path), Size: file.Bytes, ModificationTime: m.WrittenMs, BlockReplication: 1, BlockSize: blockSize, Action: "add"})
		if err != nil {
			return nil, err
		}
		text = append(append(text, '\n'), line...)
	}
	return text, nil
}

// hollow is the fault of a log from which somebody has taken a batch that is to be made one with others.
func (f *Folder) hollow(gone, name string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s%s of %s is gone, and %s is to list what it did", sparkFolder, gone, f.options.Location, name),
		Hint: "bring it back; or move " + sparkFolder + " away, and run again: the log is written anew from the manifests, which have all of it that is in the folder since sluice last wrote"}
}

func (f *Folder) tooLong() error {
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("Spark's log of %s would take more than %d MiB: it lists every file again and again", f.options.Location, mostRangeBytes>>20),
		Hint: "go on in another folder, or set sink.parquet.sparkMetadata to false and move " + claimKey + " and " + sparkFolder + " away"}
}

// sparkPath is the address of a file as Spark writes it: a URI, and for S3 with the scheme of the client that Spark has.
func (f *Folder) sparkPath(name string) string {
	address := f.path(name)
	scheme, rest, ok := strings.Cut(address, "://")
	switch {
	case !ok:
		scheme, rest = "file", address
	case scheme == "s3":
		scheme = "s3a"
	}
	return scheme + "://" + (&url.URL{Path: rest}).EscapedPath()
}

// sparkless is a NotSetUp fault where Spark is to be told of a folder whose address it does not know.
func (f *Folder) sparkless() error {
	if !f.options.SparkMetadata || !strings.HasPrefix(f.options.Location, "azblob://") {
		return nil
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("Spark has no addresses that begin with azblob://, and %s is to have its log", f.options.Location),
		Hint: "write the folder as abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER"}
}

// forget removes what Spark's readers do not need any more, as Spark does.
func (f *Folder) forget(ctx context.Context, logs map[int64]string, newest int64) error {
	var old []string
	for _, n := range slices.Sorted(maps.Keys(logs)) {
		if n < newest-sparkKept-sparkEvery {
			old = append(old, sparkFolder+logs[n])
		}
	}
	if len(old) == 0 {
		return nil
	}
	return f.options.Objects.Delete(ctx, old...)
}

// published publishes a batch that is in the folder.
func (d *deal) published(ctx context.Context, s *state, newest *Manifest) (*batch.Applied, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.folder.options.Timeout)
	defer cancel()
	if err := d.folder.publish(ctx, s, newest); batch.ClassOf(err) == batch.Fenced {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("batch %d is in %s, and Spark's log of it could not be written yet: %w", d.commit.Plan.Batch, d.folder.options.Location, err)
	}
	return newest.applied()
}
