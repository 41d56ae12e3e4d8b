package lakesink

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/batch"
)

func TestADatabaseIsAskedAgainOnlyWhereItsConnectionBroke(t *testing.T) {
	for name, is := range map[string]struct {
		err  error
		want int
	}{
		"no error":                  {nil, 1},
		"hung up":                   {fmt.Errorf("load: %w", errHungUp), 1 + repetitions},
		"closed before":             {fmt.Errorf("load: %w", pgconn.ErrConnClosed), 1 + repetitions},
		"an administrator ended it": {explain("open", &pgconn.PgError{Code: "57P01"}), 1 + repetitions},
		"the server starts":         {&pgconn.PgError{Code: "57P03"}, 1 + repetitions},
		"no such table":             {&pgconn.PgError{Code: "42P01"}, 1},
		"no right":                  {&pgconn.PgError{Code: "42501"}, 1},
		"a lock":                    {&pgconn.PgError{Code: "55P03"}, 1},
		"another error":             {errors.New("no"), 1},
	} {
		asked := 0
		_, err := repeated(t.Context(), func() (bool, error) {
			asked++
			return false, is.err
		})
		if asked != is.want || !errors.Is(err, is.err) {
			t.Errorf("%s: got asked %d times, %v, want %d times, %v", name, asked, err, is.want, is.err)
		}
	}
}

func TestADatabaseThatAnswersTheSecondTimeHasAnswered(t *testing.T) {
	asked := 0
	err := repeat(t.Context(), func() error {
		if asked++; asked == 1 {
			return errHungUp
		}
		return nil
	})
	if err != nil || asked != 2 {
		t.Errorf("got %v after %d questions, want an answer to the second", err, asked)
	}
}

func TestNobodyWaitsForADatabaseWhoHasBeenToldToStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := repeat(ctx, func() error {
		asked++
		cancel()
		return errHungUp
	})
	if asked != 1 || !errors.Is(err, errHungUp) || batch.ClassOf(err) != batch.Failed {
		t.Errorf("got %v after %d questions, want one", err, asked)
	}
}
