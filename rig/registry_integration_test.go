//go:build integration

package rig

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
)

func TestTheRegistryCountsVersionsAndKeepsIDs(t *testing.T) {
	r := Registry(t)
	subject := r.Subject(t)
	schema := sr.Schema{Schema: `{"type":"enum","name":"E` + subject[len(subject)-14:len(subject)-6] + `","symbols":["A"]}`}
	version, id := r.Register(t, subject, schema)
	if version != 1 || id <= 0 {
		t.Errorf("got version %d, id %d", version, id)
	}
	if version, again := r.Register(t, subject, schema); version != 1 || again != id {
		t.Errorf("got version %d, id %d for the same schema, want 1, %d", version, again, id)
	}
	got, err := r.Client.SchemaByID(context.Background(), int(id))
	if err != nil || got.Schema != schema.Schema {
		t.Errorf("got %+v, %v", got, err)
	}
}
