package avro_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// The oracle reads values slowly and, as far as can be seen, rightly: the schema is the tree that encoding/json makes of
// it, and each value becomes what the column says with math/big. A nil column is a field that the table has not.

var (
	errMalformed = errors.New("malformed")
	// errEndless is for counts that only a value without bytes can have; what becomes of these is not compared.
	errEndless = errors.New("endless")
)

type oracle struct {
	names map[string]any
	in    *bytes.Reader
}

// oracleRow reads a record into a row.
func oracleRow(schema string, to columns.Schema, value []byte) ([]any, error) {
	var tree any
	if err := stdjson.Unmarshal([]byte(schema), &tree); err != nil {
		panic(err)
	}
	o := &oracle{names: map[string]any{}, in: bytes.NewReader(value)}
	o.define(tree)
	row, err := o.read(tree, &columns.Field{Type: columns.Type{Kind: columns.Struct, Fields: to}, Required: true})
	switch {
	case err != nil:
		return nil, err
	case o.in.Len() > 0:
		return nil, errMalformed
	}
	return row.([]any), nil
}

// define finds the named types; the schemas of the tests have no namespaces.
func (o *oracle) define(tree any) {
	switch t := tree.(type) {
	case []any:
		for _, b := range t {
			o.define(b)
		}
	case map[string]any:
		if name, ok := t["name"].(string); ok && (t["fields"] != nil || t["symbols"] != nil || t["size"] != nil) {
			o.names[name] = t
		}
		for _, part := range []string{"type", "items", "values", "fields"} {
			o.define(t[part])
		}
	}
}

// kindOf is the type's name, its attributes and its logical type.
func (o *oracle) kindOf(schema any) (string, map[string]any, string) {
	switch t := schema.(type) {
	case string:
		if named, ok := o.names[t]; ok {
			return o.kindOf(named)
		}
		return t, nil, ""
	case []any:
		return "union", map[string]any{"branches": t}, ""
	}
	t := schema.(map[string]any)
	logical, _ := t["logicalType"].(string)
	return t["type"].(string), t, logical
}

func (o *oracle) long() (int64, error) {
	u, err := binary.ReadUvarint(o.in)
	if err != nil {
		return 0, errMalformed
	}
	v := int64(u / 2)
	if u%2 == 1 {
		v = -v - 1
	}
	return v, nil
}

func (o *oracle) int() (int64, error) {
	before := o.in.Len()
	v, err := o.long()
	if err != nil || before-o.in.Len() > 5 || v != int64(int32(v)) {
		return 0, errMalformed
	}
	return v, nil
}

func (o *oracle) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(o.in.Len()) {
		return nil, errMalformed
	}
	v := make([]byte, n)
	_, err := io.ReadFull(o.in, v)
	return v, err
}

func (o *oracle) sized() ([]byte, error) {
	n, err := o.long()
	if err != nil {
		return nil, err
	}
	return o.take(n)
}

func (o *oracle) read(schema any, to *columns.Field) (any, error) {
	kind, attributes, logical := o.kindOf(schema)
	switch kind {
	case "union":
		return o.union(attributes["branches"].([]any), to)
	case "null":
		if to != nil && to.Required {
			return nil, errMalformed
		}
		return nil, nil
	case "record":
		return o.record(attributes["fields"].([]any), to)
	case "array":
		return o.array(attributes["items"], to)
	case "map":
		return o.mapping(attributes["values"], to)
	}
	v, err := o.scalar(kind, attributes)
	if err != nil || to == nil {
		return nil, err
	}
	return convert(v, kind, logical, attributes, &to.Type)
}

