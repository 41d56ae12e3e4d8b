package job

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// kind reads and writes the values of one type of key. write gives the canonical form, which read takes again, and
// nothing for a value that is not set.
type kind[T any] struct {
	// name is the type as the documentation has it.
	name string
	// want says what a value looks like; it ends error messages.
	want string
	// plain says that write gives YAML and not a text that may need quotes.
	plain bool
	read  func(t term) (T, []fault)
	write func(v T) string
}

// scalar is a kind of single values. parse returns what is wrong with a text as "is no …".
func scalar[T any](name, want string, parse func(string) (T, error), write func(T) string) kind[T] {
	k := kind[T]{name: name, want: want, plain: true, write: write}
	k.read = func(t term) (T, []fault) {
		var none T
		if t.form != scalarForm {
			return none, faultOf(t.at, "is "+t.form.String()+": want "+want)
		}
		v, err := parse(t.text)
		switch {
		case errors.As(err, new(unquoted)):
			return none, faultOf(t.at, err.Error())
		case err != nil && t.secret: // the error may quote the text
			return none, faultOf(t.at, redacted+" does not fit: want "+want)
		case err != nil:
			return none, faultOf(t.at, t.quoted()+" "+err.Error()+": want "+want)
		}
		return v, nil
	}
	return k
}

// unquoted says all that is to be said of a text that is not to be shown.
type unquoted string

// Error is the message.
func (u unquoted) Error() string { return string(u) }

// words is a kind of single values for which YAML's numbers, truth values and dates are a mistake: every other reader
// of the file would take name: 1.10 for 1.1.
func words(name, want string, parse func(string) (string, error)) kind[string] {
	k := scalar(name, want, parse, func(s string) string { return s })
	k.plain = false
	read := k.read
	k.read = func(t term) (string, []fault) {
		if t.form == scalarForm && !t.word {
			return "", faultOf(t.at, t.text+" is not text in YAML: put it in quotes")
		}
		return read(t)
	}
	return k
}

func oneOf(allowed ...string) kind[string] {
	want := strings.Join(allowed, " or ")
	return words("word", want, func(s string) (string, error) {
		if slices.Contains(allowed, s) {
			return s, nil
		}
		return "", fmt.Errorf("is not known here%s", meant(nearest(s, allowed)))
	})
}

func meant(name string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + name + "?)"
}

var queryNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

var queryName = words("name", "up to 128 letters, digits, dots, hyphens and underscores, a letter or digit first", func(s string) (string, error) {
	if !queryNames.MatchString(s) {
		return "", fmt.Errorf("is no name for a query")
	}
	return s, nil
})

// mainBranch is the branch that readers see unless they ask for another.
const mainBranch = "main"

var branchNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,127}$`)

var branchName = words("branch", "up to 128 letters, digits, underscores, dots, slashes and hyphens, a letter, digit or underscore first", func(s string) (string, error) {
	if !branchNames.MatchString(s) {
		return "", fmt.Errorf("is no name for a branch")
	}
	return s, nil
})

var tableParts = regexp.MustCompile("^[^\\s./\\\\'\"`[:cntrl:]]+$")

var tableName = words("table", "namespace.table, such as sales.orders", func(s string) (string, error) {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if !tableParts.MatchString(part) {
			return "", fmt.Errorf("is no table name")
		}
	}
	if len(parts) < 2 {
		return "", fmt.Errorf("has no namespace")
	}
	return s, nil
})

var pattern = words("regular expression", "a regular expression in Go's syntax (RE2), such as ^orders-.*", func(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", fmt.Errorf("is empty")
	}
	if _, err := regexp.Compile(s); err != nil {
		return "", fmt.Errorf("is no regular expression (%s)", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return s, nil
})

// wording is a text that others understand.
var wording = words("text", "text", solid("is empty"))

// ddlText is a schema; what is wrong in it is found by whoever knows the language.
var ddlText = words("schema", "columns in Spark's DDL, such as order_id STRING NOT NULL, amount DECIMAL(18,2)", solid("has no column"))

// keyType is one type or the columns of a struct.
var keyType = words("schema", "a type in Spark's DDL, such as BIGINT, or columns, such as id BIGINT NOT NULL, region STRING", solid("has no type"))

var localFile = words("path", "the path of a file on this machine", solid("is empty"))

// groupName is what a person reads in other tools: Kafka itself takes any text.
var groupName = words("name", "the name of a consumer group, without white space around it or control characters", func(s string) (string, error) {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return "", fmt.Errorf("is no name for a consumer group")
	}
	return s, nil
})

