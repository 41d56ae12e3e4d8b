// Package jsonschema makes the columns of a table from a JSON Schema, for records that decode/json reads. It reads the drafts
// 4, 6, 7, 2019-09 and 2020-12, as $schema says; 2020-12 if nothing is said.
//
// It maps, and does not validate: a record that breaks pattern, minLength, maximum, enum and the like is a row all the same,
// if its values fit the columns. A record that keeps to the schema has a row, but for values that no column holds:
// integers beyond BIGINT, fractions finer than microseconds, and what the comment of package json says besides.
//
//	type
//	  boolean                             BOOLEAN
//	  integer                             BIGINT; INT if minimum and maximum are within 32 bits, or format is int32 (int8, int16), or
//	                                      connect.type is int8, int16 or int32; DECIMAL(n,0) if they go beyond 64 bits, DECIMAL(20,0)
//	                                      for the format uint64
//	  number                              DOUBLE; FLOAT for the format float and the connect.type float32; DECIMAL(p,s) if
//	                                      multipleOf leaves s digits behind the point (0.01 leaves 2), p from minimum and
//	                                      maximum, 38 if they are not there; with multipleOf 1 as integer
//	  number with the title               DECIMAL, of scale and connect.decimal.precision in connect.parameters
//	  org.apache.kafka.connect.data.Decimal
//	  string                              STRING
//	    format date-time, date, uuid      TIMESTAMP, DATE, UUID
//	    format time                       STRING: a time of RFC 3339 has a zone, and TIME has none
//	    contentEncoding base64, base64url BINARY; also the format byte, and the connect.type bytes
//	  array                               ARRAY of items; of prefixItems, and items as a list, if all are of one type
//	  object with properties              STRUCT, in the order of the text, or of connect.index if all have it; fields that
//	                                      patternProperties and additionalProperties allow besides are unknown to it
//	  object without                      MAP<STRING, …> of additionalProperties and patternProperties; refused if they
//	                                      say nothing, for it may have any fields
//	  null, false, an object that cannot  no column
//	  have a field
//	  several                             null is left aside, integer and number are number; others are refused
//	  none                                what const and enum say; else what keywords are about: properties, items, format,
//	                                      minimum and the like; else it is refused
//	NOT NULL
//	  required, and null is not allowed   NOT NULL. null is allowed by "type": [… "null"], by an alternative that is null, by
//	                                      nullable: true (OpenAPI 3.0), and where no type is said at all
//	  elements, values of a map           NOT NULL unless null is allowed
//	  default                             means nothing: what is missing is null
//	several schemas for one place
//	  $ref, $dynamicRef, $recursiveRef    the schema there, and what stands beside (until draft 7: its description alone); to $defs,
//	                                      definitions or any place, $id, $anchor, or another text that Parse was given
//	  allOf                               all of them together: an object has the properties of each
//	  oneOf, anyOf                        what holds values of each: numbers widen, texts become STRING, objects have the
//	                                      properties of all, required where all require them; others are refused
//	  if, then, else, dependentSchemas    their properties are optional ones
//	  not, contains, propertyNames, …     mean nothing: they say what a value is not
//	  a schema within itself              refused: a table is not recursive
//	description                           the column's comment
//
// Kafka Connect's dates and times are numbers here, as they are in its records (title org.apache.kafka.connect.data.Timestamp
// is a BIGINT); a TIMESTAMP of them is for value.schema, with the format epochMillis.
package jsonschema
