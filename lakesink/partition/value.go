package partition

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/columns"
	"sluice/layout"
)

// Value is the value of a partition field.
type Value struct {
	Null bool
	// Int is a boolean (0 or 1), an integer, a date or a time.
	Int int64
	// Float is a Float32 or a Float64.
	Float float64
	// High and Low are the halves of an unscaled Decimal.
	High int64
	Low  uint64
	// Bytes are of text, binary, fixed and UUIDs.
	Bytes []byte
}

// Values reads a key of AppendKey. The values may alias it.
func (s *Spec) Values(key []byte) []Value {
	values := make([]Value, len(s.fields))
	for i := range s.fields {
		present := key[0] == 1
		key = key[1:]
		if !present {
			values[i].Null = true
			continue
		}
		key = values[i].read(s.fields[i].Result(), key)
	}
	return values
}

func (v *Value) read(t columns.Type, key []byte) (rest []byte) {
	switch t.Kind {
	case columns.Bool:
		v.Int = int64(key[0])
		return key[1:]
	case columns.Int32, columns.Date:
		v.Int = int64(int32(binary.LittleEndian.Uint32(key)))
		return key[4:]
	case columns.Float32:
		v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(key)))
		return key[4:]
	case columns.Float64:
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(key))
		return key[8:]
	case columns.Decimal:
		v.Low, v.High = binary.LittleEndian.Uint64(key), int64(binary.LittleEndian.Uint64(key[8:]))
		return key[16:]
	case columns.String, columns.Binary, columns.Fixed, columns.UUID:
		n, k := binary.Uvarint(key)
		v.Bytes = key[k : k+int(n)]
		return key[k+int(n):]
	}
	v.Int = int64(binary.LittleEndian.Uint64(key))
	return key[8:]
}

// JSON is the values of a key by field id, in the specification's JSON form (Appendix C, JSON single-value serialization).
// NaN and the infinities, which JSON has no numbers for, are "NaN", "Infinity" and "-Infinity", as the reference
// implementation writes them.
func (s *Spec) JSON(key []byte) map[int]json.RawMessage {
	m := make(map[int]json.RawMessage, len(s.fields))
	for i, v := range s.Values(key) {
		m[s.fields[i].ID] = json.RawMessage(v.json(s.fields[i].Result()))
	}
	return m
}

func (v *Value) json(t columns.Type) string {
	if v.Null {
		return "null"
	}
	switch t.Kind {
	case columns.Bool:
		return strconv.FormatBool(v.Int == 1)
	case columns.Float32, columns.Float64:
		return jsonFloat(v.Float, t)
	case columns.Int32, columns.Int64:
		return strconv.FormatInt(v.Int, 10)
	}
	text, _ := json.Marshal(v.text(t)) // a string always has a JSON form
	return string(text)
}

func jsonFloat(f float64, t columns.Type) string {
	switch {
	case f != f:
		return `"NaN"`
	case math.IsInf(f, 0):
		return map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[f > 0]
	case f == 0 && math.Signbit(f):
		return "-0.0"
	}
	return strconv.FormatFloat(f, 'g', -1, bits(t))
}

func bits(t columns.Type) int {
	if t.Kind == columns.Float32 {
		return 32
	}
	return 64
}

// text is the value of a type whose JSON form is a string.
func (v *Value) text(t columns.Type) string {
	switch t.Kind {
	case columns.Date:
		year, month, day := civil(v.Int)
		return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	case columns.Time:
		return time.UnixMicro(v.Int).UTC().Format("15:04:05.999999")
	case columns.Timestamp:
		return time.UnixMicro(v.Int).UTC().Format("2006-01-02T15:04:05.999999")
	case columns.TimestampTZ:
		return time.UnixMicro(v.Int).UTC().Format("2006-01-02T15:04:05.999999") + "+00:00"
	case columns.Decimal:
		return plain(bigDecimal(v.High, v.Low), t.Scale)
	case columns.UUID:
		return uuid.UUID(v.Bytes).String()
	case columns.Binary, columns.Fixed:
		return hex.EncodeToString(v.Bytes)
	}
	return string(v.Bytes)
}

