//go:build integration

package lakesink

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// difficultValues are values of a type at which bounds go wrong, in their order and without NaN.
func difficultValues(t columns.Type) []any {
	var values []any
	switch t.Kind {
	case columns.Bool:
		return []any{false, true}
	case columns.Int32:
		values = anys[int32](math.MinInt32, math.MinInt32+1, -65536, -32769, -256, -255, -129, -1, 0, 1, 127, 128, 255, 256, 32768, 65536, math.MaxInt32-1, math.MaxInt32)
	case columns.Int64:
		values = anys[int64](math.MinInt64, math.MinInt64+1, math.MinInt32-1, -9007199254740993, -256, -1, 0, 1, 255, 256, 9007199254740992, 9007199254740993, math.MaxInt32+1, math.MaxInt64-1, math.MaxInt64)
	case columns.Float32:
		values = anys(float32(math.Inf(-1)), -math.MaxFloat32, -1.5, -math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1)), 0, math.SmallestNonzeroFloat32, 0.1, 1.5, math.MaxFloat32, float32(math.Inf(1)))
	case columns.Float64:
		values = anys(math.Inf(-1), -math.MaxFloat64, -1e300, -1.5, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 0.1, 1.5, 1e300, math.MaxFloat64, math.Inf(1))
	case columns.Date:
		values = anys(day("0001-01-01"), day("0001-01-02"), day("1582-10-04"), day("1582-10-15"), day("1969-12-30"), -1, 0, 1, day("2000-02-29"), day("9999-12-30"), day("9999-12-31"))
	case columns.Time:
		values = anys[int64](0, 1, 999_999, 1_000_000, 3_600_000_000, 43_200_000_000, 86_399_000_000, 86_399_999_998, 86_399_999_999)
	case columns.Timestamp, columns.TimestampTZ:
		values = anys[int64](-62_135_596_800_000_000, -62_135_596_799_999_999, -12_219_292_800_000_001, -1_000_001, -1_000_000, -999_999, -1, 0, 1, 999_999, 1_767_323_045_678_901, 253_402_300_799_999_998, 253_402_300_799_999_999)
	case columns.Decimal:
		values = difficultDecimals(t.Precision)
	case columns.String:
		values = difficultTexts()
	case columns.Binary:
		values = difficultBytes(-1)
	case columns.Fixed:
		values = difficultBytes(t.Width)
	case columns.UUID:
		values = difficultBytes(16)
	}
	slices.SortStableFunc(values, order)
	return values
}

