// Benchmarks of decode/protobuf beside general libraries, which sluice itself does not need.
module sluice/tools/protoversus

go 1.26.0

require (
	buf.build/go/hyperpb v0.1.3
	github.com/bufbuild/protocompile v0.14.1
	github.com/planetscale/vtprotobuf v0.6.0
	google.golang.org/protobuf v1.36.12
	sluice v0.0.0
)

require (
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/timandy/routine v1.1.5 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.25.0 // indirect
)

replace sluice => ../..
