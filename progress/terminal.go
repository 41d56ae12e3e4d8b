package progress

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// TerminalBar is a Bar for the query on w if w is a terminal that can draw one, else nil. It draws by itself until it
// is closed. getenv is asked for TERM and for NO_COLOR (https://no-color.org).
func TerminalBar(w io.Writer, name string, getenv func(string) string) *Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || !canDraw(getenv("TERM")) {
		return nil
	}
	width := func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
	bar := NewBar(BarOptions{Out: w, Name: name, Width: width, Color: getenv("NO_COLOR") == ""})
	ticker := time.NewTicker(2 * drawEvery)
	go func() {
		defer ticker.Stop()
		bar.Run(ticker.C)
	}()
	return bar
}

// canDraw is false for terminals that only print.
func canDraw(term string) bool { return term != "" && term != "dumb" }

// IsTerminal says whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