// solid refuses a text of white space.
func solid(message string) func(string) (string, error) {
	return func(s string) (string, error) {
		if strings.TrimSpace(s) == "" {
			return "", fmt.Errorf("%s", message)
		}
		return s, nil
	}
}

var truth = scalar("true or false", "true or false", func(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("is neither")
}, strconv.FormatBool)

var moment = scalar("time", "a time as in RFC 3339, such as 2026-11-01T00:00:00Z", func(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("is no time")
	}
	if t.UnixMilli() < 0 {
		return t, fmt.Errorf("is before 1970, and so before every record")
	}
	return t.UTC(), nil
}, func(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
})

// count is a whole number of at least least.
func count(least int64) kind[int64] {
	want := fmt.Sprintf("a whole number of at least %d, such as %d", least, max(least, 100))
	return scalar("count", want, countOf(least), formatCount)
}

// countBetween is a count with both bounds allowed.
func countBetween(least, most int64) kind[int64] {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	return scalar("count", want, func(s string) (int64, error) {
		n, err := countOf(least)(s)
		if err == nil && n > most {
			err = fmt.Errorf("is too large")
		}
		return n, err
	}, formatCount)
}

// limit is a count, or none: 0 in the Job.
func limit(least int64) kind[int64] {
	want := fmt.Sprintf("a whole number of at least %d, such as 500000 or 500_000, or none", least)
	parse := countOf(least)
	return scalar("count or none", want, func(s string) (int64, error) {
		if s == none {
			return 0, nil
		}
		return parse(s)
	}, func(n int64) string {
		if n == 0 {
			return none
		}
		return formatCount(n)
	})
}

const none = "none"

// ratio is a part of a whole, or none: 0 in the Job.
var ratio = scalar("part or none", "a number above 0 and up to 1, such as 0.01, or none", func(s string) (float64, error) {
	if s == none {
		return 0, nil
	}
	part, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || part != part:
		return 0, fmt.Errorf("is no number")
	case part <= 0 || part > 1:
		return 0, fmt.Errorf("is not between 0 and 1")
	}
	return part, nil
}, func(part float64) string {
	if part == 0 {
		return none
	}
	return strconv.FormatFloat(part, 'f', -1, 64)
})

func countOf(least int64) func(string) (int64, error) {
	return func(s string) (int64, error) {
		n, err := parseCount(s)
		if err == nil && n < least {
			err = fmt.Errorf("is too small")
		}
		return n, err
	}
}

func size(least int64) kind[int64] {
	want := "a size of at least " + formatSize(least) + ", such as 256MiB or 500MB"
	return scalar("size", want, func(s string) (int64, error) { return parseSizeOf(least, s) }, formatSize)
}

func parseSizeOf(least int64, s string) (int64, error) {
	n, err := parseSize(s)
	switch {
	case err != nil || n >= least:
	case n < 1<<20 && counts.MatchString(s): // so few bytes are not what was meant
		err = fmt.Errorf("has no unit")
	default:
		err = fmt.Errorf("is too small")
	}
	return n, err
}

// sizeLimit is a size, or none: 0 in the Job.
func sizeLimit(least int64) kind[int64] {
	sized := size(least)
	return scalar("size or none", sized.want+", or none", func(s string) (int64, error) {
		if s == none {
			return 0, nil
		}
		return parseSizeOf(least, s)
	}, func(n int64) string {
		if n == 0 {
			return none
		}
		return formatSize(n)
	})
}

var span = scalar("duration", "a duration such as 30s, 15m or 1h30m", parseDuration, formatDuration)

// spanBetween is a duration with both bounds allowed.
func spanBetween(least, most time.Duration) kind[time.Duration] {
	want := fmt.Sprintf("a duration from %s to %s, such as 30s", formatDuration(least), formatDuration(most))
	return scalar("duration", want, func(s string) (time.Duration, error) {
		d, err := parseDuration(s)
		switch {
		case err != nil:
		case d < least:
			err = fmt.Errorf("is too short")
		case d > most:
			err = fmt.Errorf("is too long")
		}
		return d, err
	}, formatDuration)
}

var spanLimit = scalar("duration or none", "a duration above zero such as 30s, 15m or 1h30m, or none", func(s string) (time.Duration, error) {
	if s == none {
		return 0, nil
	}
	d, err := parseDuration(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("is zero")
	}
	return d, err
}, func(d time.Duration) string {
	if d == 0 {
		return none
	}
	return formatDuration(d)
})
