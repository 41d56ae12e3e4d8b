package demo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Order is one sample order: about 250 bytes of JSON, keyed by customer.
type Order struct {
	Customer string
	Value    []byte
	Time     time.Time
}

var (
	opening = time.Date(2026, time.November, 1, 8, 0, 0, 0, time.UTC)
	places  = []string{"Porto 4050", "Lyon 69002", "Zürich 8004", "Kraków 30-001", "Oslo 0150", "Dublin D02", "Graz 8010", "Turin 10121"}
	goods   = []string{"tea-assam", "tea-sencha", "mug-blue", "mug-white", "kettle-1l", "honey-500g", "filter-100", "scale-2kg"}
)

const customers = 400

// OrderOf is order i, the same whenever it is asked for. Orders are some seconds apart.
func OrderOf(i int) Order {
	dice := rand.New(rand.NewPCG(0x51c1ce, uint64(i)))
	o := Order{Customer: fmt.Sprintf("c-%04d", dice.IntN(customers)), Time: opening.Add(time.Duration(i)*3*time.Second + time.Duration(dice.IntN(3000))*time.Millisecond)}
	city, zip, _ := strings.Cut(places[dice.IntN(len(places))], " ")
	var items []string
	cents := 0
	for range 1 + dice.IntN(3) {
		n := 1 + dice.IntN(4)
		cents += n * (290 + dice.IntN(4000))
		items = append(items, fmt.Sprintf(`{"sku":"%s","qty":%d}`, goods[dice.IntN(len(goods))], n))
	}
	o.Value = fmt.Appendf(nil, `{"order_id":"o-%06d","customer_id":"%s","amount":%d.%02d,"currency":"EUR","event_time":"%s","address":{"city":"%s","zip":"%s"},"items":[%s]}`,
		i+1, o.Customer, cents/100, cents%100, o.Time.Format("2006-01-02T15:04:05.000Z"), city, zip, strings.Join(items, ","))
	return o
}

// CarelessEvery is how many orders of Careless there are to one with a mistake, CarelessFirst the first of those.
const (
	CarelessEvery = 1500
	CarelessFirst = 700
)

// Careless is order i of a producer with a mistake: of some orders the amount is text.
func Careless(i int) Order {
	o := OrderOf(i)
	if i%CarelessEvery == CarelessFirst {
		before, after, _ := bytes.Cut(o.Value, []byte(`"amount":`))
		amount, rest, _ := bytes.Cut(after, []byte(","))
		o.Value = fmt.Appendf(nil, `%s"amount":"%s",%s`, before, amount, rest)
	}
	return o
}

// WithChannel is order i of a producer that has gone on: it has a field more.
func WithChannel(i int) Order {
	o := OrderOf(i)
	o.Value = fmt.Appendf(o.Value[:len(o.Value)-1], `,"channel":"%s"}`, []string{"web", "app", "shop"}[i%3])
	return o
}