// plain writes an unscaled decimal with its point.
func plain(v *big.Int, scale int) string {
	digits, sign := new(big.Int).Abs(v).String(), ""
	if v.Sign() < 0 {
		sign = "-"
	}
	if scale <= 0 {
		return sign + digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// Read is a field's value in the form of JSON.
func (f *Field) Read(text json.RawMessage) (v Value, err error) {
	t := f.Result()
	if string(text) == "null" {
		return Value{Null: true}, nil
	}
	switch t.Kind {
	case columns.Bool:
		var b bool
		if err = json.Unmarshal(text, &b); b {
			v.Int = 1
		}
	case columns.Int32, columns.Int64:
		err = json.Unmarshal(text, &v.Int)
	case columns.Float32, columns.Float64:
		v.Float, err = strconv.ParseFloat(string(bytes.Trim(text, `"`)), bits(t))
	default:
		var s string
		if err = json.Unmarshal(text, &s); err == nil {
			err = v.parse(t, s)
		}
	}
	if err != nil {
		return v, fmt.Errorf("partition field %s: %s is no %s: %w", f.Name, text, t.Kind, err)
	}
	return v, nil
}

// parse reads what text writes.
func (v *Value) parse(t columns.Type, s string) (err error) {
	switch t.Kind {
	case columns.Date:
		v.Int, err = daysOf(s)
	case columns.Time:
		v.Int, err = clock(s)
	case columns.Timestamp, columns.TimestampTZ:
		v.Int, err = microsOf(strings.TrimSuffix(s, "+00:00"))
	case columns.Decimal:
		n, ok := new(big.Int).SetString(strings.Replace(s, ".", "", 1), 10)
		if !ok {
			return fmt.Errorf("no digits")
		}
		v.High, v.Low = halves(n)
	case columns.UUID:
		var u uuid.UUID
		u, err = uuid.Parse(s)
		v.Bytes = u[:]
	case columns.Binary, columns.Fixed:
		v.Bytes, err = hex.DecodeString(s)
	default:
		v.Bytes = []byte(s)
	}
	return err
}

// daysOf reads a date of a year that may have a sign and more than four digits, as text writes it.
func daysOf(s string) (int64, error) {
	year, rest, ok := strings.Cut(strings.TrimPrefix(s, "-"), "-")
	if !ok {
		return 0, fmt.Errorf("no date")
	}
	y, err := strconv.ParseInt(year, 10, 32)
	if err != nil {
		return 0, err
	}
	if strings.HasPrefix(s, "-") {
		y = -y
	}
	cycles := floorDiv(y-2000, 400) // the calendar repeats itself after so many years
	t, err := time.Parse("2006-01-02", fmt.Sprintf("%04d-%s", y-400*cycles, rest))
	return t.Unix()/86400 + cycles*146097, err
}

func clock(s string) (int64, error) {
	t, err := time.Parse("2006-01-02T15:04:05", "1970-01-01T"+s)
	return t.UnixMicro(), err
}

func microsOf(s string) (int64, error) {
	date, rest, _ := strings.Cut(s, "T")
	days, err := daysOf(date)
	if err != nil {
		return 0, err
	}
	micros, err := clock(rest)
	return days*microsOfDay + micros, err
}

// Human is the value of a field as the reference implementation writes it into the names of folders.
func (f *Field) Human(v Value) string {
	switch {
	case v.Null || f.Transform == layout.Void:
		return "null"
	case f.Transform == layout.Year:
		return fmt.Sprintf("%04d", 1970+v.Int)
	case f.Transform == layout.Month:
		year := floorDiv(v.Int, 12)
		return fmt.Sprintf("%04d-%02d", 1970+year, 1+v.Int-12*year)
	case f.Transform == layout.Hour:
		year, month, day := civil(floorDiv(v.Int, 24))
		return fmt.Sprintf("%04d-%02d-%02d-%02d", year, month, day, v.Int-24*floorDiv(v.Int, 24))
	}
	return v.human(f.Result())
}

func (v *Value) human(t columns.Type) string {
	switch t.Kind {
	case columns.Bool:
		return strconv.FormatBool(v.Int == 1)
	case columns.Int32, columns.Int64:
		return strconv.FormatInt(v.Int, 10)
	case columns.Float32, columns.Float64:
		return javaFloat(v.Float, bits(t))
	case columns.Time:
		return javaClock(v.Int)
	case columns.Timestamp, columns.TimestampTZ:
		day := floorDiv(v.Int, microsOfDay)
		text := (&Value{Int: day}).text(columns.Type{Kind: columns.Date}) + "T" + javaClock(v.Int-day*microsOfDay)
		if t.Kind == columns.TimestampTZ {
			text += "Z"
		}
		return text
	case columns.Binary, columns.Fixed:
		return base64.StdEncoding.EncodeToString(v.Bytes)
	}
	return v.text(t)
}

// javaClock writes a time as java.time.LocalTime does: without seconds that are zero, with three or six digits of a fraction.
func javaClock(micros int64) string {
	t := time.UnixMicro(micros).UTC()
	switch {
	case micros%1000 != 0:
		return t.Format("15:04:05.000000")
	case micros%1000000 != 0:
		return t.Format("15:04:05.000")
	case micros%60000000 != 0:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// javaFloat writes a number as java.lang.Double.toString does: 1.0, 1.0E10, 1.0E-4.
func javaFloat(f float64, bits int) string {
	switch size := math.Abs(f); {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case size != 0 && (size < 1e-3 || size >= 1e7):
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent) // FormatFloat wrote it
		return mantissa + "E" + strconv.Itoa(n)
	}
	text := strconv.FormatFloat(f, 'f', -1, bits)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
