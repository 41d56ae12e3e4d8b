package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// count renders 1,234,567.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// number renders 1234567: offsets and the numbers of batches and partitions are there to be copied.
func number(n int64) string { return strconv.FormatInt(n, 10) }

// known is a count of which -1 means that it is not known.
func known(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return count(n)
}

// size renders 512 B, 84.2 MiB: powers of 1024 with one decimal.
func size(n int64) string {
	if n < 1<<10 {
		return count(n) + " B"
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1023.95 && unit < 5 { // what would round to 1024.0
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit])
}

// took renders 412 ms, 12.4 s, 3m 12s, 2h 5m.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
}

func millis(ms int64) string { return took(time.Duration(ms) * time.Millisecond) }

// rate renders n per d, as a whole number per second; times under a millisecond count as one.
func rate(n int64, d time.Duration) string {
	return count(int64(float64(n)/max(d, time.Millisecond).Seconds()+0.5)) + "/s"
}

// Plural renders 1 file, 2,000 files: a count for people, with its noun.
func Plural(n int64, one string) string { return plural(n, one) }

// plural renders 1 file, 2 files.
func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	switch {
	case strings.HasSuffix(one, "ch"):
		one += "es"
	default:
		one += "s"
	}
	return count(n) + " " + one
}

// stamp renders a moment for people: UTC, seconds. The zero time is "never".
func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// printable makes text from outside harmless to a terminal: what is no printable character is escaped.
func printable(s string) string {
	clean := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case clean(r) || r == utf8.RuneError:
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += width
	}
	return b.String()
}

// clip shortens text to a width in characters.
func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(0, width-1)]) + "…"
}
