package verify

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// folderPartition is a level of a folder's folders.
type folderPartition struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
	Source    int    `json:"source"`
}

// element is the column in a footer.
func (c *folderColumn) element() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, FieldID: int32(c.ID), RepetitionType: thrift.New(format.Optional)}
	if c.Required {
		e.RepetitionType = thrift.New(format.Required)
	}
	kind, width := c.physical()
	e.Type = thrift.New(kind)
	if width > 0 {
		e.TypeLength = thrift.New(int32(width))
	}
	micros := format.TimeUnit{Value: &format.MicroSeconds{}}
	switch c.Kind {
	case columns.String:
		e.LogicalType.Value, e.ConvertedType = &format.StringType{}, thrift.New(deprecated.UTF8)
	case columns.Decimal:
		e.LogicalType.Value, e.ConvertedType = &format.DecimalType{Scale: int32(c.Scale), Precision: int32(c.Precision)}, thrift.New(deprecated.Decimal)
		e.Scale, e.Precision = thrift.New(int32(c.Scale)), thrift.New(int32(c.Precision))
	case columns.Date:
		e.LogicalType.Value, e.ConvertedType = &format.DateType{}, thrift.New(deprecated.Date)
	case columns.Time:
		e.LogicalType.Value, e.ConvertedType = &format.TimeType{Unit: micros}, thrift.New(deprecated.TimeMicros)
	case columns.Timestamp, columns.TimestampTZ:
		e.LogicalType.Value, e.ConvertedType = &format.TimestampType{IsAdjustedToUTC: c.Kind == columns.TimestampTZ, Unit: micros}, thrift.New(deprecated.TimestampMicros)
	case columns.UUID:
		e.LogicalType.Value = &format.UUIDType{}
	}
	return e
}

// physical is the type of the values, and their width where the type does not say it.
func (c *folderColumn) physical() (format.Type, int) {
	switch c.Kind {
	case columns.Bool:
		return format.Boolean, 0
	case columns.Int32, columns.Date:
		return format.Int32, 0
	case columns.Float32:
		return format.Float, 0
	case columns.Float64:
		return format.Double, 0
	case columns.String:
		return format.ByteArray, 0
	case columns.UUID:
		return format.FixedLenByteArray, 16
	case columns.Decimal:
		return format.FixedLenByteArray, 16
	}
	return format.Int64, 0
}

// plain reads a value in the JSON form of the table format (Iceberg specification, Appendix C) and writes it as Parquet's PLAIN
// encoding does; nil for null.
func (c *folderColumn) plain(value json.RawMessage) ([]byte, error) {
	if string(value) == "null" {
		return nil, nil
	}
	text := string(bytes.Trim(value, `"`))
	switch c.Kind {
	case columns.Bool:
		v, err := strconv.ParseBool(text)
		return []byte{map[bool]byte{true: 1}[v]}, err
	case columns.Int32:
		v, err := strconv.ParseInt(text, 10, 32)
		return binary.LittleEndian.AppendUint32(nil, uint32(v)), err
	case columns.Int64:
		v, err := strconv.ParseInt(text, 10, 64)
		return binary.LittleEndian.AppendUint64(nil, uint64(v)), err
	case columns.Float32:
		v, err := strconv.ParseFloat(text, 32)
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))), err
	case columns.Float64:
		v, err := strconv.ParseFloat(text, 64)
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), err
	}
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, err
	}
	return c.plainText(text)
}

// plainText is plain for values whose JSON form is a text.
func (c *folderColumn) plainText(text string) ([]byte, error) {
	switch c.Kind {
	case columns.String:
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), nil
	case columns.UUID:
		id, err := uuid.Parse(text)
		return id[:], err
	case columns.Decimal:
		n, ok := new(big.Int).SetString(strings.Replace(text, ".", "", 1), 10)
		if !ok || n.BitLen() > 127 {
			return nil, fmt.Errorf("it is no decimal")
		}
		if n.Sign() < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		return n.FillBytes(make([]byte, 16)), nil
	case columns.Date:
		days, err := daysOf(text)
		return binary.LittleEndian.AppendUint32(nil, uint32(int32(days))), err
	case columns.Time:
		micros, err := clock(text)
		return binary.LittleEndian.AppendUint64(nil, uint64(micros)), err
	case columns.Timestamp, columns.TimestampTZ:
		date, rest, _ := strings.Cut(strings.TrimSuffix(text, "+00:00"), "T")
		days, err := daysOf(date)
		if err != nil {
			return nil, err
		}
		micros, err := clock(rest)
		return binary.LittleEndian.AppendUint64(nil, uint64(days*24*time.Hour.Microseconds()+micros)), err
	}
	return nil, fmt.Errorf("a %s is no partition", c.Kind)
}

func clock(text string) (int64, error) {
	t, err := time.Parse("2006-01-02T15:04:05", "1970-01-01T"+text)
	return t.UnixMicro(), err
}

// daysOf is the days from 1970 to a date, whose year may be any.
func daysOf(text string) (int64, error) {
	var year, month, day int
	if n, err := fmt.Sscanf(text, "%d-%d-%d", &year, &month, &day); n != 3 || err != nil {
		return 0, fmt.Errorf("it is no date")
	}
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() / int64(24*time.Hour/time.Second), nil
}
