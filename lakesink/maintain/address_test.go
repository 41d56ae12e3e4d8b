package maintain

import "testing"

// Each pair was taken for two files by somebody: https://github.com/apache/iceberg/issues/4346,
// https://github.com/apache/iceberg/pull/4652, https://github.com/apache/amoro/issues/1981.
func TestAddressesThatMeanTheSameFile(t *testing.T) {
	for _, pair := range [][2]string{
		{"s3://b/t/x.parquet", "s3a://b/t/x.parquet"},
		{"s3n://b/t/x.parquet", "s3://b/t//x.parquet"},
		{"s3://b/t/x.parquet", "s3://b//t/./x.parquet"},
		{"hdfs://one:8020/t/x.parquet", "hdfs://two/t/x.parquet"},
		{"hdfs:/t/x.parquet", "hdfs:///t/x.parquet"},
		{"file:/t/x.parquet", "/t/x.parquet"},
		{"file:///t/x.parquet", "file://localhost/t/x.parquet"},
		{"wasbs://c@a.blob.core.windows.net/t/x", "abfss://c@a.dfs.core.windows.net/t/x"},
		{"s3://b/t/s=a%20b/x", "s3://b/t/s=a b/x"},
		{"s3://b/t/s=a%2520b/x", "s3://b/t/s=a%20b/x"},
		{"s3://b/t/s=ü/x", "s3://b/t/s=%C3%BC/x"},
		{"s3://b/t/", "s3://b/t"},
		{"s3://b", "s3://b/"},
	} {
		if a, b := canonical(pair[0]), canonical(pair[1]); a != b {
			t.Errorf("%s is %s and %s is %s", pair[0], a, pair[1], b)
		}
	}
	for _, pair := range [][2]string{{"s3://b/t/x", "s3://b/t/y"}, {"s3://b/t/x", "s3://b/t/x/y"}, {"/t/a%zz", "/t/a"}, {"/t/a:b", "/t/b"}} {
		if a, b := canonical(pair[0]), canonical(pair[1]); a == b {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], a)
		}
	}
}

func TestWhatIsWithinAFolder(t *testing.T) {
	for pair, want := range map[[2]string]bool{{"/t/x", "/t"}: true, {"/t", "/t"}: true, {"/tx/y", "/t"}: false, {"/x", "/"}: true, {"/t", "/t/x"}: false} {
		if got := within(pair[0], pair[1]); got != want {
			t.Errorf("%v: got %v, want %v", pair, got, want)
		}
	}
}
