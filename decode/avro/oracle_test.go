package avro_test

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
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
	schema string
	tree   any
	names  map[string]any
	in     *bytes.Reader
}

func newOracle(schema string) *oracle {
	o := &oracle{schema: schema, names: map[string]any{}}
	if err := stdjson.Unmarshal([]byte(schema), &o.tree); err != nil {
		panic(err)
	}
	o.define(o.tree)
	return o
}

// row reads a record into a row.
func (o *oracle) row(to columns.Schema, value []byte) ([]any, error) {
	o.in = bytes.NewReader(value)
	row, err := o.read(o.tree, &columns.Field{Type: columns.Type{Kind: columns.Struct, Fields: to}, Required: true})
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
