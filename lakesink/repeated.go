package lakesink

import (
	"context"
	"database/sql/driver"
	"errors"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// repetitions is how often something is asked of a database once more whose connection broke meanwhile.
const repetitions = 3

// repeated asks a database that is on a server, and once more where the connection breaks before the answer: a pooler, a firewall
// or an administrator ends connections, and a standby takes over, at any moment. Only for what does no harm if it is done twice:
// questions, and the making of what then is there already. Commits are not repeated: the table is looked at instead.
func repeated[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		is, err := ask()
		if attempt > repetitions || !isHungUp(err) {
			return is, err
		}
		if Sleep(ctx, Backoff(attempt)) != nil {
			return is, err
		}
	}
}

// repeat is repeated where the answer is yes or an error.
func repeat(ctx context.Context, do func() error) error {
	_, err := repeated(ctx, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// isHungUp says that a connection ended which had been there, or that a server which starts did not let anybody in yet.
func isHungUp(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		_, hint := sqlStateMeaning(answer.Code)
		return hint == restarting
	}
	broken := errors.Is(err, errHungUp) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed)
	return broken || isOfServer(err) && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}
