package job

import (
	"strings"
	"testing"
)

// catalogJob is a job with some settings of its catalog.
func catalogJob(set ...string) (*Job, error) {
	base := []string{"source.subscribe=orders", "source.kafka.bootstrap.servers=b:9092", "sink.iceberg.table=a.t", "checkpoint=/data/c", "sink.iceberg.catalog.warehouse=s3://lake/x"}
	return Load(Input{Set: append(base, set...), WorkDir: "/etc/sluice"})
}

// catalogAt is such a job whose catalog's address comes from a flag or from a variable.
func catalogAt(from Layer, uri string) (*Job, error) {
	in := Input{WorkDir: "/etc/sluice", Set: []string{"source.subscribe=orders", "source.kafka.bootstrap.servers=b:9092", "sink.iceberg.table=a.t", "checkpoint=/data/c", "sink.iceberg.catalog.warehouse=/data/lake"}}
	if from == Flag {
		in.Flags = []FlagValue{{"catalog-uri", uri}}
	} else {
		in.Environ = []string{"SLUICE_SINK_ICEBERG_CATALOG_URI=" + uri}
	}
	return Load(in)
}

func TestTheAddressOfAServerIsTakenInEachOfItsForms(t *testing.T) {
	for uri, want := range map[string]string{
		"postgresql://me@db:5432/lake?sslmode=require":           "postgresql://me@db:5432/lake?sslmode=require",
		"postgres://db/lake":                                     "postgresql://db/lake",
		"jdbc:postgresql://db/lake?user=me&password=SEKRET":      "postgresql://db/lake?user=me&password=SEKRET",
		"postgresql+psycopg2://me:SEKRET@one:5432,two:5432/lake": "postgresql://me:SEKRET@one:5432,two:5432/lake",
		"/data/catalog.db":                                       "/data/catalog.db",
		"catalog.db":                                             "/etc/sluice/catalog.db",
		"sqlite:////data/catalog.db":                             "/data/catalog.db",
	} {
		j, err := catalogAt(Environment, uri)
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
		"hive has no address":           {[]string{"sink.iceberg.catalog.type=hive", "sink.iceberg.catalog.warehouse=/data"}, "want thrift://host:9083 of the Hive metastore"},
		"hive on http":                  {[]string{"sink.iceberg.catalog.type=hive", "sink.iceberg.catalog.uri=https://h", "sink.iceberg.catalog.warehouse=/data"}, "is the address of a REST catalog"},
		"hive at a path":                {[]string{"sink.iceberg.catalog.type=hive", "sink.iceberg.catalog.uri=/data/c.db", "sink.iceberg.catalog.warehouse=/data"}, "does not go with the catalog type hive"},
		"a database of hive's":          {[]string{"sink.iceberg.catalog.type=hive", "sink.iceberg.catalog.uri=thrift://h:9083/db", "sink.iceberg.catalog.warehouse=/data"}, "has more than a host and a port"},
		"thrift is hive's":              {[]string{"sink.iceberg.catalog.uri=thrift://h:9083", "sink.iceberg.catalog.warehouse=/data"}, "is the address of a catalog of type hive"},
		"blanks":                        {[]string{"sink.iceberg.catalog.uri=postgresql://me:SEK RET@db/lake"}, "blanks"},
	} {
		_, err := catalogJob(c.set...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), "RET@") {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}

// How other programs connect to a database would become the name of a SQLite file, with the password in it.
func TestHowOthersConnectToADatabaseIsNoPathOfAFile(t *testing.T) {
	for _, uri := range []string{"host=127.0.0.1 user=etl password=SEKRET dbname=lake", "dbname=lake password = SEKRET", "service=lake", "hostaddr=::1", "sslmode=require port=5432",
		"file:host=db password=SEKRET", "Server=db;User Id=etl;Password=SEKRET", "c.db?password=SEKRET", "jdbc:mysql://etl:SEKRET@db/lake", "postgresql:/etl:SEKRET@db/lake",
		"etl:SEKRET@db:5432/lake", "//etl:SEKRET@db/lake"} {
		for _, from := range []Layer{Flag, Environment} {
			_, err := catalogAt(from, uri)
			if err == nil || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), uri) || !strings.Contains(err.Error(), "postgresql://user@host/database") {
				t.Errorf("%s: got %v, want to be told the form of an address and nothing of the value", uri, err)
			}
		}
	}
	for _, path := range []string{"/data/host=a/user=b/catalog.db", "/data/token=a/c.db", "file:/data/etl@home/c.db", "./host:catalog.db", "dbname.db"} {
		if _, err := catalogAt(Flag, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAPasswordInAFlagIsRefused(t *testing.T) {
	for _, uri := range []string{"postgresql://etl:SEKRET@db/lake", "postgres://etl:SEK/RET@db/lake", "jdbc:postgresql://db/lake?user=etl&password=SEKRET", "postgresql+psycopg2://etl:SEKRET@one:5432,two:5432/lake",
		"postgresql://db/lake?sslpassword=SEKRET"} {
		_, err := catalogAt(Flag, uri)
		if err == nil || strings.Contains(err.Error(), "SEK") || !strings.Contains(err.Error(), "use the variable SLUICE_SINK_ICEBERG_CATALOG_URI") {
			t.Errorf("%s: got %v, want to be told of the variable", uri, err)
		}
		if _, err := catalogAt(Environment, uri); err != nil {
			t.Errorf("%s in a variable: %v", uri, err)
		}
	}
	for _, uri := range []string{"postgresql://etl@db:5432/lake?sslmode=require", "postgresql://db/lake?user=etl@corp", "postgresql://etl@one:5432,two:5432/lake", "postgresql://etl:@db/lake"} {
		if _, err := catalogAt(Flag, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// A connection string, or an address without its scheme, would become the name of a folder.
func TestAFolderWhosePathHoldsASecretIsRefused(t *testing.T) {
	for _, place := range []string{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=SEKRET==", "AKIA:SEKRET@bucket/lake", "s3:/AKIA:SEKRET@bucket/lake", "lake?secret_key=SEKRET"} {
		for _, key := range []string{"checkpoint", "sink.iceberg.catalog.warehouse", "sink.parquet.path", "deadLetter.path"} {
			_, err := Load(Input{WorkDir: "/etc/sluice", Set: []string{key + "=" + place}})
			if err == nil || strings.Contains(err.Error(), "SEKRET") || !strings.Contains(err.Error(), "--set: "+key+":") {
				t.Errorf("%s %s: got %v, want it refused without the secret", key, place, err)
			}
		}
	}
	_, err := Load(Input{Set: []string{"schemaRegistry.url=me:SEKRET@registry:8081", "source.kafka.bootstrap.servers=me:SEKRET@b:9092"}})
	if err == nil || strings.Contains(err.Error(), "SEKRET") {
		t.Errorf("got %v, want it without the secret", err)
	}
}
