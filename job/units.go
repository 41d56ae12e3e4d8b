package job

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var counts = regexp.MustCompile(`^-?[0-9]+(_[0-9]+)*$`)

// parseCount reads a whole number; an underscore may stand between two digits.
func parseCount(s string) (int64, error) {
	if !counts.MatchString(s) {
		return 0, fmt.Errorf("is no whole number")
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is too large")
	}
	return n, nil
}

func formatCount(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// units are the units of a size, largest first; letters may be of either case. Those with an i are powers of 1024,
// the others of 1000.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}, {"B", 1},
}

var sizes = regexp.MustCompile(`^([0-9]+(?:_[0-9]+)*)(?: ?([A-Za-z]+))?$`)

// parseSize reads a whole number of bytes or of a unit.
func parseSize(s string) (int64, error) {
	m := sizes.FindStringSubmatch(s)
	if m == nil {
		if strings.HasPrefix(s, "-") {
			return 0, fmt.Errorf("is negative")
		}
		return 0, fmt.Errorf("is no whole number of bytes or of a unit")
	}
	n, err := parseCount(m[1])
	if err != nil {
		return 0, err
	}
	factor := int64(0)
	for _, u := range units {
		if m[2] == "" || strings.EqualFold(m[2], u.name) {
			factor = u.bytes
		}
	}
	if factor == 0 {
		return 0, fmt.Errorf("has no unit of size (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)")
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("is too large")
	}
	return n * factor, nil
}

// formatSize uses the largest power of 1024 that leaves a whole number.
func formatSize(n int64) string {
	for _, u := range units {
		if strings.Contains(u.name, "i") && n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// parseDuration reads Go's durations: 30s, 15m, 1h30m, 250ms.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("is negative")
	}
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("has no unit")
	}
	return 0, fmt.Errorf("is no duration")
}

// formatDuration leaves out the units that are zero at the end: 15m, not 15m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
