package job

import (
	"strings"
	"testing"
)

// catalogJob is a job with some settings of its catalog.
func catalogJob(set ...string) (*Job, error) {
	base := []string{"source.subscribe=orders", "source.kafka.bootstrap.servers=b:9092", "sink.iceberg.table=a.t", "checkpoint=/data/c", "sink.iceberg.catalog.warehouse=s3://lake/x"}
	return Load(Input{Set: append(base, set...), WorkDir: "/work"})
}

func TestTheAddressOfAServerIsTakenInEachOfItsForms(t *testing.T) {
	for uri, want := range map[string]string{
		"postgresql://me@db:5432/lake?sslmode=require":           "postgresql://me@db:5432/lake?sslmode=require",
		"postgres://db/lake":                                     "postgresql://db/lake",
		"jdbc:postgresql://db/lake?user=me&password=SEKRET":      "postgresql://db/lake?user=me&password=SEKRET",
		"postgresql+psycopg2://me:SEKRET@one:5432,two:5432/lake": "postgresql://me:SEKRET@one:5432,two:5432/lake",
		"/data/catalog.db":                                       "/data/catalog.db",
		"catalog.db":                                             "/work/catalog.db",
		"sqlite:////data/catalog.db":                             "/data/catalog.db",
	} {
		j, err := catalogJob("sink.iceberg.catalog.uri=" + uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		if got := j.Sink.Iceberg.Catalog.URI; got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
		if printed := j.String(); strings.Contains(printed, "SEKRET") {
			t.Errorf("the password is printed:\n%s", printed)
		}
	}
}

func TestAnAddressThatDoesNotFitTheCatalogIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"hadoop has no server":          {[]string{"sink.iceberg.catalog.type=hadoop", "sink.iceberg.catalog.uri=postgresql://db/lake", "sink.iceberg.catalog.warehouse=/data"}, "is the address of a catalog of type sql, and sink.iceberg.catalog.type is hadoop"},
		"sql beside a bucket needs one": {nil, "postgresql://host/database"},
		"another database":              {[]string{"sink.iceberg.catalog.uri=mysql://me:SEKRET@db/lake"}, "is no address of a catalog that is known here"},
		"glue has no address":           {[]string{"sink.iceberg.catalog.type=glue", "sink.iceberg.catalog.uri=/data/c.db"}, "is found by its region"},
		"blanks":                        {[]string{"sink.iceberg.catalog.uri=postgresql://me:SEK RET@db/lake"}, "blanks"},
	} {
		_, err := catalogJob(c.set...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), "RET@") {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}
