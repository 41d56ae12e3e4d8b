package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// corpus is the content of a topic. Two corpora of the same parameters hold the same records.
type corpus struct {
	Records    int64 `json:"records"`
	Partitions int32 `json:"partitions"`
	// Random is the size of values of random bytes, which nothing compresses; 0 for orders.
	Random int `json:"random,omitempty"`
}

// corpusVersion is raised when the records change, so that a topic kept from before is not taken for the new one.
const corpusVersion = 1

// topic is the name under which the corpus is kept between runs of the benchmark.
func (c corpus) topic() string {
	if c.Random > 0 {
		return fmt.Sprintf("bench-random-v%d-%dx%d-%d", corpusVersion, c.Records, c.Partitions, c.Random)
	}
	return fmt.Sprintf("bench-orders-v%d-%dx%d-zstd", corpusVersion, c.Records, c.Partitions)
}

// each is the number of records of one partition.
func (c corpus) each() int64 { return c.Records / int64(c.Partitions) }

// String names the corpus to people.
func (c corpus) String() string {
	what := "orders"
	if c.Random > 0 {
		what = fmt.Sprintf("records of %s random bytes", thousands(int64(c.Random)))
	}
	return fmt.Sprintf("%s %s in %s partitions", thousands(c.Records), what, thousands(int64(c.Partitions)))
}

// orders makes the records of one partition in their order. Its key and value are valid until the next call.
type orders struct {
	rng       *rand.Rand
	noise     *rand.ChaCha8 // nil for orders
	partition int32
	n         int64
	key       []byte
	value     []byte
}

func newOrders(partition int32, random int) *orders {
	o := &orders{rng: rand.New(rand.NewPCG(uint64(partition), corpusVersion)), partition: partition}
	if random > 0 {
		o.noise, o.value = rand.NewChaCha8([32]byte{byte(partition), byte(partition >> 8), corpusVersion}), make([]byte, random)
	}
	return o
}

// epoch is the time of the first record of each partition; the next ones follow every three milliseconds.
var epoch = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// places and products are words of a small shop: real orders repeat themselves about as much.
var (
	places   = []string{"Amsterdam", "Berlin", "Chennai", "Dublin", "Edinburgh", "Florence", "Geneva", "Hamburg", "Istanbul", "Jakarta", "Kyoto", "Lisbon"}
	products = []string{"paper", "glass", "cable", "lamp", "chair", "bottle", "brush", "frame", "clock", "towel", "basket", "candle"}
	states   = []string{"placed", "paid", "packed", "shipped", "returned"}
)

// next makes the next record: an order in JSON of about 250 bytes, or noise.
func (o *orders) next() (key, value []byte, at time.Time) {
	at = epoch.Add(time.Duration(o.n) * 3 * time.Millisecond)
	customer := o.rng.IntN(1_000_000)
	o.key = fmt.Appendf(o.key[:0], "c-%06d", customer)
	if o.noise != nil {
		o.n++
		_, _ = o.noise.Read(o.value) // it never fails
		return o.key, o.value, at
	}
	b := append(o.value[:0], `{"order_id":"`...)
	b = fmt.Appendf(b, `%02d-%09d","customer_id":%d,"status":"%s","amount":%d.%02d,"currency":"EUR","event_time":"`,
		o.partition, o.n, customer, pick(o.rng, states), o.rng.IntN(1000), o.rng.IntN(100))
	b = at.AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = fmt.Appendf(b, `","address":{"city":"%s","zip":"%05d"},"items":[`, pick(o.rng, places), o.rng.IntN(100_000))
	for i := range 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"sku":"`...)
		b = append(append(b, pick(o.rng, products)...), '-')
		b = strconv.AppendInt(b, int64(1000+o.rng.IntN(9000)), 10)
		b = append(b, `","qty":`...)
		b = append(strconv.AppendInt(b, int64(1+o.rng.IntN(9)), 10), '}')
	}
	o.value = append(b, "]}"...)
	o.n++
	return o.key, o.value, at
}

func pick(rng *rand.Rand, words []string) string { return words[rng.IntN(len(words))] }
