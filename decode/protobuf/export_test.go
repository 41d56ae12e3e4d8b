package protobuf

import "google.golang.org/protobuf/reflect/protoreflect"

// DescriptorOf is what the tests' oracle reads with.
func DescriptorOf(m *Message) protoreflect.MessageDescriptor { return m.descriptor }
