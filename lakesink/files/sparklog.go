package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"sluice/batch"
)

// sparkLogs are the names in Spark's log by batch. Spark's temporary files and checksums begin with a dot.
func (f *Folder) sparkLogs(ctx context.Context) (map[int64]string, error) {
	keys, err := f.options.Objects.List(ctx, sparkFolder, "")
	if err != nil {
		return nil, err
	}
	logs := map[int64]string{}
	for _, key := range keys {
		name := strings.TrimPrefix(key, sparkFolder)
		digits := strings.TrimSuffix(name, ".compact")
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits {
			if name == digits && strings.HasSuffix(logs[n], ".compact") {
				continue
			}
			logs[n] = name
		}
	}
	return logs, nil
}

// newestLog is the newest batch in Spark's log, None if there is none.
func newestLog(logs map[int64]string) int64 {
	last := batch.None
	for n := range logs {
		last = max(last, n)
	}
	return last
}

// sparkName is the name of a batch in Spark's log.
func sparkName(n int64) string {
	name := strconv.FormatInt(n, 10)
	if (n+1)%sparkEvery == 0 {
		name += ".compact"
	}
	return name
}

// listing is what readers who go by Spark's log see: the files of its newest compacted batch and of every batch after it.
type listing struct {
	// last is the newest batch; own counts the files of each batch whose log is read and has no others.
	last int64
	own  map[int64]int
	// files are all of them, by their path in the folder; order is that of the log.
	files map[string]sinkFile
	order []string
	// id stands for the snapshot that a table would have: the first 63 bits of the SHA-256 of the newest log.
	id int64
}

// readSpark reads Spark's log as its readers do, and nothing that they would understand otherwise: what is not a plain list of
// new files, without a gap, in the steps that this package writes, is an Inconsistent fault.
func (f *Folder) readSpark(ctx context.Context, logs map[int64]string) (*listing, error) {
	l := &listing{last: newestLog(logs), own: map[int64]int{}, files: map[string]sinkFile{}}
	begin := int64(0)
	for n, name := range logs {
		if name != sparkName(n) {
			return nil, f.strange(name, "it shows that the log is compacted at other batches than every %d. one: set spark.sql.streaming.fileSink.log.compactInterval back to %d before the query is begun", sparkEvery, sparkEvery)
		}
		if strings.HasSuffix(name, ".compact") {
			begin = max(begin, n)
		}
	}
	for n := begin; n <= l.last; n++ {
		if logs[n] == "" {
			return nil, f.strange(sparkName(n), "it is missing between %d and %d", begin, l.last)
		}
		text, err := f.options.Objects.Get(ctx, sparkFolder+logs[n])
		if errors.Is(err, fs.ErrNotExist) {
			return nil, f.strange(logs[n], "it is gone since it was listed")
		}
		if err != nil {
			return nil, err
		}
		files, err := f.parseLog(logs[n], text)
		if err != nil {
			return nil, err
		}
		if sparkName(n) == strconv.FormatInt(n, 10) {
			l.own[n] = len(files)
		}
		for _, file := range files {
			path := file.Path
			if _, twice := l.files[path]; twice {
				return nil, f.strange(logs[n], "it lists %s, which is listed before", path)
			}
			l.files[path], l.order = file, append(l.order, path)
		}
		sum := sha256.Sum256(text)
		l.id = int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	}
	return l, nil
}

// parseLog reads the log of one batch, with paths in the folder.
func (f *Folder) parseLog(name string, text []byte) ([]sinkFile, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if string(lines[0]) != sparkHead {
		return nil, f.strange(name, "it begins with %.20q instead of %s", lines[0], sparkHead)
	}
	var files []sinkFile
	for _, line := range lines[1:] {
		var file sinkFile
		if err := json.Unmarshal(line, &file); err != nil {
			return nil, f.strange(name, "it has the line %.200q: %v", line, err)
		}
		path, err := f.withinFolder(file.Path)
		switch {
		case err != nil:
			return nil, f.strange(name, "it lists %s: %v", file.Path, err)
		case file.Action != "add" || file.IsDir || file.Size <= 0:
			return nil, f.strange(name, "it has the entry %.300s, which is none of a new file", line)
		}
		file.Path = path
		files = append(files, file)
	}
	return files, nil
}

// withinFolder is the path in the folder of an address as Spark writes it.
func (f *Folder) withinFolder(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	is := u.Path
	if u.Host != "" {
		is = (&url.URL{Scheme: plainScheme(u.Scheme), User: u.User, Host: u.Host}).String() + u.Path
	}
	path, ok := strings.CutPrefix(is, f.path(""))
	if !ok {
		return "", fmt.Errorf("it is not in %s", f.options.Location)
	}
	for part := range strings.SplitSeq(path, "/") { // as Spark's and Hadoop's readers do: a folder of a partition may be _p=1
		if part == "" || part[0] == '.' || part[0] == '_' && !strings.Contains(part, "=") {
			return "", errors.New("readers see no file under that name")
		}
	}
	return path, nil
}

// plainScheme is the scheme under which this package knows a store that Spark's clients have others for.
func plainScheme(scheme string) string {
	switch scheme {
	case "s3a", "s3n":
		return "s3"
	case "abfs":
		return "abfss"
	}
	return scheme
}

// strange is the fault of a log of Spark's that cannot be followed.
func (f *Folder) strange(name, format string, parts ...any) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("Spark's log %s%s of %s cannot be gone on with: ", sparkFolder, name, f.options.Location) + fmt.Sprintf(format, parts...),
		Hint:    "let sluice go on in another folder, beside this one (docs/from-spark.md, \"In a folder beside it\"); or bring back what the log was before, if somebody has changed it"}
}
