package objectstore_test

import (
	"context"
	"errors"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

// Stores and proxies that accept conditional writes and ignore the condition let every run win
// (https://github.com/minio/minio/issues/21603, https://github.com/ceph/ceph/pull/69991).
func TestTheProbeRefusesAStoreThatIgnoresConditions(t *testing.T) {
	m := objectstore.NewMemory("m")
	for name, s := range map[string]objectstore.Store{
		"all conditions":  storetest.IgnoresConditions{Store: m},
		"If-None-Match":   noAbsence{m},
		"If-Match":        noMatch{m},
		"inverted":        inverted{m},
		"refuses to swap": unswappable{m},
		"loses objects":   storetest.Drops{Store: m, Key: func(string) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			wantFault(t, objectstore.Probe(t.Context(), s, "lock/probe-"), batch.NotSetUp, "does not enforce conditional writes")
			if keys := list(t, m, ""); len(keys) != 0 {
				t.Errorf("left behind: %v", keys)
			}
		})
	}
}

// The probe's answers can get lost too.
func TestTheProbeSurvivesLostAnswers(t *testing.T) {
	for _, mode := range []storetest.Mode{storetest.NotApplied, storetest.AnswerLost, storetest.Repeated} {
		for at := range 5 {
			m := objectstore.NewMemory("m")
			err := objectstore.Probe(t.Context(), &storetest.Faults{Store: m, Script: storetest.NewScript(at, mode)}, "lock/probe-")
			if batch.ClassOf(err) == batch.NotSetUp {
				t.Errorf("%s at %d: an honest store was refused: %v", mode, at, err)
			}
			if err == nil && len(list(t, m, "")) != 0 {
				t.Errorf("%s at %d: left behind %v", mode, at, list(t, m, ""))
			}
		}
	}
}

type noAbsence struct{ *objectstore.Memory }

func (s noAbsence) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	return storetest.IgnoresConditions{Store: s.Memory}.PutIfAbsent(ctx, key, data)
}

type noMatch struct{ *objectstore.Memory }

func (s noMatch) PutIfMatch(ctx context.Context, key string, data []byte, version objectstore.Version) (objectstore.Version, error) {
	return storetest.IgnoresConditions{Store: s.Memory}.PutIfMatch(ctx, key, data, version)
}

// inverted refuses to create what is not there and replaces what is.
type inverted struct{ *objectstore.Memory }

func (s inverted) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if _, _, err := s.Get(ctx, key); errors.Is(err, objectstore.ErrNotFound) {
		return "", objectstore.ErrConflict
	}
	return "", s.Put(ctx, key, data)
}

type unswappable struct{ *objectstore.Memory }

func (unswappable) PutIfMatch(context.Context, string, []byte, objectstore.Version) (objectstore.Version, error) {
	return "", objectstore.ErrConflict
}