func anys[T any](values ...T) []any {
	var out []any
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

func day(text string) int32 {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return int32(math.Floor(float64(t.Unix()) / 86400))
}

// difficultDecimals lie where the bytes of an unscaled value grow in number or change their sign.
func difficultDecimals(precision int) []any {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	var values []any
	add := func(v *big.Int) {
		for _, v := range []*big.Int{v, new(big.Int).Neg(v)} {
			if v.CmpAbs(limit) < 0 && !slices.ContainsFunc(values, func(w any) bool { return order(w, v) == 0 }) {
				values = append(values, v)
			}
		}
	}
	for _, bits := range []uint{7, 8, 15, 31, 63, 64, 65, 126} {
		power := new(big.Int).Lsh(big.NewInt(1), bits)
		add(power)
		add(new(big.Int).Sub(power, big.NewInt(1)))
	}
	add(big.NewInt(0))
	add(big.NewInt(1))
	add(new(big.Int).Sub(limit, big.NewInt(1)))
	add(new(big.Int).Sub(limit, big.NewInt(2)))
	return values
}

// difficultTexts differ beyond the sixteen code points that a bound keeps, or at the last of them, or are as long as what
// is followed while writing.
func difficultTexts() []any {
	long, last := "abcdefghijklmno", "\U0010ffff"
	values := anys("", "\x00", "a", "a\x00", "a\x00b", "z", "%", "_", "'", `\`, "café", "cafe\u0301", long, long+"€z", long+last, strings.Repeat(last, 15), strings.Repeat(last, 16),
		strings.Repeat(last, 17), strings.Repeat(last, 20), strings.Repeat("y", 63), strings.Repeat("y", 64), strings.Repeat("y", 65), strings.Repeat("y", 64)+"z", strings.Repeat("y", 64)+last)
	for _, c := range []string{"\x01", "p", "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\uffff", "\U00010000", last} {
		values = append(values, c, long+c, long+c+c, long+last+c, strings.Repeat("€", 21)+c)
	}
	slices.SortFunc(values, order)
	return slices.CompactFunc(values, func(a, b any) bool { return a == b })
}

// difficultBytes are of a width, or of several where it is negative.
func difficultBytes(width int) []any {
	widths := []int{width}
	if width < 0 {
		widths = []int{1, 15, 16, 17, 20, 63, 64, 65, 100}
	}
	values := []any{}
	if width < 0 {
		values = append(values, []byte{})
	}
	for _, n := range widths {
		for _, first := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			for _, rest := range []byte{0, 0xff} {
				v := append([]byte{first}, bytes.Repeat([]byte{rest}, n-1)...)
				values = append(values, v)
				v = bytes.Clone(v)
				v[n-1] = 0x80
				values = append(values, v)
			}
		}
	}
	slices.SortFunc(values, order)
	return slices.CompactFunc(values, func(a, b any) bool { return order(a, b) == 0 })
}

// order compares values of a type. -0 and 0 are equal, NaN must not come here.
func order(a, b any) int {
	switch a := a.(type) {
	case bool:
		return cmp.Compare(strconv.FormatBool(a), strconv.FormatBool(b.(bool)))
	case int32:
		return cmp.Compare(a, b.(int32))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float32:
		return cmp.Compare(a, b.(float32))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case *big.Int:
		return a.Cmp(b.(*big.Int))
	}
	panic(fmt.Sprintf("no order of %T", a))
}

// constant is a value as rig/check_statistics.py reads it.
func constant(v any) string {
	switch v := v.(type) {
	case string:
		return hex.EncodeToString([]byte(v))
	case []byte:
		return hex.EncodeToString(v)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 64) // PyIceberg takes constants as doubles
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func notANumber(t columns.Type) any {
	if t.Kind == columns.Float32 {
		return float32(math.NaN())
	}
	return math.NaN()
}

func isNaN(v any) bool {
	switch v := v.(type) {
	case float32:
		return v != v
	case float64:
		return v != v
	}
	return false
}

// adversary makes the rows of one file: most often the values of a column lie close together in their order, so that files
// differ and readers can pass over them. A float whose name has nan in it is NaN now and then.
type adversary struct {
	rng *rand.Rand
	// absent says that everything optional is null, and NaN is all that there is where there may be NaN.
	absent bool
	// windows holds what a column, told by its path, takes its values from.
	windows map[string][]any
}

func (a *adversary) row(schema columns.Schema, path string) []any {
	var row []any
	for _, f := range schema {
		row = append(row, a.value(f, path+f.Name))
	}
	return row
}

func (a *adversary) value(f columns.Field, path string) any {
	nan := strings.Contains(f.Name, "nan")
	if !f.Required && (a.absent && !nan || a.rng.IntN(6) == 0) {
		return nil
	}
	switch f.Type.Kind {
	case columns.Struct:
		return a.row(f.Type.Fields, path+".")
	case columns.List, columns.Map:
		return a.several(f.Type, path)
	}
	if nan && (a.absent || a.rng.IntN(8) == 0) {
		return notANumber(f.Type)
	}
	w := a.window(f.Type, path)
	return w[a.rng.IntN(len(w))]
}

func (a *adversary) window(t columns.Type, path string) []any {
	if w, ok := a.windows[path]; ok {
		return w
	}
	all := difficultValues(t)
	n := min(len(all), 2+a.rng.IntN(4))
	if a.rng.IntN(3) == 0 {
		n = max(n, len(all)/2)
	}
	from := a.rng.IntN(len(all) - n + 1)
	a.windows[path] = all[from : from+n]
	return a.windows[path]
}

// several makes a list or a map.
func (a *adversary) several(t columns.Type, path string) any {
	list, entries := []any{}, []rowtest.Entry{}
	for range a.rng.IntN(4) {
		if t.Kind == columns.List {
			list = append(list, a.value(t.Fields[0], path+".element"))
			continue
		}
		key := a.value(t.Fields[0], path+".key")
		if !slices.ContainsFunc(entries, func(e rowtest.Entry) bool { return order(e.Key, key) == 0 }) {
			entries = append(entries, rowtest.Entry{Key: key, Value: a.value(t.Fields[1], path+".value")})
		}
	}
	if t.Kind == columns.List {
		return list
	}
	return entries
}
