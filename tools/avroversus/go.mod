// Benchmarks of decode/avro beside general libraries, and tests of it against them; sluice itself does not need them.
module sluice/tools/avroversus

go 1.26.0

require (
	github.com/hamba/avro/v2 v2.31.0
	github.com/twmb/avro v1.8.0
	sluice v0.0.0
)

require (
	github.com/go-viper/mapstructure/v2 v2.4.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
)

replace sluice => ../..
