package cmd

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// statement is one for DuckDB that reads these files of the folder and no other. DuckDB finds the columns of all of them by
// name; a column that came later is null in the files before it. Those that are in the names of folders get the types that the
// folder's columns have: DuckDB would take 007 for a number.
func (f *folder) statement(columns *iceberg.Schema, paths []string, limit string) string {
	if len(paths) == 0 {
		return ""
	}
	quoted := make([]string, len(paths))
	for i, address := range paths {
		if rest, ok := strings.CutPrefix(address, "azblob://"); ok {
			address = "az://" + rest
		}
		quoted[i] = "'" + strings.ReplaceAll(address, "'", "''") + "'"
	}
	load := utc(columns, paths)
	switch scheme, _, ok := strings.Cut(f.TableName(), "://"); {
	case ok && (scheme == "s3" || scheme == "gs"):
		load += "INSTALL httpfs; LOAD httpfs; "
	case ok:
		load += "INSTALL azure; LOAD azure; "
	}
	return fmt.Sprintf("%sSELECT * FROM read_parquet([%s], union_by_name=true%s)%s;", load, strings.Join(quoted, ", "), f.hive(columns, paths[0]), limit)
}

// ownName matches the names of sluice's data files.
var ownName = regexp.MustCompile(`^part-\d+-\d+-\d+-(?:replay-)?[0-9a-f-]{36}\.zstd\.parquet$`)

// utc sets DuckDB's zone where files of Spark's are among others. Spark writes timestamps in an old form by default (INT96), which
// DuckDB takes for the wall clock of its own zone as soon as it finds timestamps with a zone in other files.
func utc(columns *iceberg.Schema, paths []string) string {
	sparks := slices.ContainsFunc(paths, func(p string) bool { return !ownName.MatchString(path.Base(p)) })
	for _, field := range columns.Fields() {
		if sparks && strings.Contains(field.Type.String(), "timestamptz") {
			return "SET TimeZone='UTC'; "
		}
	}
	return ""
}

// hive is what DuckDB is told of the folders that a file is in.
func (f *folder) hive(columns *iceberg.Schema, file string) string {
	var types []string
	levels := strings.Split(strings.TrimPrefix(file, f.TableName()+"/"), "/")
	levels = levels[:len(levels)-1]
	for _, level := range levels {
		escaped, _, _ := strings.Cut(level, "=")
		name, err := url.PathUnescape(escaped)
		if field, ok := columns.FindFieldByName(name); ok && err == nil {
			types = append(types, fmt.Sprintf("'%s': %s", strings.ReplaceAll(name, "'", "''"), duckType(field.Type)))
		}
	}
	switch {
	case len(levels) == 0:
		return ""
	case len(types) == 0:
		return ", hive_partitioning=true"
	}
	return fmt.Sprintf(", hive_partitioning=true, hive_types={%s}", strings.Join(types, ", "))
}

// duckType is DuckDB's word for a type of Iceberg. The names of folders have times in UTC.
func duckType(t iceberg.Type) string {
	words := map[string]string{"string": "VARCHAR", "int": "INTEGER", "long": "BIGINT", "timestamptz": "TIMESTAMP"}
	if word := words[t.String()]; word != "" {
		return word
	}
	return strings.ReplaceAll(strings.ToUpper(t.String()), " ", "")
}

// paths lists the files that count, in the order of their batches.
func paths(ctx context.Context, t *table.Table) ([]string, error) {
	if t.CurrentSnapshot() == nil {
		return nil, nil
	}
	scan := t.Scan()
	defer scan.Close()
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tasks, func(a, b table.FileScanTask) int { return int(sequence(a) - sequence(b)) })
	found := make([]string, len(tasks))
	for i, task := range tasks {
		found[i] = task.File.FilePath()
	}
	return found, nil
}

// exactly is the statement that reads all rows of the folder, empty where there are none.
func (f *folder) exactly(ctx context.Context) (string, error) {
	all, columns, err := f.filesThatCount(ctx)
	if isNoTable(err) {
		return "", nil
	}
	return f.statement(columns, all, ""), err
}

// look is the statement that shows some of the newest rows; empty if the folder cannot be read now.
func (f *folder) look(ctx context.Context) string {
	all, columns, err := f.filesThatCount(ctx)
	if err != nil {
		return ""
	}
	const newest = 5
	return f.statement(columns, all[max(0, len(all)-newest):], " LIMIT 10")
}

// filesThatCount are all of them, and the folder's columns: without making a table of it.
func (f *folder) filesThatCount(ctx context.Context) ([]string, *iceberg.Schema, error) {
	read := f.read
	all, columns, err := read.Files(ctx)
	if err == nil {
		err = read.Whole()
	}
	if err != nil {
		return nil, nil, err
	}
	return all, columns, nil
}
