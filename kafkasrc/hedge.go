package kafkasrc

import (
	"context"
	"time"
)

// A question that any broker can answer goes to so many of them, to the next when nothing was answered for so long: one may
// hang, which its connection takes request.timeout.ms to show. The client takes its brokers in turn.
const (
	anyBrokers   = 3
	askNextAfter = 2 * time.Second
)

// hedged asks, and asks again up to n times as long as there is no answer, each time after a while. The first answer counts, or
// the last error where there is none.
func hedged[T any](ctx context.Context, n int, after time.Duration, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type said struct {
		answer T
		err    error
	}
	answers := make(chan said, n)
	begun, ended := 0, 0
	begin := func() {
		begun++
		go func() {
			answer, err := ask(ctx)
			answers <- said{answer, err}
		}()
	}
	ticker := time.NewTicker(after)
	defer ticker.Stop()
	for begin(); ; {
		select {
		case <-ticker.C:
			if begun < n {
				begin()
			}
		case s := <-answers:
			if ended++; s.err == nil || ended == begun {
				return s.answer, s.err
			}
		}
	}
}
