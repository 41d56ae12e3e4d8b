package avro

import (
	"sluice/columns"
	"sluice/decode/mapkeys"
)

// op is how a step reads.
type op uint8

const (
	opSkip op = iota
	opNull
	opBool
	opInt32 // within bounds
	opInt64 // within bounds, times factor
	opNanos // to microseconds
	opIntFloat
	opIntDouble
	opFloat
	opFloatDouble
	opDouble
	opString
	opBinary
	opFixed
	opUUID
	opEnum
	opDecimal
	opRecord
	opList
	opMap
	opUnion
	opMembers
	opRefuse
)

// step reads one value of the writer into a column, or passes it.
type step struct {
	op op
	// optional says that the value is of a union with null; nullAt and valueAt are the bytes that tell which.
	optional        bool
	nullAt, valueAt byte
	required        bool
	// fixed says that bytes come without a length: there are size of them.
	fixed bool
	// cut drops fractions.
	cut bool
	// bare says that members are read without a union around them.
	bare bool
	// column is which of the parent's columns the step fills.
	column int32
	// most is how many bytes a number has at most; low and high are its bounds, factor makes it what the column counts.
	most              int
	low, high, factor int64
	size              int
	// from is the writer's scale of a decimal.
	from int
	// name is the column's, or that of a field that is passed; empty where the parent names the place.
	name string
	typ  *columns.Type
	// weight is how many values a null takes.
	weight int
	// steps are the fields of a record in the writer's order, the element of a list, the value of a map, or the branches of
	// a union.
	steps []step
	// missing are the columns of a record that the writer does not have.
	missing       []int32
	missingWeight int
	// least is how many bytes an item of a list or a map has at least.
	least   int
	symbols [][]byte
	keys    *mapkeys.Set
	// skips is the type that is passed; union is the one whose index is read.
	skips, union *node
	// refuses is why a value is malformed.
	refuses string
}

// nameless is the step for what has no name of its own.
var nameless step
