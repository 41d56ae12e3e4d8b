// Command generate makes order.pb.go and order_vtproto.pb.go of order.proto with the plugins of protoc and no protoc. It is
// run in the folder above: go run ./generate.
package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(context.Background(), "order.proto")
	if err != nil {
		log.Fatal(err)
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{"order.proto"},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile: []*descriptorpb.FileDescriptorProto{
			protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), protodesc.ToFileDescriptorProto(files[0])},
	}
	generate(request, "google.golang.org/protobuf/cmd/protoc-gen-go")
	request.Parameter = proto.String("paths=source_relative,features=unmarshal")
	generate(request, "github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto")
}

func generate(request *pluginpb.CodeGeneratorRequest, plugin string) {
	wire, err := proto.Marshal(request)
	if err != nil {
		log.Fatal(err)
	}
	run := exec.Command("go", "run", plugin)
	run.Stdin, run.Stderr = bytes.NewReader(wire), os.Stderr
	out, err := run.Output()
	if err != nil {
		log.Fatalf("%s: %v", plugin, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil || response.GetError() != "" {
		log.Fatalf("%s: %v %s", plugin, err, response.GetError())
	}
	for _, file := range response.File {
		if err := os.WriteFile(file.GetName(), []byte(file.GetContent()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
