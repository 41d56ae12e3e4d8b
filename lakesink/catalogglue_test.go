package lakesink

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/aws/smithy-go"

	"sluice/batch"
	"sluice/lakesink/gluetest"
)

// glueOptions are a catalog in a stand-in for Glue, with a local warehouse.
func glueOptions(t testing.TB, s *gluetest.Server) CatalogOptions {
	t.Helper()
	return CatalogOptions{Type: "glue", Warehouse: t.TempDir(), Properties: map[string]string{"glue.endpoint": s.URL, "glue.region": "eu-west-1",
		"glue.access-key-id": "AK", "glue.secret-access-key": "SEKRET", "glue.max-retries": "2"}}
}

func openGlueTest(t testing.TB, o CatalogOptions) catalog.Catalog {
	t.Helper()
	c, err := OpenCatalog(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.(catalog.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inGlue is a table in a stand-in for Glue.
func inGlue(t testing.TB) (*Iceberg, *gluetest.Server, CatalogOptions) {
	t.Helper()
	server := gluetest.New(t)
	o := glueOptions(t, server)
	s := newSink(openGlueTest(t, o))
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	return s, server, o
}

func TestATableInGlueHasEveryBatchOnce(t *testing.T) {
	s, server, o := inGlue(t)
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
		mustApply(t, s, queryID, planN(n)) // a replay
	}
	if rows := scan(t, load(t, openGlueTest(t, o))); len(rows) != 60 {
		t.Errorf("got %d rows, want 60", len(rows))
	}
	if got := server.Table("db", "orders").Text("VersionId"); got != "3" {
		t.Errorf("got version %s, want one for each batch", got)
	}
	if got := o.String(); got != "glue "+o.Warehouse {
		t.Errorf("the catalog is called %s", got)
	}
}

func TestTenQueriesCommitToOneTableInGlueAtOnce(t *testing.T) {
	_, _, o := inGlue(t)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			options := testOptions()
			options.Attempts = 200
			if _, err := apply(New(openGlueTest(t, o), options), fmt.Sprintf("%s-%d", queryID, i), planN(0)); err != nil {
				t.Errorf("query %d: %v", i, err)
			}
		})
	}
	all.Wait()
	tbl := load(t, openGlueTest(t, o))
	if rows := scan(t, tbl); len(rows) != 200 || len(tbl.Metadata().Snapshots()) != 10 {
		t.Errorf("got %d rows in %d snapshots, want 200 in 10", len(rows), len(tbl.Metadata().Snapshots()))
	}
}

// Whatever Glue answers to an update, and whether it has carried it out or not, the batch is in the table once. The client sends
// an update again whose answer was lost, and is told of a conflict with itself then
// (https://github.com/redpanda-data/connect/issues/4591).
func TestNoAnswerOfGluesToACommitIsBelieved(t *testing.T) {
	for name, fault := range map[string]gluetest.Fault{
		"conflict": {Code: "ConcurrentModificationException"}, "throttled": {Code: "ThrottlingException"}, "timed out": {Code: "OperationTimeoutException"},
		"an error within": {Code: "InternalServiceException"}, "an error after it": {Code: "InternalServiceException", Applied: true},
		"lost": {Lost: true}, "an answer that is lost": {Lost: true, Applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server, o := inGlue(t)
			mustApply(t, s, queryID, planN(0))
			server.Break(func(operation string, n int) *gluetest.Fault {
				if operation == "UpdateTable" && n < 3 {
					return &fault
				}
				return nil
			})
			mustApply(t, s, queryID, planN(1))
			tbl := load(t, openGlueTest(t, o))
			if rows := scan(t, tbl); len(rows) != 40 || len(tbl.Metadata().Snapshots()) != 2 {
				t.Errorf("got %d rows in %d snapshots, want 40 in 2", len(rows), len(tbl.Metadata().Snapshots()))
			}
		})
	}
}

