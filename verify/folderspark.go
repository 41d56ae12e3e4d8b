package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
)

const sparkFolder = "_spark_metadata/"

// claimed is the query whose files Spark is told of.
func (f *Folder) claimed(ctx context.Context, key string) (string, error) {
	text, err := f.Objects.Get(ctx, key)
	if err != nil {
		return "", err
	}
	var c struct {
		V     int    `json:"v"`
		Query string `json:"query"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return "", damaged(key, err.Error())
	}
	if c.V != 1 || c.Query == "" {
		return "", damaged(key, fmt.Sprintf("it has format version %d and names query %q", c.V, c.Query))
	}
	return c.Query, nil
}

// checkClaim says where Spark is told of another query.
func (f *Folder) checkClaim(claimed, query string) {
	if claimed != "" && claimed != query {
		f.problem(Problem{Kind: SparkMetadata, Query: query, What: "Spark's readers do not see the rows of the query", Files: []string{f.at(bookFolder + "spark.json")},
			Evidence: fmt.Sprintf("%sspark.json says that they see those of query %s alone", bookFolder, claimed),
			Todo:     "Bring back what was there before; or move " + bookFolder + "spark.json and " + sparkFolder + " away, if nobody reads the folder with Spark."})
	}
}

// sparkLog is what readers see who go by Spark's log.
type sparkLog struct {
	// last is the newest batch; own is how many files its log has, if it is not of all batches before as well.
	last int64
	own  int
	// files are those of the newest compacted batch and of every batch after it, by their path in the folder, in the order of names.
	files   map[string]*sparkFile
	names   []string
	newestM int64
}

// sparkFile is an entry of the log.
type sparkFile struct {
	Path             string `json:"path"`
	Size             int64  `json:"size"`
	ModificationTime int64  `json:"modificationTime"`
	Action           string `json:"action"`
	IsDir            bool   `json:"isDir"`

	times int
	// outside says that its address is not in the folder.
	outside bool
}

// sparkLog reads Spark's log as Spark does. What cannot be read is errNoManifest, beside how far it goes.
func (f *Folder) sparkLog(ctx context.Context) (*sparkLog, error) {
	keys, err := f.Objects.List(ctx, sparkFolder, "")
	if err != nil {
		return nil, err
	}
	l := &sparkLog{last: batch.None, files: map[string]*sparkFile{}}
	compact, names := batch.None, map[int64]string{}
	for _, key := range keys {
		digits, whole := strings.CutSuffix(strings.TrimPrefix(key, sparkFolder), ".compact")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			continue
		}
		names[n], l.last = key, max(l.last, n)
		if whole {
			compact = max(compact, n)
		}
	}
	for n := max(0, compact); n <= l.last; n++ {
		if names[n] == "" {
			return l, fmt.Errorf("%w: batch %d is missing between %d and %d", errNoManifest, n, max(0, compact), l.last)
		}
		text, err := f.Objects.Get(ctx, names[n])
		if errors.Is(err, fs.ErrNotExist) {
			return l, fmt.Errorf("%w: %s is gone", errNoManifest, names[n])
		}
		if err != nil {
			return nil, err
		}
		before := len(l.files)
		if err := f.sparkEntries(string(text), l); err != nil {
			return l, fmt.Errorf("%w: %s: %w", errNoManifest, names[n], err)
		}
		if l.own = len(l.files) - before; n == compact {
			l.own = 0
		}
	}
	l.names = slices.Sorted(maps.Keys(l.files))
	return l, nil
}

// sparkEntries adds the files of one log.
func (f *Folder) sparkEntries(text string, l *sparkLog) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "v1" {
		return fmt.Errorf("it begins with %.20q", lines[0])
	}
	for _, line := range lines[1:] {
		entry := &sparkFile{}
		if err := json.Unmarshal([]byte(line), entry); err != nil {
			return err
		}
		u, err := url.Parse(entry.Path)
		if err != nil || entry.Action != "add" || entry.IsDir {
			return fmt.Errorf("it has the entry %s", line)
		}
		address := u.Path
		if u.Host != "" {
			scheme := cmp.Or(map[string]string{"s3a": "s3", "s3n": "s3", "abfs": "abfss"}[u.Scheme], u.Scheme) // Spark's clients have others
			address = (&url.URL{Scheme: scheme, User: u.User, Host: u.Host}).String() + u.Path
		}
		path, within := strings.CutPrefix(address, strings.TrimRight(f.Location, "/")+"/")
		entry.outside = !within
		if l.files[path] == nil {
			l.files[path] = entry
		}
		l.files[path].times++
		l.newestM = max(l.newestM, entry.ModificationTime)
	}
	return nil
}

// sparkAfter holds Spark's log of the folder against the manifests of the query that Spark is told of: up to the newest batch that
// it has, it lists their files. Other files that Spark has written are those of batches after the manifests, by a query of Spark's
// on the same checkpoint: after stands for them. A newest manifest does not count whose batch has Spark's files in the log: it was
// made and not published before Spark carried out the same batch.
func (f *Folder) sparkAfter(ctx context.Context, query string, chain []*manifest) (counts []*manifest, after *manifest, err error) {
	l, err := f.sparkLog(ctx)
	if errors.Is(err, errNoManifest) {
		f.problem(Problem{Kind: SparkMetadata, Query: query, What: "Spark's log of the folder cannot be read", Evidence: err.Error()})
		if newest := newestOf(chain); l.last > newest {
			f.untold = damaged(sparkFolder, fmt.Sprintf("it goes on after batch %d, the newest of sluice's, and %v", newest, err))
		}
		return chain, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	chain = l.counted(chain)
	want := map[string]bool{}
	for _, m := range chain {
		for _, file := range m.Files {
			want[file.Path] = m.Batch <= l.last
		}
		if m.Spark != nil {
			for _, file := range m.Spark.Files {
				want[file.Path] = m.Spark.Until <= l.last
			}
		}
	}
	sparks, wrong := l.beyond(want)
	if len(wrong) > 0 {
		f.problem(Problem{Kind: SparkMetadata, Query: query, Count: int64(len(wrong)), What: "Spark's log of the folder lists other files than its manifests",
			Evidence: strings.Join(wrong[:min(len(wrong), maxFiles)], "; "), Todo: "Move " + sparkFolder + " away, unless a Spark query has gone on there: the next batch writes it anew."})
	}
	if newest := newestOf(chain); l.last > newest && slices.ContainsFunc(l.names, func(name string) bool { return l.files[name].outside }) {
		f.untold = damaged(sparkFolder, fmt.Sprintf("it goes on after batch %d, the newest of sluice's, with files of another folder", newest))
	}
	if newest := newestOf(chain); len(sparks) > 0 || l.last > newest && len(wrong) == 0 {
		after = l.after(query, newest, sparks)
	}
	return chain, after, nil
}

func newestOf(chain []*manifest) int64 {
	if len(chain) == 0 {
		return batch.None
	}
	return chain[len(chain)-1].Batch
}

// counted is a chain without its newest manifest where the log has Spark's files in its place.
func (l *sparkLog) counted(chain []*manifest) []*manifest {
	if len(chain) == 0 || l.last < newestOf(chain) {
		return chain
	}
	m := chain[len(chain)-1]
	known := map[string]bool{}
	for _, m := range chain {
		for _, file := range m.Files {
			known[file.Path] = true
		}
	}
	for _, file := range m.Files {
		if l.files[file.Path] != nil {
			return chain
		}
	}
	sparks := slices.ContainsFunc(l.names, func(name string) bool {
		return !known[name] && !l.files[name].outside && !partName.MatchString(path.Base(name))
	})
	if sparks && (len(m.Files) > 0 || l.own > 0 && l.last == m.Batch) {
		return chain[:len(chain)-1]
	}
	return chain
}

// partName is how data files of sluice's are called.
var partName = regexp.MustCompile(`^part-\d+-\d+-\d+-[0-9a-f-]{36}\.zstd\.parquet$`)

// beyond tells apart what Spark has written beyond what is wanted, and what is wrong.
func (l *sparkLog) beyond(want map[string]bool) (sparks, wrong []string) {
	for _, name := range l.names {
		_, known := want[name]
		switch {
		case l.files[name].times != 1 || l.files[name].outside || known && !want[name], !known && partName.MatchString(path.Base(name)):
			wrong = append(wrong, fmt.Sprintf("%s is listed %d times", name, l.files[name].times))
		case !known:
			sparks = append(sparks, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if want[name] && l.files[name] == nil {
			wrong = append(wrong, name+" is not listed")
		}
	}
	return sparks, wrong
}
