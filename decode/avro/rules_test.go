package avro_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

const (
	fixed2   = `{"type":"fixed","name":"F","size":2}`
	address  = `{"type":"record","name":"A","fields":[{"name":"c","type":["null","string"]},{"name":"n","type":"int"}]}`
	money    = `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`
	wide     = `{"type":"fixed","name":"W","size":16,"logicalType":"decimal","precision":38,"scale":2}`
	suits    = `{"type":"enum","name":"S","symbols":["SPADES","HEARTS"]}`
	bytesUID = `{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}`
)

// one reads a record of a single field a.
type one struct{ typ, ddl, hex, want string }

func TestEachTypeBecomesItsColumn(t *testing.T) {
	for name, c := range map[string]one{
		"boolean":                    {`"boolean"`, "a BOOLEAN NOT NULL", "01", "bool(true)"},
		"int":                        {`"int"`, "a INT NOT NULL", "ffffffff0f", "int32(-2147483648)"},
		"long":                       {`"long"`, "a BIGINT NOT NULL", "feffffffffffffffff01", "int64(9223372036854775807)"},
		"long, least":                {`"long"`, "a BIGINT NOT NULL", "ffffffffffffffffff01", "int64(-9223372036854775808)"},
		"long of 2^53+1":             {`"long"`, "a BIGINT NOT NULL", "8280808080808020", "int64(9007199254740993)"},
		"float":                      {`"float"`, "a FLOAT NOT NULL", "0000c03f", "float32(1.5)"},
		"double":                     {`"double"`, "a DOUBLE NOT NULL", "9a9999999999b93f", "float64(0.1)"},
		"double that is no number":   {`"double"`, "a DOUBLE NOT NULL", "010000000000f87f", "float64(NaN)"},
		"bytes":                      {`"bytes"`, "a BINARY NOT NULL", "0400ff", "x00ff"},
		"bytes, empty":               {`"bytes"`, "a BINARY NOT NULL", "00", "x"},
		"string":                     {`"string"`, "a STRING NOT NULL", "0e6772c3b6c39f65", `"größe"`},
		"string, empty":              {`"string"`, "a STRING NOT NULL", "00", `""`},
		"string with NUL":            {`"string"`, "a STRING NOT NULL", "0200", `"\x00"`},
		"enum":                       {suits, "a STRING NOT NULL", "02", `"HEARTS"`},
		"fixed":                      {fixed2, "a FIXED(2) NOT NULL", "beef", "xbeef"},
		"array":                      {`{"type":"array","items":"int"}`, "a ARRAY<INT NOT NULL> NOT NULL", "04 02 04 00", "[int32(1),int32(2),]"},
		"array, empty":               {`{"type":"array","items":"int"}`, "a ARRAY<INT NOT NULL> NOT NULL", "00", "[]"},
		"array in two blocks":        {`{"type":"array","items":"int"}`, "a ARRAY<INT NOT NULL> NOT NULL", "02 02 02 04 00", "[int32(1),int32(2),]"},
		"array whose block is sized": {`{"type":"array","items":"int"}`, "a ARRAY<INT NOT NULL> NOT NULL", "03 04 02 04 00", "[int32(1),int32(2),]"},
		"array of nulls and values":  {`{"type":"array","items":["null","int"]}`, "a ARRAY<INT> NOT NULL", "04 00 02 04 00", "[<nil>(<nil>),int32(2),]"},
		"map":                        {`{"type":"map","values":"int"}`, "a MAP<STRING, INT NOT NULL> NOT NULL", "04 0278 02 0279 04 00", `{"x":int32(1),"y":int32(2),}`},
		"map, empty":                 {`{"type":"map","values":"int"}`, "a MAP<STRING, INT NOT NULL> NOT NULL", "00", "{}"},
		"record":                     {address, "a STRUCT<c: STRING, n: INT NOT NULL> NOT NULL", "020278 02", `["x",int32(1),]`},
		"optional":                   {`["null","int"]`, "a INT", "0202", "int32(1)"},
		"optional, null":             {`["null","int"]`, "a INT", "00", "<nil>(<nil>)"},
		"optional, the other way":    {`["int","null"]`, "a INT", "0002", "int32(1)"},
		"optional, null, other way":  {`["int","null"]`, "a INT", "02", "<nil>(<nil>)"},
		"optional, padded index":     {`["null","int"]`, "a INT", "820002", "int32(1)"},
		"optional record, null":      {`["null",` + address + `]`, "a STRUCT<c: STRING, n: INT NOT NULL>", "00", "<nil>(<nil>)"},
		"union of int and long":      {`["int","long"]`, "a BIGINT NOT NULL", "0202", "int64(1)"},
		"union of float and double":  {`["double","null","float"]`, "a DOUBLE", "040000c03f", "float64(1.5)"},
		"union of one":               {`["int"]`, "a INT NOT NULL", "0002", "int32(1)"},
		"union":                      {`["string","int"]`, "a STRUCT<member0: STRING, member1: INT> NOT NULL", "0204", "[<nil>(<nil>),int32(2),]"},
		"union with null":            {`["string","null","int"]`, "a STRUCT<member0: STRING, member1: INT>", "0404", "[<nil>(<nil>),int32(2),]"},
		"union with null, null":      {`["string","null","int"]`, "a STRUCT<member0: STRING, member1: INT>", "02", "<nil>(<nil>)"},
		"union with a record":        {`["null",` + address + `,"long"]`, "a STRUCT<member0: STRUCT<c: STRING, n: INT NOT NULL>, member1: BIGINT>", "02 00 02", "[[<nil>(<nil>),int32(1),],<nil>(<nil>),]"},

		"date":                      {logical("int", "date"), "a DATE NOT NULL", "01", "int32(-1)"},
		"time-millis":               {logical("int", "time-millis"), "a TIME NOT NULL", "f8bbc603", "int64(3723004000)"},
		"time-micros":               {logical("long", "time-micros"), "a TIME NOT NULL", "feffbadd8305", "int64(86399999999)"},
		"timestamp-millis":          {logical("long", "timestamp-millis"), "a TIMESTAMP NOT NULL", "01", "int64(-1000)"},
		"timestamp-micros":          {logical("long", "timestamp-micros"), "a TIMESTAMP NOT NULL", "01", "int64(-1)"},
		"the last microsecond":      {logical("long", "timestamp-micros"), "a TIMESTAMP NOT NULL", "feff9ac79983a28407", "int64(253402300799999999)"},
		"the first second":          {logical("long", "timestamp-millis"), "a TIMESTAMP NOT NULL", "ffdfe6a2e2a01c", "int64(-62135596800000000)"},
		"timestamp-nanos":           {logical("long", "timestamp-nanos"), "a TIMESTAMP NOT NULL", "cf0f", "int64(-1)"},
		"local-timestamp-millis":    {logical("long", "local-timestamp-millis"), "a TIMESTAMP_NTZ NOT NULL", "02", "int64(1000)"},
		"local-timestamp-micros":    {logical("long", "local-timestamp-micros"), "a TIMESTAMP_NTZ NOT NULL", "02", "int64(1)"},
		"local-timestamp-nanos":     {logical("long", "local-timestamp-nanos"), "a TIMESTAMP_NTZ NOT NULL", "d00f", "int64(1)"},
		"uuid as text":              {logical("string", "uuid"), "a UUID NOT NULL", "48" + "46383144344641452d374445432d313144302d413736352d303041304339314536424636", "xf81d4fae7dec11d0a76500a0c91e6bf6"},
		"uuid as bytes":             {bytesUID, "a UUID NOT NULL", "f81d4fae7dec11d0a76500a0c91e6bf6", "xf81d4fae7dec11d0a76500a0c91e6bf6"},
		"duration":                  {`{"type":"fixed","name":"D","size":12,"logicalType":"duration"}`, "a FIXED(12) NOT NULL", "0100000002000000 03000000", "x010000000200000003000000"},
		"decimal":                   {money, "a DECIMAL(9,2) NOT NULL", "04 0080", "d128"},
		"decimal, negative":         {money, "a DECIMAL(9,2) NOT NULL", "02 80", "d-128"},
		"decimal, padded":           {money, "a DECIMAL(9,2) NOT NULL", "28 ffffffffffffffffffffffffffffffffffffff9c", "d-100"},
		"decimal, wide":             {wide, "a DECIMAL(38,2) NOT NULL", "4b3b4ca85a86c47a098a223fffffffff", "d99999999999999999999999999999999999999"},
		"decimal, wide, negative":   {wide, "a DECIMAL(38,2) NOT NULL", "b4c4b357a5793b85f675ddc000000001", "d-99999999999999999999999999999999999999"},
		"decimal in a fixed":        {`{"type":"fixed","name":"D","size":3,"logicalType":"decimal","precision":6}`, "a DECIMAL(6,0) NOT NULL", "ffff9c", "d-100"},
		"decimal too precise":       {`{"type":"fixed","name":"D","size":2,"logicalType":"decimal","precision":5}`, "a FIXED(2) NOT NULL", "0001", "x0001"},
		"logical type of the wrong": {logical("string", "date"), "a STRING NOT NULL", "00", `""`},
		"logical type unknown":      {logical("long", "price-in-cents"), "a BIGINT NOT NULL", "02", "int64(1)"},
		"big-decimal":               {logical("bytes", "big-decimal"), "a BINARY NOT NULL", "020c", "x0c"},
		"uuid of another width":     {`{"type":"fixed","name":"U","size":2,"logicalType":"uuid"}`, "a FIXED(2) NOT NULL", "0001", "x0001"},
	} {
		p := mustCompile(t, record(field("a", c.typ)), "", avro.Options{})
		if got, want := p.Schema(), mustDDL(t, c.ddl); columnsText(got) != columnsText(want) {
			t.Errorf("%s: got columns %s, want %s", name, columnsText(got), c.ddl)
		}
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, b(t, c.hex)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := values(p, dst); got != "[["+c.want+",],]" {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if len(p.Unknown()) > 0 {
			t.Errorf("%s: got unknown %v", name, p.Unknown())
		}
	}
}

// wrong is a value that is no row.
type wrong struct {
	fields, ddl, hex string
	reason           malformed.Reason
	path             string
	position         int
	detail           string
}

func TestMalformedValuesAreRefusedWithReasonPathAndPosition(t *testing.T) {
	ints, mapped := field("a", `{"type":"array","items":"int"}`), field("a", `{"type":"map","values":"int"}`)
	nested := field("o", `{"type":"record","name":"O","fields":[{"name":"l","type":{"type":"array","items":`+address+`}}]}`)
	for name, c := range map[string]wrong{
		"no bytes":                     {field("a", `"int"`), "", "", "empty", "", 0, "no bytes"},
		"bytes left over":              {field("a", `"int"`), "", "02 ff", "syntax", "", 1, "1 bytes are left"},
		"cut off in a number":          {field("a", `"long"`), "", "80", "syntax", "a", 0, "end within a number"},
		"cut off before a number":      {field("a", `"int"`) + "," + field("b", `"int"`), "", "02", "syntax", "b", 1, "end within a number"},
		"number too long":              {field("a", `"long"`), "", "80808080808080808080 00", "syntax", "a", 0, "more than 64 bits"},
		"number of 65 bits":            {field("a", `"long"`), "", "80808080808080808002", "syntax", "a", 0, "more than 64 bits"},
		"int of 33 bits":               {field("a", `"int"`), "", "8080808010", "syntax", "a", 0, "more than 32 bits"},
		"int of six bytes":             {field("a", `"int"`), "", "828080808000", "syntax", "a", 0, "or 5 bytes"},
		"boolean 2":                    {field("a", `"boolean"`), "", "02", "syntax", "a", 0, "0 or 1"},
		"no boolean":                   {field("b", `"int"`) + "," + field("a", `"boolean"`), "", "02", "syntax", "a", 1, "before a boolean"},
		"float cut off":                {field("a", `"float"`), "", "000000", "syntax", "a", 0, "before a float"},
		"double cut off":               {field("a", `"double"`), "", "00000000000000", "syntax", "a", 0, "before a double"},
		"length beyond the bytes":      {field("a", `"string"`), "", "0461", "syntax", "a", 0, "a length of 2 bytes, and 1 are left"},
		"length of bytes negative":     {field("a", `"bytes"`), "", "01", "syntax", "a", 0, "a length of -1 bytes"},
		"length of 2^62":               {field("a", `"bytes"`), "", "80808080808080808001", "syntax", "a", 0, "a length of 4611686018427387904"},
		"fixed cut off":                {field("a", fixed2), "", "00", "syntax", "a", 0, "a length of 2 bytes, and 1 are left"},
		"text that is not UTF-8":       {field("a", `"string"`), "", "06eda080", "encoding", "a", 1, "not UTF-8"},
		"bytes for text, not UTF-8":    {field("a", `"bytes"`), "a STRING", "02ff", "encoding", "a", 1, "not UTF-8"},
		"enum beyond":                  {field("a", suits), "", "04", "syntax", "a", 0, "has 2 symbols, and the value is number 2"},
		"enum negative":                {field("a", suits), "", "01", "syntax", "a", 0, "number -1"},
		"union beyond":                 {field("a", `["null","int"]`), "", "04", "syntax", "a", 0, "number 2"},
		"union negative":               {field("a", `["null","int"]`), "", "01", "syntax", "a", 0, "number -1"},
		"union of many beyond":         {field("a", `["null","int","string"]`), "", "06", "syntax", "a", 0, "has 3 types"},
		"null and required":            {field("a", `["null","int"]`), "a INT NOT NULL", "00", "null", "a", 0, "required"},
		"null in a list":               {field("a", `{"type":"array","items":["null","int"]}`), "a ARRAY<INT NOT NULL>", "04 0202 00 00", "null", "a[1]", 3, "required"},
		"null in a map":                {field("a", `{"type":"map","values":["null","int"]}`), "a MAP<STRING, INT NOT NULL>", "02 0278 00 00", "null", `a["x"]`, 3, "required"},
		"inside of all":                {nested, "", "02 00 80", "syntax", "o.l[0].n", 2, "end within a number"},
		"second element":               {nested, "", "04 0002 0279", "syntax", "o.l[1].c", 4, "a length of -61"},
		"count beyond the bytes":       {ints, "", "06 02 02", "syntax", "a", 0, "a block of 3 items, and 2 bytes are left"},
		"count of 2^62":                {ints, "", "80808080808080808001", "syntax", "a", 0, "a block of 4611686018427387904"},
		"count of -2^63":               {ints, "", "ffffffffffffffffff01 00", "syntax", "a", 0, "a block of"},
		"count with a size negative":   {ints, "", "01 01 02 00", "syntax", "a", 0, "and -1 bytes"},
		"count with a size too large":  {ints, "", "01 08 02 00", "syntax", "a", 0, "4 bytes, and 2 are left"},
		"block longer than it says":    {ints, "", "03 02 02 04 00", "syntax", "a", 4, "ends 1 bytes from where it says"},
		"block shorter than it says":   {ints, "", "01 04 02 04 00", "syntax", "a", 3, "ends -1 bytes"},
		"blocks without an end":        {ints, "", "02 02", "syntax", "a", 2, "end within a number"},
		"map's key twice":              {mapped, "", "04 0278 02 0278 04 00", "duplicate", `a["x"]`, 5, "twice"},
		"map's key twice in blocks":    {mapped, "", "02 0278 02 02 0278 04 00", "duplicate", `a["x"]`, 6, "twice"},
		"map's key not UTF-8":          {mapped, "", "02 02ff 02 00", "encoding", "a", 2, "not UTF-8"},
		"map's key cut off":            {mapped, "", "02 0a78", "syntax", "a", 1, "a length of 5"},
		"map's value cut off":          {mapped, "", "02 0278 80", "syntax", `a["x"]`, 3, "within a number"},
		"decimal of no bytes":          {field("a", money), "", "00", "syntax", "a", 0, "at least one byte"},
		"decimal too large":            {field("a", money), "", "08 3b9aca00", "overflow", "a", 1, "more digits than decimal(9,2)"},
		"decimal too small":            {field("a", money), "", "08 c4653600", "overflow", "a", 1, "more digits than decimal(9,2)"},
		"decimal of 17 bytes":          {field("a", money), "", "22 0100000000000000000000000000000000", "overflow", "a", 1, "more digits"},
		"decimal, a sign cut off":      {field("a", money), "", "22 00ffffffffffffffffffffffffffffffff", "overflow", "a", 1, "more digits"},
		"decimal of -2^128":            {field("a", money), "", "22 ff00000000000000000000000000000000", "overflow", "a", 1, "more digits"},
		"the year 10000":               {field("a", logical("long", "timestamp-millis")), "", "80f0fea1fa9d73", "overflow", "a", 0, "253402300800000 is beyond"},
		"the year 0":                   {field("a", logical("long", "local-timestamp-micros")), "", "8180def2dfffdfdc01", "overflow", "a", 0, "-62135596800000001 is beyond"},
		"decimal of 39 digits":         {field("a", wide), "", "4b3b4ca85a86c47a098a224000000000", "overflow", "a", 0, "more digits"},
		"decimal that would round":     {field("a", money), "a DECIMAL(9,1)", "02 65", "lossy", "a", 1, "1 digits behind the point"},
		"decimal that would not fit":   {field("a", money), "a DECIMAL(9,7)", "04 2710", "overflow", "a", 1, "more digits"},
		"long for an INT":              {field("a", `"long"`), "a INT", "8080808010", "overflow", "a", 0, "2147483648 is beyond what int"},
		"int for a FLOAT":              {field("a", `"int"`), "a FLOAT", "82808010", "lossy", "a", 0, "a float has no 16777217"},
		"long for a DOUBLE":            {field("a", `"long"`), "a DOUBLE", "8280808080808020", "lossy", "a", 0, "a double has no 9007199254740993"},
		"date beyond 9999":             {field("a", logical("int", "date")), "", "c282e602", "overflow", "a", 0, "2932897 is beyond"},
		"date before 1":                {field("a", logical("int", "date")), "", "f5e457", "overflow", "a", 0, "-719163 is beyond"},
		"time of a day":                {field("a", logical("int", "time-millis")), "", "80f0b252", "overflow", "a", 0, "86400000 is beyond"},
		"time before midnight":         {field("a", logical("long", "time-micros")), "", "01", "overflow", "a", 0, "-1 is beyond"},
		"micros for millis":            {field("a", logical("long", "timestamp-millis")), "", "aa99f7eaf5b5a406", "overflow", "a", 0, "is beyond what timestamptz"},
		"nanos that would round":       {field("a", logical("long", "timestamp-nanos")), "", "02", "lossy", "a", 0, "finer than a microsecond"},
		"uuid of other text":           {field("a", logical("string", "uuid")), "", "0278", "format", "a", 1, `"x" is not a UUID`},
		"a union's type that is not":   {field("a", `["null","int","string"]`), "a INT", "040278", "type", "a", 1, "the union has string, which does not become int"},
		"a member that is not":         {field("a", `["int","string"]`), "a STRUCT<member0: INT>", "020278", "type", "a", 1, "has no member"},
		"skipped, cut off":             {field("z", `"string"`) + "," + field("a", `"int"`), "a INT", "0661", "syntax", "z", 0, "a length of 3"},
		"skipped, a fixed cut off":     {field("z", fixed2) + "," + field("a", `"int"`), "a INT", "06", "syntax", "z", 0, "before fixed F"},
		"skipped, a union beyond":      {field("z", `["int","string"]`) + "," + field("a", `"int"`), "a INT", "0a", "syntax", "z", 0, "has 2 types"},
		"skipped, an enum beyond":      {field("z", suits) + "," + field("a", `"int"`), "a INT", "0a", "syntax", "z", 0, "has 2 symbols"},
		"skipped, an int of 33 bits":   {field("z", `"int"`) + "," + field("a", `"int"`), "a INT", "808080801002", "syntax", "z", 0, "more than 32 bits"},
		"skipped, an int of six bytes": {field("z", `"int"`) + "," + field("a", `"int"`), "a INT", "82808080800002", "syntax", "z", 0, "or 5 bytes"},
		"skipped, too many keys":       {field("z", `{"type":"map","values":"null"}`) + "," + field("a", `"int"`), "a INT", "080000", "syntax", "z", 0, "a block of 4 items"},
		"skipped, a count beyond":      {field("z", `{"type":"map","values":"int"}`) + "," + field("a", `"int"`), "a INT", "0802", "syntax", "z", 0, "a block of 4 items"},
	} {
		p := mustCompile(t, record(c.fields), c.ddl, avro.Options{})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, b(t, c.hex))
		var bad *malformed.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v, %s, want %s", name, err, values(p, dst), c.reason)
			continue
		}
		if bad.Reason != c.reason || bad.Path != c.path || bad.Position != c.position || !strings.Contains(bad.Detail, c.detail) {
			t.Errorf("%s: got %s %q at %d: %s; want %s %q at %d: %s", name, bad.Reason, bad.Path, bad.Position, bad.Detail, c.reason, c.path, c.position, c.detail)
		}
		for i := range dst {
			if err := rowtest.Sound(&dst[i], &p.Schema()[i].Type, 0, "dst"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// https://github.com/apache/iceberg/issues/15344 has a logical type that a converter did not know, and
// https://github.com/hamba/avro/issues/69, /70 and /128 have times that nanoseconds since 1970 cannot hold. The values
// come from these reports' dates, without their frames.
func TestTimesBeyondNanosecondsAreExact(t *testing.T) {
	for hex, want := range map[string]int64{"80f0a3b0929606": 13574563200000000, "80d08bd2c4cd07": 16725225600000000, "b0e0fea1fa9d73": 253402300799000000} {
		p := mustCompile(t, record(field("ts", logical("long", "timestamp-millis"))), "", avro.Options{})
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, b(t, hex)); err != nil || dst[0].Int64s[0] != want {
			t.Errorf("%s: got %v, %v, want %d", hex, dst[0].Int64s, err, want)
		}
	}
}

// https://github.com/confluentinc/schema-registry/issues/833, /695 and /1430: decimals came out as base64 or as the
// unscaled bytes.
func TestDecimalsAreExact(t *testing.T) {
	for hex, want := range map[string]string{"029c": "[[d-100,],]", "040080": "[[d128,],]", "0280": "[[d-128,],]", "00": "[]"} {
		p := mustCompile(t, record(field("d", money)), "", avro.Options{})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, b(t, hex))
		if got := values(p, dst); got != want || (err == nil) != (want != "[]") {
			t.Errorf("%s: got %s, %v, want %s", hex, got, err, want)
		}
	}
}

// https://github.com/actgardner/gogen-avro/issues/32 and https://github.com/linkedin/goavro/issues/2: a length of -1, and
// one of 2^40, of which not a byte follows.
func TestALengthIsHeldAgainstTheBytesBeforeAnythingIsAllocated(t *testing.T) {
	p := mustCompile(t, record(field("s", `"string"`)), "", avro.Options{})
	for _, hex := range []string{"01", "808080808040"} {
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, b(t, hex)); err == nil || cap(dst[0].Data) > 0 {
			t.Errorf("%s: got %v and %d bytes allocated", hex, err, cap(dst[0].Data))
		}
	}
}