func (o *oracle) scalar(kind string, attributes map[string]any) (any, error) {
	switch kind {
	case "boolean":
		v, err := o.take(1)
		return v, err
	case "int":
		return anyOf(o.int())
	case "long":
		return anyOf(o.long())
	case "float":
		v, err := o.take(4)
		if err != nil {
			return nil, err
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(v)), nil
	case "double":
		v, err := o.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(v)), nil
	case "fixed":
		return anyOf(o.take(int64(attributes["size"].(float64))))
	case "enum":
		symbols := attributes["symbols"].([]any)
		if v, err := o.long(); err != nil || v < 0 || v >= int64(len(symbols)) {
			return nil, errMalformed
		} else {
			return symbols[v], nil
		}
	}
	return anyOf(o.sized())
}

func anyOf[T any](v T, err error) (any, error) { return v, err }

func (o *oracle) union(branches []any, to *columns.Field) (any, error) {
	index, err := o.long()
	if err != nil || index < 0 || index >= int64(len(branches)) {
		return nil, errMalformed
	}
	var others []any
	for _, b := range branches {
		if b != "null" {
			others = append(others, b)
		}
	}
	if to == nil || branches[index] == "null" || to.Type.Kind != columns.Struct || !strings.HasPrefix(to.Type.Fields[0].Name, "member") {
		return o.read(branches[index], to)
	}
	members := make([]any, len(to.Type.Fields))
	for i := range others {
		if index < int64(len(branches)) && slices.IndexFunc(branches, func(b any) bool { return sameTree(b, others[i]) }) == int(index) {
			k := slices.IndexFunc(to.Type.Fields, func(f columns.Field) bool { return f.Name == memberName(i) })
			members[k], err = o.read(branches[index], &to.Type.Fields[k])
		}
	}
	return members, err
}

func sameTree(a, b any) bool {
	x, _ := stdjson.Marshal(a)
	y, _ := stdjson.Marshal(b)
	return bytes.Equal(x, y)
}

func memberName(i int) string { return "member" + string(rune('0'+i)) }

func (o *oracle) record(fields []any, to *columns.Field) (any, error) {
	var row []any
	if to != nil {
		row = make([]any, len(to.Type.Fields))
	}
	for _, f := range fields {
		attributes := f.(map[string]any)
		k := -1
		if to != nil {
			k = slices.IndexFunc(to.Type.Fields, func(c columns.Field) bool { return c.Name == attributes["name"] })
		}
		var column *columns.Field
		if k >= 0 {
			column = &to.Type.Fields[k]
		}
		v, err := o.read(attributes["type"], column)
		if err != nil {
			return nil, err
		}
		if k >= 0 {
			row[k] = v
		}
	}
	return row, nil
}

// blocks calls item for each item of an array or a map. Where nothing is kept, a block that says how long it is is passed.
func (o *oracle) blocks(kept bool, item func() error) error {
	for {
		count, err := o.long()
		if err != nil || count == 0 {
			return err
		}
		left := -1
		if count < 0 {
			size, err := o.long()
			if err != nil || size < 0 || size > int64(o.in.Len()) || count == math.MinInt64 {
				return errMalformed
			}
			count, left = -count, o.in.Len()-int(size)
			if !kept {
				if count > 1<<16 {
					return errEndless
				}
				if _, err := o.take(size); err != nil {
					return err
				}
				continue
			}
		}
		for n := int64(0); n < count; n++ {
			if n > 1<<16 {
				return errEndless
			}
			if err := item(); err != nil {
				return err
			}
		}
		if left >= 0 && o.in.Len() != left {
			return errMalformed
		}
	}
}

func (o *oracle) array(items any, to *columns.Field) (any, error) {
	list := []any{}
	var element *columns.Field
	if to != nil {
		element = &to.Type.Fields[0]
	}
	err := o.blocks(to != nil, func() error {
		v, err := o.read(items, element)
		list = append(list, v)
		return err
	})
	return list, err
}

func (o *oracle) mapping(items any, to *columns.Field) (any, error) {
	entries, seen := []rowtest.Entry{}, map[string]bool{}
	var value *columns.Field
	if to != nil {
		value = &to.Type.Fields[1]
	}
	err := o.blocks(to != nil, func() error {
		key, err := o.sized()
		if err != nil {
			return err
		}
		if to != nil && (!utf8.Valid(key) || seen[string(key)]) {
			return errMalformed
		}
		seen[string(key)] = true
		v, err := o.read(items, value)
		entries = append(entries, rowtest.Entry{Key: string(key), Value: v})
		return err
	})
	return entries, err
}

