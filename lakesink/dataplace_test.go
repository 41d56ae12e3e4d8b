package lakesink

import (
	"regexp"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

func TestDataFilesGoWhereTheTableSays(t *testing.T) {
	const entropy = "/[01]{4}/[01]{4}/[01]{4}/[01]{8}"
	for _, c := range []struct {
		place  dataPlace
		folder string
		want   string
	}{
		{dataPlace{folder: "s3://b/t/data"}, "", "^s3://b/t/data/f$"},
		{dataPlace{folder: "s3://b/t/data", partitioned: true}, "a=1/b=2", "^s3://b/t/data/a=1/b=2/f$"},
		{dataPlace{folder: "s3://b/t/data", hashed: true, partitioned: true}, "", "^s3://b/t/data" + entropy + "/f$"},
		{dataPlace{folder: "s3://b/t/data", hashed: true, partitioned: true}, "a=1/b=%2F", "^s3://b/t/data" + entropy + "/a=1/b=%2F/f$"},
		{dataPlace{folder: "s3://b/t/data", hashed: true}, "a=1/b=2", "^s3://b/t/data" + entropy + "-f$"},
	} {
		if got := c.place.file(c.folder, "f"); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%+v, %q: got %s, want %s", c.place, c.folder, got, c.want)
		}
	}
}

func TestThePlaceOfDataFilesIsReadFromTheProperties(t *testing.T) {
	for _, c := range []struct {
		properties map[string]string
		want       dataPlace
	}{
		{map[string]string{"write.data.path": "file:///elsewhere/x/"}, dataPlace{"file:///elsewhere/x", false, true}},
		{map[string]string{"write.data.path": "file:///x", "write.object-storage.enabled": "true"}, dataPlace{"file:///x", true, true}},
		{map[string]string{"write.data.path": "file:///x", "write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"}, dataPlace{"file:///x", true, false}},
	} {
		_, catalog := newTable(t, func(o *Options) { o.TableProperties = c.properties })
		if got := placeOf(load(t, catalog)); got != c.want {
			t.Errorf("%v: got %+v, want %+v", c.properties, got, c.want)
		}
	}
	_, catalog := newTable(t)
	if got, want := placeOf(load(t, catalog)), (dataPlace{load(t, catalog).Location() + "/data", false, true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// https://github.com/apache/iceberg/issues/1224
func TestATableAtAPlaceThatOthersWouldNotFindIsRefused(t *testing.T) {
	for _, place := range []string{"file:///else where/t", "file:///t\u00e4ble", "s3://b/what?", "file:///no/#1", "file:///t#", "file:///100%/t", "/bare/else where"} {
		if literal(place) {
			t.Errorf("%s is taken", place)
		}
	}
	for _, place := range []string{"file:///t/a%20b", "s3://b/t", "file:/one/slash", "/bare/path", "s3://b//two", "file:///a+b/c=d/e:f", "abfss://c@a.dfs.core.windows.net/t"} {
		if !literal(place) {
			t.Errorf("%s is refused", place)
		}
	}
	for _, key := range []string{"write.data.path", "write.metadata.path"} {
		s, c := newTable(t)
		change(t, c, func(tx *table.Transaction) error {
			return tx.SetProperties(iceberg.Properties{key: "file:///else where"})
		})
		wantClass(t, s.Fits(t.Context(), rawSchema()), batch.Inconsistent, `"file:///else where"`, "only sluice would find")
	}
}
