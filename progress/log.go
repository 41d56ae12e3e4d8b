package progress

import (
	"io"
	"log/slog"
	"time"
)

// LogOptions say how logs look.
type LogOptions struct {
	// JSON writes one JSON object a line instead of key=value text.
	JSON bool
	// Level is the least level that is written; the zero value is info.
	Level slog.Level
	// Now stamps the lines, time.Now if nil.
	Now func() time.Time
}

// NewLogger logs to w, for people and log collectors: the time in UTC with milliseconds, level, message, attributes.
func NewLogger(w io.Writer, options LogOptions) *slog.Logger {
	if options.Now == nil {
		options.Now = time.Now
	}
	handler := &slog.HandlerOptions{Level: options.Level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.String(slog.TimeKey, options.Now().UTC().Format(timestampForm))
		}
		return a
	}}
	if options.JSON {
		return slog.New(slog.NewJSONHandler(w, handler))
	}
	return slog.New(slog.NewTextHandler(w, handler))
}
