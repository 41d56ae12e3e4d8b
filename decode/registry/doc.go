// Package registry reads values that a schema registry's clients have written: it takes the schema's id off a record
// (Split, FromHeader) and fetches the schema from the registry (Client).
//
// Protocol and framing are those of Confluent's Schema Registry, which Apicurio, Karapace, Redpanda and others speak too:
//
//   - a prefix of the value: the byte 0 and the schema's number, 4 bytes, most significant first; or the byte 1 and the
//     schema's GUID, 16 bytes (Confluent Platform 8);
//   - or a record header __value_schema_id, for keys __key_schema_id, that holds the same bytes, and the value has none of
//     them (HeaderSchemaIdSerializer of Confluent's clients);
//   - in Protobuf, behind either, the indexes of the message in its file (SplitProtobuf, FromHeaderProtobuf).
//
// See https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format and
// https://docs.confluent.io/platform/current/schema-registry/develop/api.html. Which framing a topic has is configured,
// never guessed: a value that is framed otherwise is malformed, and the reason says what it looks like.
//
// A schema's text under an id never changes, so that a Client asks for each id once. What a registry answers is yes, no, or
// nothing at all, and the three are told apart: no is a NotSetUp fault (ErrNotFound if the schema is not there), nothing
// is a Failed one, after retries, and never makes a record malformed.
package registry