// convert makes a value what a column holds.
func convert(v any, kind, logical string, attributes map[string]any, to *columns.Type) (any, error) {
	switch to.Kind {
	case columns.Bool:
		if b := v.([]byte)[0]; b < 2 {
			return b == 1, nil
		}
		return nil, errMalformed
	case columns.Int32, columns.Int64, columns.Float32, columns.Float64, columns.Date, columns.Time, columns.Timestamp, columns.TimestampTZ:
		return convertNumber(v, logical, to.Kind)
	case columns.Decimal:
		return convertDecimal(v.([]byte), attributes, to)
	}
	raw, isBytes := v.([]byte)
	switch {
	case !isBytes: // a symbol
		return v, nil
	case to.Kind == columns.String && !utf8.Valid(raw):
		return nil, errMalformed
	case to.Kind == columns.String:
		return string(raw), nil
	case to.Kind == columns.UUID && kind == "string":
		return textUUID(string(raw))
	}
	return raw, nil
}

var uuids = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

func textUUID(s string) (any, error) {
	if !uuids.MatchString(s) {
		return nil, errMalformed
	}
	return hex.DecodeString(strings.ReplaceAll(s, "-", ""))
}

func convertNumber(v any, logical string, to columns.Kind) (any, error) {
	var exact big.Float
	exact.SetPrec(200)
	switch v := v.(type) {
	case float32:
		if to == columns.Float64 {
			return float64(v), nil
		}
		return v, nil
	case float64:
		return v, nil
	case int64:
		exact.SetInt64(v)
		switch to {
		case columns.Int32:
			if v != int64(int32(v)) {
				return nil, errMalformed
			}
			return int32(v), nil
		case columns.Int64:
			return v, nil
		case columns.Float32:
			if f, accuracy := exact.Float32(); accuracy == big.Exact {
				return f, nil
			}
			return nil, errMalformed
		case columns.Float64:
			if f, accuracy := exact.Float64(); accuracy == big.Exact {
				return f, nil
			}
			return nil, errMalformed
		case columns.Date:
			if year := time.Unix(v*86400, 0).UTC().Year(); year < 1 || year > 9999 {
				return nil, errMalformed
			}
			return int32(v), nil
		}
		return convertTime(v, logical, to)
	}
	panic("no number")
}

func convertTime(v int64, logical string, to columns.Kind) (any, error) {
	nanos := big.NewInt(v)
	for unit, times := range map[string]int64{"millis": 1_000_000, "micros": 1000} {
		if strings.HasSuffix(logical, unit) {
			nanos.Mul(nanos, big.NewInt(times))
		}
	}
	micros, rest := new(big.Int).QuoRem(nanos, big.NewInt(1000), new(big.Int))
	if rest.Sign() != 0 || !micros.IsInt64() {
		return nil, errMalformed
	}
	m := micros.Int64()
	year := time.UnixMicro(m).UTC().Year()
	if to == columns.Time && (m < 0 || m >= 86_400_000_000) || year < 1 || year > 9999 {
		return nil, errMalformed
	}
	return m, nil
}

func convertDecimal(raw []byte, attributes map[string]any, to *columns.Type) (any, error) {
	if len(raw) == 0 {
		return nil, errMalformed
	}
	v := new(big.Int).SetBytes(raw)
	if raw[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	scale, _ := attributes["scale"].(float64)
	ten := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
	value := new(big.Rat).SetFrac(v, ten(int(scale)))
	value.Mul(value, new(big.Rat).SetInt(ten(to.Scale)))
	if !value.IsInt() || new(big.Int).Abs(value.Num()).Cmp(ten(to.Precision)) >= 0 {
		return nil, errMalformed
	}
	return new(big.Int).Set(value.Num()), nil
}