// https://github.com/Apicurio/apicurio-registry/issues/1479, /4199 and /2547 and
// https://github.com/redpanda-data/connect/issues/3657: a plain value may begin with the byte that frames begin with.
func TestAPlainValueMayBeginWithZero(t *testing.T) {
	p := mustCompile(t, record(field("a", `["null","long"]`)), "", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, []byte{0}); err != nil || values(p, dst) != "[[<nil>(<nil>),],]" {
		t.Errorf("got %s, %v", values(p, dst), err)
	}
}

// https://github.com/MaterializeInc/materialize/issues/3612: such a logical type is ignored, as the specification has it.
func TestADecimalThatCannotBeIsBytes(t *testing.T) {
	for _, attributes := range []string{`"precision":2,"scale":4`, `"precision":0`, `"scale":2`, `"precision":-4`, `"precision":4,"scale":-1`, `"precision":"4"`, `"precision":4.5`, `"precision":4,"scale":null`} {
		p := mustCompile(t, record(field("a", `{"type":"bytes","logicalType":"decimal",`+attributes+`}`)), "", avro.Options{})
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, b(t, "029c")); err != nil || p.Schema()[0].Type.Kind != columns.Binary || values(p, dst) != "[[x9c,],]" {
			t.Errorf("%s: got %s, %v", attributes, values(p, dst), err)
		}
	}
}

