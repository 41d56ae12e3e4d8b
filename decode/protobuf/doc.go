// Package protobuf reads Protobuf records straight into columns. A Parser is compiled once for a message and the columns;
// it makes no message, no map and no string for a row.
//
// A record is one message in the wire format, without framing. What follows is what happens to each thing that producers
// send. Malformed means that the record gives no row at all, whatever the policy then does with it; the reason in
// parentheses is its class.
//
//	the schema
//	  .proto texts                        proto2, proto3 and edition 2023, with what they import; google/protobuf, google/type and
//	                                      confluent are built in. Or a FileDescriptorSet
//	  a message that holds itself         refused, with the path; it can be left out
//	  columns                             all optional, so that fields can be taken from the message later; elements of lists, and
//	                                      keys and values of maps, are required: Protobuf has no nulls there
//	  extensions                          are fields of unknown numbers
//	the record
//	  no bytes                            a message of which every field is absent
//	  no message                          malformed (syntax): varints and lengths that do not end or are beyond what is around them,
//	                                      varints of more than 64 bits, field number 0, wire types 6 and 7, groups that do not
//	                                      begin or end
//	  a field of another wire type        malformed (type), where libraries take it for an unknown field and leave it empty. Lists of
//	                                      numbers may be packed, not packed, or both, whatever the schema says
//	  fields in any order                 of a field that comes again the last counts; messages are merged; lists grow
//	  a number that the message lacks     ignored after it was passed, or what Options.Unknown says
//	  more than MaxDepth levels           malformed (depth); 100 by default, the root is the first
//	  many more values than bytes         malformed (size): a field that is absent takes room in the columns too. A record may leave
//	                                      out sixteen values for each of its bytes, and besides sixteen times as many as there
//	                                      are columns; thousands of empty messages of a hundred fields leave out more
//	absent fields
//	  no presence (proto3)                zero, "", false, the enum's zero: what the producer may have set, and nobody can tell
//	  presence (optional, proto2)         null, or the default that the message declares; in a oneof always null
//	  required (proto2)                   malformed (missing)
//	  messages                            null; where the column is required, malformed (missing)
//	  repeated, map                       empty, never null
//	  oneof                               a column for each member; the last one set counts and the others are null
//	numbers
//	  int32, sint32, sfixed32             INT; a number of 64 bits that is no int32 is malformed (overflow), where C++ cuts bits off
//	  uint32, fixed32                     BIGINT, likewise
//	  int64, sint64, sfixed64             BIGINT
//	  uint64, fixed64                     DECIMAL(20,0)
//	  float, double, bool                 FLOAT, DOUBLE, BOOLEAN; a bool that is neither 0 nor 1 is malformed (overflow)
//	  enum                                STRING, the name, of several the first; a number without name is kept as text: "7"
//	string                                STRING; bytes that are no UTF-8 are malformed (encoding), also in proto2
//	bytes                                 BINARY
//	message, group                        STRUCT; one without fields is BOOLEAN: true where it is there
//	repeated, map                         ARRAY, MAP. Of equal keys the last entry counts, and stands where it stood last; a key or value
//	                                      that an entry lacks is zero, "", or a message of which every field is absent
//	google.protobuf
//	  Timestamp                           TIMESTAMP; finer than a microsecond malformed (lossy), with Options.CutFractions cut; beyond
//	                                      the years 1 to 9999 (overflow), nanos beyond a second (format)
//	  Duration                            DECIMAL(21,9), seconds; beyond 10000 years (overflow), nanos beyond a second or of another
//	                                      sign (format)
//	  Int32Value and its like             the value's type; null where the message is absent
//	  Struct, Value, ListValue            STRING, the JSON without white space, keys sorted, of equal keys the last; a Value that says
//	                                      nothing is null; NaN and infinities malformed (format)
//	  Any, FieldMask                      STRUCT<type_url: STRING, value: BINARY>, STRUCT<paths: ARRAY<STRING>>
//	  Empty                               BOOLEAN
//	google.type, confluent.type           STRUCT, as they are declared; Compile says what a column may be instead
package protobuf
