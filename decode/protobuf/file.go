package protobuf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// File is a .proto file with all that it imports.
type File struct {
	main protoreflect.FileDescriptor
	// all are the files in which messages are looked up: those of a descriptor set, else the main one.
	all []protoreflect.FileDescriptor
}

// Parse reads a .proto text with those that it imports: files has the texts by the path under which they are imported, main
// is one of the paths. proto2, proto3 and edition 2023 are understood. What protoc and the Confluent registry know by
// themselves needs no text: google/protobuf, google/type, confluent. Texts of more than 4 MiB together, and brackets more than
// 100 deep, are refused; comments are not read where a line has more than 8 KiB.
func Parse(files map[string]string, main string) (*File, error) {
	if _, ok := files[main]; !ok {
		return nil, fmt.Errorf("protobuf: there is no text for %s", main)
	}
	comments, err := bounded(files)
	if err != nil {
		return nil, err
	}
	accessor := protocompile.SourceAccessorFromMap(withBuiltin(files))
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: accessor}),
		MaxParallelism: 1,
	}
	if comments {
		compiler.SourceInfoMode = protocompile.SourceInfoStandard
	}
	linked, err := compiler.Compile(context.Background(), main)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	return &File{main: linked[0], all: []protoreflect.FileDescriptor{linked[0]}}, nil
}

// ParseDescriptorSet reads a serialized google.protobuf.FileDescriptorSet, what protoc --include_imports
// --descriptor_set_out writes. Without --include_imports it lacks the files of others, of which google/protobuf, google/type
// and confluent are known here. The main file is the last.
func ParseDescriptorSet(set []byte) (*File, error) {
	var parsed descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &parsed); err != nil {
		return nil, fmt.Errorf("protobuf: the bytes are no FileDescriptorSet: %w", err)
	}
	if len(parsed.File) == 0 {
		return nil, errors.New("protobuf: the FileDescriptorSet has no files")
	}
	main := parsed.File[len(parsed.File)-1].GetName()
	if err := complete(&parsed); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&parsed)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	f := &File{}
	for _, file := range parsed.File {
		found, err := files.FindFileByPath(file.GetName())
		if err != nil {
			return nil, fmt.Errorf("protobuf: find %s: %w", file.GetName(), err)
		}
		if file.GetName() == main {
			f.main = found
		}
		f.all = append(f.all, found)
	}
	return f, nil
}

// complete adds the files that are known here to a set that imports them and has them not.
func complete(set *descriptorpb.FileDescriptorSet) error {
	have := map[string]bool{}
	for _, file := range set.File {
		have[file.GetName()] = true
	}
	for i := 0; i < len(set.File); i++ {
		for _, path := range set.File[i].GetDependency() {
			if have[path] {
				continue
			}
			known, err := knownFile(path)
			if err != nil {
				return fmt.Errorf("protobuf: %s imports %s, which the FileDescriptorSet lacks: make it with --include_imports", set.File[i].GetName(), path)
			}
			have[path] = true
			set.File = append(set.File, known)
		}
	}
	return nil
}

// knownFile is a file that every schema may import.
func knownFile(path string) (*descriptorpb.FileDescriptorProto, error) {
	if _, ok := builtin()[path]; ok {
		f, err := parseBuiltin(path)
		if err != nil {
			return nil, err
		}
		return protodesc.ToFileDescriptorProto(f.main), nil
	}
	found, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil || !strings.HasPrefix(path, "google/protobuf/") {
		return nil, fmt.Errorf("protobuf: %s is not known", path)
	}
	return protodesc.ToFileDescriptorProto(found), nil
}

// Message is a message of a File.
type Message struct {
	descriptor protoreflect.MessageDescriptor
}

// Name is the message's full name, such as shop.Order.
func (m *Message) Name() string { return string(m.descriptor.FullName()) }

// Message finds a message by its full name, or by its name within the package of the main file: shop.Order.Item or
// Order.Item.
func (f *File) Message(name string) (*Message, error) {
	for _, full := range []string{name, string(f.main.Package()) + "." + name} {
		for _, file := range f.all {
			if found := messageNamed(file.Messages(), protoreflect.FullName(full)); found != nil {
				return &Message{found}, nil
			}
		}
	}
	return nil, fmt.Errorf("protobuf: there is no message %s, but %s", name, f.messages())
}

func messageNamed(all protoreflect.MessageDescriptors, name protoreflect.FullName) protoreflect.MessageDescriptor {
	for i := range all.Len() {
		m := all.Get(i)
		if m.FullName() == name && !m.IsMapEntry() {
			return m
		}
		if strings.HasPrefix(string(name), string(m.FullName())+".") {
			return messageNamed(m.Messages(), name)
		}
	}
	return nil
}

// messages lists the main file's messages for an error.
func (f *File) messages() string {
	const most = 20
	var names []string
	for i := range f.main.Messages().Len() {
		names = append(names, string(f.main.Messages().Get(i).FullName()))
	}
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// OnlyMessage is the message at the main file's top. Where there are several, the error lists them.
func (f *File) OnlyMessage() (*Message, error) {
	if f.main.Messages().Len() > 1 {
		return nil, fmt.Errorf("protobuf: the schema has several messages at its top, %s: say which one it is", f.messages())
	}
	return f.MessageAt([]int{0})
}

// MessageAt finds a message of the main file by the indexes that a record in Confluent's framing begins with: the message,
// then the message inside of it, and so on; none at all is the first. Maps make messages of their own in a descriptor, and
// do not count, since Confluent's serializers count what stands in the text.
func (f *File) MessageAt(indexes []int) (*Message, error) {
	if len(indexes) == 0 {
		indexes = []int{0}
	}
	var found protoreflect.MessageDescriptor
	among := f.main.Messages()
	for depth, index := range indexes {
		written := slices.Collect(func(yield func(protoreflect.MessageDescriptor) bool) {
			for i := range among.Len() {
				if m := among.Get(i); !m.IsMapEntry() && !yield(m) {
					return
				}
			}
		})
		if index < 0 || index >= len(written) {
			return nil, fmt.Errorf("protobuf: the message indexes %v lead nowhere: %s has %d messages at depth %d", indexes, f.main.Path(), len(written), depth)
		}
		found = written[index]
		among = found.Messages()
	}
	return &Message{found}, nil
}
