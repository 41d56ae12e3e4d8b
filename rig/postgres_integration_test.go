//go:build integration

package rig

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	first, second := Postgres(t), Postgres(t)
	first.Do(t, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
	var n int
	if err := first.Connect(t).QueryRow(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 1 {
		t.Errorf("got %d, %v", n, err)
	}
	if err := second.Connect(t).QueryRow(t.Context(), "SELECT n FROM t").Scan(&n); err == nil {
		t.Error("the second database has the table of the first")
	}
}

func TestAnAnswerThatIsCutOffWasGivenAllTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		cut  Cut
		want int
	}{"before": {Before, 0}, "after": {After, 1}} {
		t.Run(name, func(t *testing.T) {
			db := Postgres(t)
			db.Do(t, "CREATE TABLE t (n int)")
			w := Cable(t, db.Address)
			conn, err := pgx.Connect(t.Context(), w.Through(t, db.URL))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			w.Rule(func(fromClient bool, _ []byte) Cut {
				if fromClient {
					return c.cut
				}
				return Pass
			})
			if _, err := conn.Exec(t.Context(), "INSERT INTO t VALUES (1)", pgx.QueryExecModeSimpleProtocol); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want a broken connection", err)
			}
			var n int
			if err := db.Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != c.want {
				t.Errorf("got %d rows, %v, want %d", n, err, c.want)
			}
		})
	}
}
