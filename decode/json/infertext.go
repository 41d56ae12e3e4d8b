package json

import (
	"bytes"
	"math"
	"strconv"

	"sluice/columns"
	"sluice/decode/malformed"
)

// use is a set of what texts might be besides text.
type use uint16

const (
	asTimestamp use = 1 << iota // TIMESTAMP takes it
	zoned                       // and it has a zone
	asLocal                     // TIMESTAMP_NTZ takes it
	cut                         // TIMESTAMP takes it, perhaps with its fraction cut
	asDate
	asTime
	asUUID
	asNumber
	asJSON       // an array or object, as text
	everyUse use = 1<<iota - 1
)

// texts is what the texts in one place have in common.
type texts struct {
	// may is what all of them may be but for those that are empty.
	may use
	// empty counts those without a character.
	empty tally
	// numbers is about texts that are numbers.
	numbers numbers
}

func (t *texts) add(text []byte, p *probe, place string) {
	if len(text) == 0 {
		t.empty.add(tally{1, place})
		return
	}
	if t.may == 0 {
		return
	}
	t.may &= p.uses(text)
	if t.may&asNumber != 0 {
		t.numbers.add(text, place)
	}
}

func (t *texts) merge(other *texts) {
	t.may &= other.may
	t.empty.add(other.empty)
	t.numbers.merge(&other.numbers)
}

// probe tells what a text may be, by trying to read it as columns do.
type probe struct {
	parser *Parser
	into   []columns.Array
	limit  int
}

// newProbe makes a probe for the ways of writing that the options name.
func newProbe(o Options) (*probe, error) {
	o.Formats, o.Unknown = nil, nil
	var schema columns.Schema
	for _, kind := range []columns.Kind{columns.TimestampTZ, columns.Date, columns.Time, columns.UUID} {
		schema = append(schema, columns.Field{Name: kind.String(), Type: columns.Type{Kind: kind}})
	}
	local := append(schema[:len(schema):len(schema)], columns.Field{Name: "local", Type: columns.Type{Kind: columns.Timestamp}})
	parser, err := Compile(local, o)
	if err != nil { // a pattern with a zone
		parser, err = Compile(schema, o)
	}
	if err != nil {
		return nil, err
	}
	return &probe{parser: parser, into: columns.Make(parser.schema), limit: min(o.MaxDepth, typesDepth)}, nil
}

var useOf = map[columns.Kind]use{columns.TimestampTZ: asTimestamp | cut, columns.Timestamp: asLocal, columns.Date: asDate, columns.Time: asTime, columns.UUID: asUUID}

// longestTime bounds the texts that may be a time: a nanosecond with an offset has 35 characters, and patterns may add text.
const longestTime = 128

func (p *probe) uses(text []byte) use {
	var uses use
	if size, whole := numeralSize(text); whole && size == len(text) {
		uses |= asNumber
	}
	if text[0] == '{' || text[0] == '[' {
		s := scanner{b: text, limit: p.limit}
		if s.skip() && s.space() == 0 && s.i == len(text) {
			uses |= asJSON
		}
		return uses
	}
	if len(text) > longestTime {
		return uses
	}
	for i := range p.parser.root.children {
		uses |= p.try(&p.parser.root.children[i], &p.into[i], text)
	}
	return uses
}

// try reads the text as a column.
func (p *probe) try(n *node, a *columns.Array, text []byte) use {
	if n.reads != readsText {
		return 0
	}
	a.Reset()
	if p.parser.scalar(n, a, text, 0) {
		if n.kind == columns.TimestampTZ && p.parser.moment.zoned {
			return asTimestamp | cut | zoned
		}
		return useOf[n.kind]
	}
	if n.kind == columns.TimestampTZ && p.parser.fault.Reason == malformed.Lossy {
		return cut
	}
	return 0
}

// numbers is what the numbers in one place need.
type numbers struct {
	// integers and fractions are told apart by how they are written: 5.0 and 5e0 are fractions.
	integers, fractions tally
	// before and behind are the most digits on either side of the point, digits the most significant ones.
	before, behind, digits int
	// wide is the first integer beyond 32 bits, huge the first beyond 64, beyond the first number beyond DOUBLE; each in
	// the place where it was found.
	wide, huge, beyond tally
	// least and most are, about, the ends of the range.
	least, most float64
}

// far is a number of digits that no column has.
const far = 1000

func (n *numbers) add(text []byte, place string) {
	x := readExact(text)
	n.before = max(n.before, int(min(max(x.digits+x.exponent, 0), far)))
	n.behind = max(n.behind, int(min(max(-x.exponent, 0), far)), written(text))
	n.digits = max(n.digits, int(min(x.digits, far)))
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		n.beyond.add(tally{1, place})
	}
	if n.integers.count+n.fractions.count == 0 {
		n.least, n.most = v, v
	}
	n.least, n.most = min(n.least, v), max(n.most, v)
	if isFraction(text) {
		n.fractions.add(tally{1, place})
		return
	}
	n.integers.add(tally{1, place})
	high, low, reason := x.scaled(0, maxDigits)
	whole, fits := narrow(high, low)
	switch {
	case reason != "" || !fits:
		n.huge.add(tally{1, place})
	case whole < math.MinInt32 || whole > math.MaxInt32:
		n.wide.add(tally{1, place})
	}
}

// written is how many digits stand behind the point, also if they are zero: 12.50 is an amount of cents.
func written(text []byte) int {
	_, fraction, _ := bytes.Cut(text, []byte("."))
	return min(digitsEnd(fraction, 0), far)
}

func isFraction(text []byte) bool {
	for _, c := range text {
		if c == '.' || c|0x20 == 'e' {
			return true
		}
	}
	return false
}

func (n *numbers) merge(other *numbers) {
	if other.integers.count+other.fractions.count == 0 {
		return
	}
	if n.integers.count+n.fractions.count == 0 {
		n.least, n.most = other.least, other.most
	}
	n.least, n.most = min(n.least, other.least), max(n.most, other.most)
	n.before, n.behind, n.digits = max(n.before, other.before), max(n.behind, other.behind), max(n.digits, other.digits)
	n.integers.add(other.integers)
	n.fractions.add(other.fractions)
	n.wide.add(other.wide)
	n.huge.add(other.huge)
	n.beyond.add(other.beyond)
}
