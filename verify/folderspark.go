package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
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

// checkClaim holds the batches of a query against what Spark is told of: one query, and all its files.
func (f *Folder) checkClaim(ctx context.Context, claimed string, chain []*manifest) error {
	switch query := chain[0].Query; claimed {
	case "":
		return nil
	case query:
		return f.checkSpark(ctx, chain)
	default:
		f.problem(Problem{Kind: SparkMetadata, Query: query, What: "Spark's readers do not see the rows of the query", Files: []string{f.at(bookFolder + "spark.json")},
			Evidence: fmt.Sprintf("%sspark.json says that they see those of query %s alone", bookFolder, claimed),
			Todo:     "Bring back what was there before; or move " + bookFolder + "spark.json and " + sparkFolder + " away, if nobody reads the folder with Spark."})
		return nil
	}
}

// checkSpark reads Spark's log as Spark does and holds it against the manifests: up to the newest batch that it has, it lists
// their files and no others.
func (f *Folder) checkSpark(ctx context.Context, chain []*manifest) error {
	last, listed, err := f.sparkFiles(ctx)
	if errors.Is(err, errNoManifest) {
		f.problem(Problem{Kind: SparkMetadata, Query: chain[0].Query, What: "Spark's log of the folder cannot be read", Evidence: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	want := map[string]bool{}
	for _, m := range chain {
		for _, file := range m.Files {
			want[file.Path] = m.Batch <= last
		}
	}
	var wrong []string
	for path, n := range listed {
		if !want[path] || n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s is listed %d times", path, n))
		}
	}
	for path, due := range want {
		if due && listed[path] == 0 {
			wrong = append(wrong, path+" is not listed")
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		f.problem(Problem{Kind: SparkMetadata, Query: chain[0].Query, Count: int64(len(wrong)), What: "Spark's log of the folder lists other files than its manifests",
			Evidence: strings.Join(wrong[:min(len(wrong), maxFiles)], "; "), Todo: "Move " + sparkFolder + " away: the next batch writes it anew."})
	}
	return nil
}

// sparkFiles counts the files in Spark's log: those of the newest compacted batch and of every batch after it.
func (f *Folder) sparkFiles(ctx context.Context) (last int64, files map[string]int, err error) {
	keys, err := f.Objects.List(ctx, sparkFolder, "")
	if err != nil {
		return 0, nil, err
	}
	last, compact, names := batch.None, batch.None, map[int64]string{}
	for _, key := range keys {
		digits, whole := strings.CutSuffix(strings.TrimPrefix(key, sparkFolder), ".compact")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			continue
		}
		names[n], last = key, max(last, n)
		if whole {
			compact = max(compact, n)
		}
	}
	files = map[string]int{}
	for n := max(0, compact); n <= last; n++ {
		if names[n] == "" {
			return last, nil, fmt.Errorf("%w: batch %d is missing between %d and %d", errNoManifest, n, max(0, compact), last)
		}
		text, err := f.Objects.Get(ctx, names[n])
		if errors.Is(err, fs.ErrNotExist) {
			return last, nil, fmt.Errorf("%w: %s is gone", errNoManifest, names[n])
		}
		if err != nil {
			return last, nil, err
		}
		if err := f.sparkEntries(string(text), files); err != nil {
			return last, nil, fmt.Errorf("%w: %s: %w", errNoManifest, names[n], err)
		}
	}
	return last, files, nil
}

// sparkEntries adds the files of one log, by their path in the folder.
func (f *Folder) sparkEntries(text string, files map[string]int) error {
	lines := strings.Split(text, "\n")
	if lines[0] != "v1" {
		return fmt.Errorf("it begins with %.20q", lines[0])
	}
	for _, line := range lines[1:] {
		var entry struct {
			Path   string `json:"path"`
			Action string `json:"action"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			return err
		}
		u, err := url.Parse(entry.Path)
		if err != nil || entry.Action != "add" {
			return fmt.Errorf("it has the entry %s", line)
		}
		address := u.Path
		if u.Host != "" {
			scheme := map[bool]string{true: "s3", false: u.Scheme}[u.Scheme == "s3a"]
			address = (&url.URL{Scheme: scheme, User: u.User, Host: u.Host}).String() + u.Path
		}
		files[strings.TrimPrefix(address, strings.TrimRight(f.Location, "/")+"/")]++
	}
	return nil
}
