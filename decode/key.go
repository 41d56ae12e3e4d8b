package decode

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
)

// Keys reads the keys of records into the column kafka_key, which is null where a record has no key.
type Keys struct {
	// Parser has the column as its only one, whatever its name; or, with Record, the fields of the STRUCT that it is.
	Parser Parser
	Record bool
}

// field is kafka_key. It may be null: so may a key, and what a malformed record leaves of itself.
func (k *Keys) field() columns.Field {
	f := columns.Field{Name: kafkaKey, Type: columns.Type{Kind: columns.Binary}}
	switch {
	case k == nil:
	case k.Record:
		f.Type = columns.Type{Kind: columns.Struct, Fields: k.Parser.Schema()}
	default:
		f.Type = k.Parser.Schema()[0].Type
	}
	return f
}

// append adds a key. A malformed one leaves dst as it was.
func (k *Keys) append(dst []columns.Array, key []byte) error {
	if !k.Record {
		return k.Parser.Append(dst, key)
	}
	if err := k.Parser.Append(dst[0].Children, key); err != nil {
		return err
	}
	dst[0].AppendStruct()
	return nil
}

// inKey puts the column's name before the path of a fault in a key.
func inKey(why *malformed.Error) *malformed.Error {
	there := *why
	switch {
	case why.Path == "" || strings.HasPrefix(why.Path, "["):
		there.Path = kafkaKey + why.Path
	default:
		there.Path = kafkaKey + "." + why.Path
	}
	return &there
}

// ofKey says whether a fault is one in a key: no other column has a name that begins like it.
func ofKey(why *malformed.Error) bool {
	rest, found := strings.CutPrefix(why.Path, kafkaKey)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// readsKeys says whether kafka_key is more than the bytes of the records.
func (t *Typed) readsKeys() bool { return t.options.Key != nil && !t.options.NoMetadata }

// key adds the key of a record whose value is a row already; nulled says of nulls, since it was malformed. A malformed key
// makes the record malformed, so that the policy decides about the whole row. The key itself is null then.
func (t *Typed) key(typed []columns.Array, records *columns.Records, row int, nulled bool) (bool, error) {
	into := t.rows.Columns[t.width : t.width+1]
	key, err := records.Key.Bytes(row), error(nil)
	if key != nil {
		err = t.options.Key.append(into, key)
	}
	switch {
	case err == nil && key != nil:
		return true, nil
	case key == nil || nulled && isMalformed(err):
		into[0].AppendNothing(&t.schema[t.width].Type)
		return true, nil
	}
	why, err := reasonOf(err, records, row)
	if err != nil {
		return false, err
	}
	columns.TruncateAll(typed, len(t.kept))
	keep, err := t.malformed(typed, records, row, inKey(why))
	if keep {
		into[0].AppendNothing(&t.schema[t.width].Type)
	}
	return keep, err
}

// reasonOf is why a record is malformed. Any other error is no fault of the record.
func reasonOf(err error, records *columns.Records, row int) (*malformed.Error, error) {
	var why *malformed.Error
	if !errors.As(err, &why) {
		return nil, fmt.Errorf("decode %s-%d at offset %d: %w", records.Topic, records.Partition, records.Offsets[row], err)
	}
	return why, nil
}

func isMalformed(err error) bool {
	var why *malformed.Error
	return errors.As(err, &why)
}

// ParseKeyType reads what kafka_key is: one type, such as BIGINT, or the columns of a STRUCT. Its errors are *ddl.Error.
func ParseKeyType(schema string) (columns.Type, error) {
	t, err := ddl.ParseType(schema)
	if err == nil || loneType.MatchString(schema) {
		return t, err
	}
	fields, err := ddl.Parse(schema)
	return columns.Type{Kind: columns.Struct, Fields: fields}, err
}

// loneType is what begins like a type and not like a column, which is two words.
var loneType = regexp.MustCompile(`^\s*\w+\s*([(<]|$)`)
