// Package json reads JSON records straight into columns. A Parser is compiled once for a schema; it makes no map, no
// struct and no string for a row.
//
// A record is one JSON text as RFC 8259 has it, nothing more and nothing less, and its root is an object. What follows is
// what happens to each thing that producers send. Malformed means that the record gives no row at all, whatever the
// policy then does with it; the reason in parentheses is its class.
//
//	the record
//	  no bytes                            malformed (empty)
//	  root is no object, also null        malformed (type)
//	  more after the object               malformed (syntax); white space is no more
//	  byte order mark, UTF-16             malformed (syntax)
//	  bytes that are no UTF-8             malformed (encoding), also in fields that the schema does not have
//	  \ud800 without its other half       malformed (encoding), likewise
//	  NaN, Infinity, 01, +1, .5, 1.       malformed (syntax); so are comments, trailing commas, single quotes
//	  more than MaxDepth levels           malformed (depth); 100 by default, the root is the first
//	  many more values than bytes         malformed (size): a field that is left out takes room in the columns too. A record may leave
//	                                      out eight values for each of its bytes, and besides four times as many as the schema has
//	                                      columns; [{},{},…] of a wide struct leaves out more
//	  a long string, a long number        has no limit but the record's own size, and costs time in its length alone
//	names
//	  case, normal form                   count: id is neither ID nor another Unicode spelling of it
//	  a field of the schema twice         malformed (duplicate), at each depth, also if escaped: "a" and "\u0061"
//	  a map's key twice                   malformed (duplicate), compared as values: 1 and 1.0 are one BIGINT key
//	  not in the schema                   ignored after its syntax was checked, or what Options.Unknown says; may repeat
//	nothing
//	  missing, or null                    null; where required, malformed (missing, null)
//	  "", {}, []                          empty, which is not null: a struct of nulls, a list or map of no elements
//	numbers
//	  INT, BIGINT                         by value: 5, 5.0, 50e-1 are 5, -0 is 0; 5.5 malformed (lossy), beyond the range (overflow)
//	  DECIMAL(p,s)                        by value: 1.50 fits s = 1, 1.55 does not (lossy); too many digits before the point (overflow)
//	  FLOAT, DOUBLE                       the nearest value, and 0 for what is smaller than the smallest; beyond the largest: overflow
//	  "5"                                 malformed (type); with Options.NumbersInText it is 5
//	  5 in a STRING                       malformed (type); the format json keeps the text of any value
//	BOOLEAN                               true and false; "true", 1 and 0 are malformed (type)
//	times
//	  TIMESTAMP                           RFC 3339, 2026-01-02T03:04:05.678901+01:00; a space or t for the T, z for the Z. Without zone
//	                                      the text is in Options.Zone, UTC by default; a local time that this zone has not, or has
//	                                      twice, malformed (zone)
//	  TIMESTAMP_NTZ                       the same without zone; with zone malformed (zone)
//	  DATE, TIME                          2026-01-02, and 03:04:05 with or without fraction
//	  finer than a microsecond            zeros are cut, other digits malformed (lossy); with Options.CutFractions they are cut
//	  other ways to write them            Options.Timestamps, Dates and Formats: a pattern, epochSeconds, …; then no other way is read
//	  24:00, :60, +0100, 2026-1-2         malformed (format)
//	  a year before 1 or after 9999       as written or in UTC: malformed (overflow). SQL and Python have no such dates, and it is
//	                                      the sign of a wrong unit
//	  a number                            malformed (type) unless the format is one of the epochs
//	bytes
//	  BINARY                              base64 in either alphabet of RFC 4648, not mixed; all of the padding or none; no white space;
//	                                      the bits left over are zero; else malformed (format)
//	  FIXED(n)                            the same, of n bytes
//	  UUID                                36 characters, 8-4-4-4-12, any case
//	STRING                                any text, also "" and \u0000, byte for byte: nothing is trimmed, normalised or replaced
//	ARRAY, MAP, STRUCT                    array; object; object. Null elements are nulls. Order of a map's entries is kept
//	MAP keys                              the name is read as the text of the key's type; FLOAT and DOUBLE cannot be keys
package json
