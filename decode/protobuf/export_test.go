package protobuf

import "google.golang.org/protobuf/reflect/protoreflect"

// DescriptorOf is what the tests' oracle reads with.
func DescriptorOf(m *Message) protoreflect.MessageDescriptor { return m.descriptor }

// Builtin has the texts of the files that every schema may import.
func Builtin() map[string]string { return builtin() }