// https://github.com/AbsaOSS/ABRiS/issues/207 has this schema, and https://github.com/confluentinc/schema-registry/pull/726
// says why: Connect writes 64 where it does not know how many digits there are.
func TestADecimalOfSixtyFourDigitsIsReadByValue(t *testing.T) {
	const connect = `{"name":"amount","type":["null",{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},
		"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}],"default":null}`
	p := mustCompile(t, record(connect), "", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := errors.Join(p.Append(dst, b(t, "02029c")), p.Append(dst, b(t, "00"))); err != nil || columnsText(p.Schema()) != "amount DECIMAL(38,2)" || values(p, dst) != "[[d-100,],[<nil>(<nil>),],]" {
		t.Errorf("got %s: %s, %v", columnsText(p.Schema()), values(p, dst), err)
	}
	if err := p.Append(dst, b(t, "0220 4b3b4ca85a86c47a098a224000000000")); err == nil || !strings.Contains(err.Error(), "overflow") {
		t.Errorf("a number of 39 digits: got %v", err)
	}
}

// https://github.com/redpanda-data/connect/issues/4399 and /4402 and https://github.com/apache/iceberg/issues/16681: times
// and local timestamps came out as plain numbers.
func TestLogicalTypesAreNotDropped(t *testing.T) {
	p := mustCompile(t, record(field("t", logical("int", "time-millis")), field("l", logical("long", "local-timestamp-millis"))), "", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, b(t, "f8bbc603 dcbccccaef66")); err != nil {
		t.Fatal(err)
	}
	if columnsText(p.Schema()) != "t TIME NOT NULL,\nl TIMESTAMP_NTZ NOT NULL" || values(p, dst) != "[[int64(3723004000),int64(1767323045678000),],]" {
		t.Errorf("got %s: %s", columnsText(p.Schema()), values(p, dst))
	}
}

// https://github.com/actgardner/gogen-avro/issues/32 once more: a branch that a union has not, and bytes left over.
func TestAValueOfAnySchemaFillsOneColumn(t *testing.T) {
	for _, c := range []struct{ schema, hex, want string }{
		{`["null","string"]`, "00", "[[<nil>(<nil>),],]"}, {`["null","string"]`, "020262", `[["b",],]`}, {`["null","string"]`, "0a", ""},
		{`"long"`, "02ff", ""}, {`"long"`, "02", "[[int64(1),],]"}, {`"long"`, "", ""},
		{record(field("a", `"int"`)), "02", "[[[int32(1),],],]"},
	} {
		writer := mustParse(t, c.schema)
		typ, required, err := writer.Type()
		if err != nil {
			t.Fatal(err)
		}
		p, err := avro.CompileValue(writer, columns.Field{Name: "key", Type: typ, Required: required}, avro.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, b(t, c.hex)); (err == nil) != (c.want != "") || err == nil && values(p, dst) != c.want {
			t.Errorf("%s %s: got %s, %v, want %s", c.schema, c.hex, values(p, dst), err, c.want)
		}
	}
}

// A record whose fields are all of type null has no bytes, and is a row.
func TestNoBytesCanBeARow(t *testing.T) {
	p := mustCompile(t, record(field("n", `"null"`)), "n INT, m STRING", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, nil); err != nil || values(p, dst) != "[[<nil>(<nil>),<nil>(<nil>),],]" {
		t.Errorf("got %s, %v", values(p, dst), err)
	}
}

func TestFractionsAreCutWhereThatIsWanted(t *testing.T) {
	p := mustCompile(t, record(field("a", logical("long", "timestamp-nanos"))), "", avro.Options{CutFractions: true})
	dst := columns.Make(p.Schema())
	for _, hex := range []string{"02", "01", "cf0f", "feffffffffffffffff01", "ffffffffffffffffff01"} {
		if err := p.Append(dst, b(t, hex)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := rowtest.Text(dst[0].Int64s), rowtest.Text([]int64{0, -1, -1, math.MaxInt64 / 1000, math.MinInt64/1000 - 1}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// https://github.com/parquet-go/parquet-go/issues/459, https://github.com/apache/iceberg/issues/6516 and
// https://github.com/apache/arrow/issues/50182: what is done with NaN and the infinities later needs them here as they are.
func TestNumbersThatAreNoneAreKept(t *testing.T) {
	p := mustCompile(t, record(field("x", `"double"`)), "", avro.Options{})
	dst := columns.Make(p.Schema())
	for _, hex := range []string{"000000000000f87f", "000000000000f0ff", "0000000000000080", "000000000000f07f"} {
		if err := p.Append(dst, b(t, hex)); err != nil {
			t.Fatal(err)
		}
	}
	if got := values(p, dst); got != "[[float64(NaN),],[float64(-Inf),],[float64(-0),],[float64(+Inf),],]" {
		t.Errorf("got %s", got)
	}
}

// https://github.com/apache/iceberg/issues/17652: a null that the writer wrote is null, whatever the default.
func TestNullIsNotTheDefault(t *testing.T) {
	p := mustCompile(t, record(`{"name":"n","type":["int","null"],"default":7}`), "", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := errors.Join(p.Append(dst, b(t, "02")), p.Append(dst, b(t, "000e"))); err != nil || values(p, dst) != "[[<nil>(<nil>),],[int32(7),],]" {
		t.Errorf("got %s, %v", values(p, dst), err)
	}
}

func TestAValueInAnotherFrameIsNamedAsOne(t *testing.T) {
	p := mustCompile(t, record(field("n", `"long"`)), "", avro.Options{})
	for hex, want := range map[string]string{
		"4f626a01 0416": "container file", "c301 0011223344556677 02": "single-object encoding", "00 0000002a 02": "a schema registry's header", "02 0000000000": "after the value", "0000": "after the value",
	} {
		err := p.Append(columns.Make(p.Schema()), b(t, hex))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", hex, err, want)
		}
	}
}
