package main

import (
	"log"
	"reflect"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
)

// appendOrder is what somebody writes for this one message.
func appendOrder(dst []columns.Array, o *Order) {
	dst[0].AppendBytes([]byte(o.OrderId))
	dst[1].AppendBytes([]byte(o.CustomerId))
	dst[2].AppendInt64(o.AmountCents)
	if t := o.EventTime; t != nil {
		dst[3].AppendInt64(t.Seconds*1e6 + int64(t.Nanos)/1000)
	} else {
		dst[3].AppendNothing(&columns.Type{Kind: columns.TimestampTZ})
	}
	dst[4].AppendBytes([]byte(Status_name[int32(o.Status)]))
	if a := o.Address; a != nil {
		dst[5].Children[0].AppendBytes([]byte(a.City))
		dst[5].Children[1].AppendBytes([]byte(a.Zip))
		dst[5].AppendStruct()
	} else {
		dst[5].Children[0].AppendNullBytes()
		dst[5].Children[1].AppendNullBytes()
		dst[5].AppendNull()
	}
	items := &dst[6].Children[0]
	for _, item := range o.Items {
		items.Children[0].AppendBytes([]byte(item.Sku))
		items.Children[1].AppendInt32(item.Qty)
		items.Children[2].AppendInt64(item.PriceCents)
		items.AppendStruct()
	}
	dst[6].AppendSpan()
	if o.Discount != nil {
		dst[7].AppendFloat64(*o.Discount)
	} else {
		dst[7].AppendNothing(&columns.Type{Kind: columns.Float64})
	}
	tags := &dst[8].Children[0]
	for key, value := range o.Tags {
		tags.Children[0].AppendBytes([]byte(key))
		tags.Children[1].AppendBytes([]byte(value))
		tags.AppendStruct()
	}
	dst[8].AppendSpan()
}

// appendMessage does the same for any message of the kinds of fields that an order has.
func appendMessage(dst []columns.Array, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd, a := fields.Get(i), &dst[i]
		switch {
		case fd.IsMap():
			entries := &a.Children[0]
			m.Get(fd).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				appendValue(&entries.Children[0], fd.MapKey(), k.Value())
				appendValue(&entries.Children[1], fd.MapValue(), v)
				entries.AppendStruct()
				return true
			})
			a.AppendSpan()
		case fd.IsList():
			list := m.Get(fd).List()
			for k := range list.Len() {
				appendValue(&a.Children[0], fd, list.Get(k))
			}
			a.AppendSpan()
		case fd.HasPresence() && !m.Has(fd):
			a.AppendNothing(typeOf(a))
		default:
			appendValue(a, fd, m.Get(fd))
		}
	}
}

func typeOf(a *columns.Array) *columns.Type {
	t := &columns.Type{Kind: a.Kind}
	for i := range a.Children {
		t.Fields = append(t.Fields, columns.Field{Type: *typeOf(&a.Children[i])})
	}
	return t
}

func appendValue(a *columns.Array, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		a.AppendBytes([]byte(v.String()))
	case protoreflect.EnumKind:
		a.AppendBytes([]byte(fd.Enum().Values().ByNumber(v.Enum()).Name()))
	case protoreflect.Int32Kind:
		a.AppendInt32(int32(v.Int()))
	case protoreflect.Int64Kind:
		a.AppendInt64(v.Int())
	case protoreflect.DoubleKind:
		a.AppendFloat64(v.Float())
	case protoreflect.MessageKind:
		if a.Kind == columns.TimestampTZ {
			fields := fd.Message().Fields()
			a.AppendInt64(v.Message().Get(fields.Get(0)).Int()*1e6 + v.Message().Get(fields.Get(1)).Int()/1000)
			return
		}
		appendMessage(a.Children, v.Message())
		a.AppendStruct()
	default:
		log.Fatalf("%s: %s", fd.FullName(), fd.Kind())
	}
}

// agree holds the columns of all contenders that fill them against ours.
func agree(contenders []*contender, rows [][]byte) {
	want := contenders[0].filled(rows)
	for _, c := range contenders {
		if strings.HasSuffix(c.name, "-> columns") && !reflect.DeepEqual(c.filled(rows), want) {
			log.Fatalf("%s reads other values", c.name)
		}
	}
}

func (c *contender) filled(rows [][]byte) []columns.Array {
	if err := c.decode(rows); err != nil {
		log.Fatalf("%s: %v", c.name, err)
	}
	return c.columns
}