func TestACommitAfterWhichGlueIsSilentIsUnknown(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		_, server, o := inGlue(t)
		o.Properties["glue.max-retries"] = "1" // each is waited for
		s := newSink(openGlueTest(t, o))
		mustApply(t, s, queryID, planN(0))
		server.Silence(applied)
		_, err := apply(s, queryID, planN(1))
		wantClass(t, err, batch.UnknownOutcome, "may or may not be in table")
		server.Break(func(string, int) *gluetest.Fault { return nil })
		mustApply(t, newSink(openGlueTest(t, o)), queryID, planN(1))
		if rows := scan(t, load(t, openGlueTest(t, o))); len(rows) != 40 {
			t.Errorf("applied %v: got %d rows, want 40", applied, len(rows))
		}
	}
}

func TestTheAnswersOfGlueHaveTheirClass(t *testing.T) {
	for code, want := range map[string]struct {
		class batch.Class
		hint  string
	}{
		"AccessDeniedException": {batch.NotSetUp, "glue:UpdateTable"}, "EntityNotFoundException": {batch.NotSetUp, "create the database"}, "UnrecognizedClientException": {batch.NotSetUp, "credentials for Glue"},
		"ExpiredTokenException": {batch.NotSetUp, "credentials for Glue"}, "InvalidInputException": {batch.NotSetUp, "small letters"}, "ResourceNumberLimitExceededException": {batch.NotSetUp, "glue.skip-archive"},
		"GlueEncryptionException": {batch.NotSetUp, "KMS"}, "ThrottlingException": {batch.Failed, "quota"}, "ConcurrentModificationException": {batch.Failed, "run again"}, "InternalServiceException": {batch.Failed, "run again"},
	} {
		err := explain("read table", fmt.Errorf("load: %w", &smithy.OperationError{ServiceID: glueService, OperationName: "GetTable", Err: &smithy.GenericAPIError{Code: code}}))
		if batch.ClassOf(err) != want.class || !strings.Contains(batch.HintOf(err), want.hint) {
			t.Errorf("%s: got %s, %q, want %s, %q", code, batch.ClassOf(err), batch.HintOf(err), want.class, want.hint)
		}
	}
}

// The client's own name for the service, so that another version of it is noticed.
func TestWhatGlueRefusesIsSaidSo(t *testing.T) {
	for code, word := range map[string]string{"AccessDeniedException": "glue:GetTable", "ThrottlingException": "quota"} {
		server := gluetest.New(t)
		server.Break(func(string, int) *gluetest.Fault { return &gluetest.Fault{Code: code} })
		err := newSink(openGlueTest(t, glueOptions(t, server))).Create(context.Background(), rawSchema())
		if hint := batch.HintOf(err); !strings.Contains(hint, word) || strings.Contains(fmt.Sprint(err), "SEKRET") {
			t.Errorf("%s: got %v, %q", code, err, hint)
		}
	}
}

func TestGlueWithoutARegionOrWithHalfACredentialIsRefused(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/not/there")
	for without, words := range map[string][]string{"glue.region": {"region"}, "glue.secret-access-key": {"belong together"}} {
		o := glueOptions(t, gluetest.New(t))
		delete(o.Properties, without)
		_, err := OpenCatalog(context.Background(), o)
		wantClass(t, err, batch.NotSetUp, words...)
	}
}

// Files are reached by the settings of the store: Glue's endpoint is none of theirs.
func TestTheEndpointOfGlueIsNotThatOfTheStore(t *testing.T) {
	t.Parallel()
	server := gluetest.New(t)
	o := glueOptions(t, server)
	o.Warehouse = "s3://lake/x"
	o.Properties["s3.endpoint"], o.Properties["s3.access-key-id"], o.Properties["s3.secret-access-key"] = "http://127.0.0.1:1", "AK", "SEKRET"
	s := newSink(openGlueTest(t, o))
	if err := s.Create(context.Background(), rawSchema()); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	if server.Requests("GetTable") == 0 {
		t.Error("Glue was not asked")
	}
}
