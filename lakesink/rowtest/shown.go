package rowtest

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"sluice/columns"
)

// ShownRow is row i of columns as people read it, such as {id: 7, name: "a", items: [{qty: null}]}.
func ShownRow(fields []columns.Field, arrays []columns.Array, i int) string {
	var parts []string
	for k := range fields {
		parts = append(parts, fields[k].Name+": "+Shown(&fields[k].Type, &arrays[k], i))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Shown is row i of one column in the same form: times by ISO 8601, decimals with their scale, bytes in hexadecimal.
func Shown(t *columns.Type, a *columns.Array, i int) string {
	v := Value(t, a, i)
	if v == nil {
		return "null"
	}
	switch t.Kind {
	case columns.Decimal:
		return new(big.Rat).SetFrac(v.(*big.Int), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)).FloatString(t.Scale)
	case columns.Date:
		return time.Unix(int64(v.(int32))*86400, 0).UTC().Format(time.DateOnly)
	case columns.Time:
		return time.UnixMicro(v.(int64)).UTC().Format("15:04:05.000000")
	case columns.Timestamp:
		return time.UnixMicro(v.(int64)).UTC().Format("2006-01-02T15:04:05.000000")
	case columns.TimestampTZ:
		return time.UnixMicro(v.(int64)).UTC().Format("2006-01-02T15:04:05.000000Z")
	case columns.String:
		return strconv.Quote(v.(string))
	case columns.Binary, columns.Fixed:
		return "0x" + hex.EncodeToString(v.([]byte))
	case columns.UUID:
		x := hex.EncodeToString(v.([]byte))
		return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
	case columns.Struct:
		return ShownRow(t.Fields, a.Children, i)
	case columns.List, columns.Map:
		return shownItems(t, a, i)
	}
	return fmt.Sprint(v)
}

func shownItems(t *columns.Type, a *columns.Array, i int) string {
	var items []string
	for from, until := a.Span(i); from < until; from++ {
		if t.Kind == columns.List {
			items = append(items, Shown(&t.Fields[0].Type, &a.Children[0], from))
			continue
		}
		pair := a.Children[0].Children
		items = append(items, Shown(&t.Fields[0].Type, &pair[0], from)+": "+Shown(&t.Fields[1].Type, &pair[1], from))
	}
	if t.Kind == columns.List {
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "{" + strings.Join(items, ", ") + "}"
}
