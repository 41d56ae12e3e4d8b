// Package avro reads Avro's binary encoding straight into columns. A schema is parsed by Parse, held against the columns
// of a table by Compile, and the Parser that comes of it makes no map, no struct and no string for a row.
//
// A record is one datum as the Avro specification 1.12 encodes it, nothing more and nothing less: no container file, no
// fingerprint; the header of a schema registry is taken off before. What follows is what happens to each thing. Malformed
// means that the record gives no row at all, whatever the policy then does with it; the reason in parentheses is its class.
//
//	the schema                    what Columns makes of it
//	  boolean, int, long, float, double   boolean, int, long, float, double
//	  bytes, string, fixed                binary, string, fixed
//	  enum                                string, the symbol
//	  array, map, record                  list, map, struct; a field's doc is the column's
//	  [null, T], in either order          T, optional; everything else is required
//	  [int, long], [float, double]        long, double, with or without null
//	  any other union                     a struct of optional members, member0, member1, …, numbered without null, of which the one
//	                                      that is set is not null: as Spark has it
//	  decimal                             decimal(p,s); of more than 38 digits decimal(38,s), and a value that has more is malformed (overflow);
//	                                      of more than 38 behind the point: refused
//	  date                                date
//	  time-millis, time-micros            time
//	  timestamp-millis, -micros, -nanos   timestamptz, in microseconds
//	  local-timestamp-…                   timestamp, in microseconds
//	  uuid, on string or fixed(16)        uuid
//	  duration                            fixed(12), its bytes: months, days and milliseconds, little-endian, are no length of time
//	  another logical type, also          ignored, as the specification has it: the column is of the type below. So is a logicalType that
//	  one that does not fit its type      stands beside a field's type instead of in it
//	  null, a record without fields       a field of it has no column, since it says nothing
//	  a record inside of itself           refused, with the path; as a field that the table has not it is passed over
//	the columns                   what Compile makes of the schema
//	  names                               count with their case. A field fills the column of its name, else of one of its aliases
//	  a field without a column            is passed over, and Parser.Unknown has it
//	  a column without a field            null; where required, refused. A default of the writer's schema is not looked at: the writer wrote
//	                                      the field
//	  no column for any field             refused: rows of nulls are never what is meant
//	  int for long, float for double      by value; string for binary and bytes for string likewise
//	  int or long for float or double     by value; what the column could hold rounded only is malformed (lossy)
//	  long for int                        by value; beyond the range malformed (overflow)
//	  decimal for decimal                 by value: fewer digits behind the point malformed (lossy), more before it (overflow)
//	  int, long with a logical type       for an int or long column as wide: the number as it stands
//	  long for a timestamp                refused without a logical type, for it has no unit; so is a timestamp for one of the other sort
//	  string, fixed(16) for uuid          the text form, any case, else malformed (format); the bytes
//	  fixed for binary                    its bytes
//	  a union for one column              each type by itself; a value of a type that does not become the column's is malformed (type). A
//	                                      union of which no type does is refused
//	  a union for members                 a type keeps its member when types are added or change places; one without a member is in Unknown, and
//	                                      a value of it malformed (type)
//	  everything else                     refused, naming the column and both types
//	the record
//	  no bytes                            malformed (empty), unless every value of the schema has none
//	  bytes left over, or cut off         malformed (syntax)
//	  a number of more than 64 bits, an   malformed (syntax); zeros that pad a number are not
//	  int of more than 32
//	  a length or count below 0 or        malformed (syntax), before anything is allocated
//	  beyond the bytes
//	  a sized block that ends elsewhere   malformed (syntax)
//	  a union, enum beyond its types      malformed (syntax)
//	  a boolean other than 0 and 1        malformed (syntax)
//	  text that is not UTF-8              malformed (encoding), also keys of maps; not in fields that the table has not
//	  null and required                   malformed (null)
//	  a map's key twice                   malformed (duplicate)
//	  a decimal of no bytes               malformed (syntax); more bytes than needed are read
//	  a year before 1 or after 9999       malformed (overflow); a time that is not within a day too
//	  finer than a microsecond            malformed (lossy); with Options.CutFractions it is cut
//	  NaN, Infinity                       kept
//	  passed over                         lengths, counts and indexes are checked, what the bytes say is not; nested deeper than 1000 levels
//	                                      malformed (depth)
//	  many more values than bytes         malformed (size): nulls of wide structs, columns that the writer does not have and elements of
//	                                      type null take room without having bytes. A record may have sixteen such values for each of its
//	                                      bytes, and besides sixteen times as many as the schema has columns
package avro
