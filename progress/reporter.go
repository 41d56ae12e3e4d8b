package progress

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Options say where a Reporter writes.
type Options struct {
	// Out takes the results: a line for each batch, and the summary.
	Out io.Writer
	// JSON writes results as objects. Batches are then logged as well, so that logs alone tell what happened.
	JSON bool
	// Quiet writes no text: a run that goes well says nothing. It does not silence JSON.
	Quiet bool
	// Stamped puts the time before the line of a batch and before the summary, for the logs of cron.
	Stamped bool
	// Log takes notices and, at debug level, the course of the run. If it writes to the terminal of Bar, then through
	// Bar.Over, as Out must.
	Log *slog.Logger
	// Bar shows how far the run is; nil for none.
	Bar *Bar
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Reporter shows a run while it goes on. It satisfies runner.Reporter. A result that cannot be written does not stop
// the run; Finish returns the error.
type Reporter struct {
	options Options
	mu      sync.Mutex
	err     error
}

// NewReporter makes a Reporter. The caller closes the Bar, after Finish.
func NewReporter(options Options) *Reporter {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &Reporter{options: options}
}

// Planned announces a batch that is about to be read.
func (r *Reporter) Planned(batch, offsets, remaining int64, replayed bool) {
	r.options.Log.Debug("batch planned", "batch", batch, "offsets", offsets, "remaining", remaining, "replayed", replayed)
	r.options.Bar.begin(batch, offsets, remaining)
}

// Advanced counts records of the batch in hand.
func (r *Reporter) Advanced(records int64) { r.options.Bar.advance(records) }

// Committed reports a batch that is in the table.
func (r *Reporter) Committed(report *Batch) {
	r.options.Bar.finish()
	level := slog.LevelDebug
	if r.options.JSON {
		level = slog.LevelInfo
	}
	r.options.Log.Log(context.Background(), level, "batch committed", "batch", report.BatchID, "records", report.NumInputRows,
		"rows", report.Sluice.Rows, "deadLetters", report.Sluice.DeadLetters, "dropped", report.Sluice.Dropped, "nulled", report.Sluice.Nulled, "files", report.Sluice.Files, "bytes", report.Sluice.WrittenBytes,
		"durationMs", report.BatchDuration, "lag", report.Sluice.Lag, "snapshot", report.Sluice.Snapshot, "replayed", report.Sluice.Replayed)
	r.write(func(out io.Writer) error {
		switch {
		case r.options.JSON:
			return WriteJSON(out, report)
		case r.options.Quiet:
			return nil
		case r.options.Stamped:
			_, err := io.WriteString(out, r.stamp()+report.Name+", "+report.line()+"\n")
			return err
		}
		return Write(out, false, report)
	})
}

// Notice tells what a person should know. One about an error, told by an attribute of that name, is a warning.
func (r *Reporter) Notice(message string, attributes ...any) {
	level := slog.LevelInfo
	for i := 0; i < len(attributes); i += 2 {
		if attributes[i] == "error" {
			level = slog.LevelWarn
		}
	}
	r.options.Log.Log(context.Background(), level, message, attributes...)
}

// Warning tells what a person must not miss, though the run goes on.
func (r *Reporter) Warning(message string, attributes ...any) {
	r.options.Log.Log(context.Background(), slog.LevelWarn, message, attributes...)
}

// Finish writes the summary, in text ending with look, the line to paste into DuckDB. It returns the first error of
// all writing.
func (r *Reporter) Finish(summary *Summary, look string) error {
	r.options.Bar.Close()
	r.write(func(out io.Writer) error {
		switch {
		case r.options.JSON:
			return WriteJSON(out, summary)
		case r.options.Quiet:
			return nil
		}
		return Write(out, false, &closing{summary, r.stamp(), look})
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// stamp is the time before a line, where lines are stamped.
func (r *Reporter) stamp() string {
	if !r.options.Stamped {
		return ""
	}
	return r.options.Now().UTC().Format(time.RFC3339) + " "
}

// write lets one goroutine write at a time, and keeps the first error.
func (r *Reporter) write(result func(out io.Writer) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := result(r.options.Out); err != nil && r.err == nil {
		r.err = err
	}
}
