# Targets of sluice. `make` alone lists them.

version := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# What the race detector can bear in minutes: the packages that share memory between goroutines. cmd is left out: its tests
# are whole runs and child processes, which take many minutes under the detector, of code that the packages below it test.
raced := ./offsets ./batch ./columns ./objectstore/... ./checkpoint ./kafkaauth ./kafkasrc ./kafkasink ./runner ./progress ./job ./decode ./decode/registry ./lakesink ./lakesink/files ./lakesink/restcatalog ./lakesink/spill ./verify
# Tests that take minutes under it and share nothing: hundreds of commits one after the other, random histories, every kind of
# rival, megabytes of rows through every encoder, and the sweeps over real tables and folders and over two of them (those over a fake one are raced).
unraced := ^(TestTheCostOfACommitStaysFlat|TestRandomHistoriesAreProvedAndEveryMutationIsFound|Test.*(Iceberg|DeadLetters|Alters|Grows|Folder|Partitioned|Agree).*(Struck|Stalls|Notices?).*|TestThe(Sweep|Stalls).*Folder.*|TestARunOnABranchStruck.*|TestEveryRivalAtEveryMoment|TestFilesAreTheSame.*|TestTheMemoryBounds.*)$$
soaked = $(shell grep -rlE --exclude-dir=.rig --include='*_test.go' '^//go:build .*soak' . | xargs -n 1 dirname | sort -u)
# Tags add files and take none away (lint sees to it), so that with all of them everything is looked at.
every_tag := integration,clouds,interop,soak
timeout := -timeout 30m
# Tests make and sync small files by the ten thousand, which costs them a third of their CPU and more than that in waiting: where
# there is a disk in memory, they are there. What is built stays where it was.
memory := $(shell tools/memory-disk)
on_memory := $(if $(memory),GOTMPDIR=$${GOTMPDIR:-$${TMPDIR:-/tmp}} TMPDIR=$(memory))
# Their heaps are small, and a fifth of their CPU is collecting them. Not for tests that measure the memory of a run.
lazily := GOGC=400
crashes := Struck|Stall|Sweep|Mutant|Crash|Kill

.DEFAULT_GOAL := help
.PHONY: help build build-czstd test race integration clouds lint bench bench-spark versus crash brokers demo interop soak rig-start rig-stop clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./sluice, a static binary (minutes the first time)
	CGO_ENABLED=0 go build -trimpath -ldflags '-X sluice/cmd.version=$(version)' -o sluice .

build-czstd: ## build ./sluice with zstd's C library, which takes a fifth less CPU (needs a C compiler; the binary is static)
	CGO_ENABLED=1 go test $(timeout) -tags czstd -vet=off ./lakesink/parquetfile
	CGO_ENABLED=1 go build -trimpath -tags czstd,netgo,osusergo -ldflags '-X sluice/cmd.version=$(version)-czstd -linkmode external -extldflags -static' -o sluice .

test: ## unit and embedded end-to-end tests; needs Go alone
	$(on_memory) $(lazily) go test $(timeout) -vet=off ./...

race: ## the race detector on the packages that can bear it
	$(on_memory) $(lazily) go test $(timeout) -vet=off -race -skip '$(unraced)' $(raced)

integration: rig-start ## tests against real Kafka, S3, a REST catalog, PostgreSQL, DuckDB and PyIceberg
	$(on_memory) tools/tagged-tests integration ./... -- $(timeout) -vet=off

clouds: rig-start ## tests against servers that speak like Google Cloud Storage and Azure, a REST catalog with tokens, and a Hive metastore (minutes to install the first time)
	rig/gcs start
	rig/azure start
	rig/nessie start
	rig/hive start
	go test $(timeout) -tags integration,clouds -count=1 -run 'Cloud|Azure|GCS|Nessie|RealHive' ./objectstore ./checkpoint ./lakesink ./lakesink/files ./cmd

lint: .bin/staticcheck .bin/govulncheck ## gofmt, vet, staticcheck, known vulnerabilities, the import rule
	@files=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$files" ] || { echo "not gofmt'd:" $$files >&2; exit 1; }
	@for script in $$(git ls-files rig tools .ci examples | xargs grep -lE '^#!/usr/bin/env bash|shell=bash'); do bash -n $$script || exit 1; done
	@! git grep -nE '^//go:build .*!\(?(integration|clouds|interop|soak)' -- '*.go' || { echo 'a file that a tag takes away is neither vetted nor checked' >&2; exit 1; }
	go vet -tags $(every_tag) ./...
	.bin/staticcheck -tags $(every_tag) ./...
	go test -run '^TestLayers' .
	tools/vulncheck -tags integration ./...

bench: build ## benchmarks against the floor, on a real broker, as ratios
	go run ./bench

bench-spark: build ## runs beside Spark's AvailableNow on the same records, as ratios (needs Java and Maven; many minutes)
	go run ./bench -only spark -rounds 3 -quiet 15s

versus: ## the decoders beside other libraries: that they agree, and ratios of CPU (fetches the libraries)
	@set -e; for tool in jsonversus avroversus protoversus; do cd tools/$$tool; echo "== $$tool"; go vet ./...; go test $(timeout) -count=1 ./...; go run .; cd ../..; done

crash: rig-start ## the crash sweeps whole, each request to real servers struck, and the program killed at seeded points
	rig/gcs start
	rig/azure start
	tools/named-tests integration '$(crashes)' ./runner -- -timeout 60m -full
	tools/named-tests integration 'TestACompactionStruckAnywhere|TestManySmallFiles' ./lakesink/maintain -- -timeout 30m -full
	tools/named-tests integration 'TestRowsOfPartitions|TestTheCostOfACommit' ./lakesink -- $(timeout) -full
	tools/named-tests integration,clouds '$(crashes)|AThousandPartitions' ./cmd -- -timeout 8h -full
	tools/named-tests integration '$(crashes)' ./checkpoint -- $(timeout)

demo: ## the whole story on one machine, with Go alone (the first build takes minutes)
	@[ -x sluice ] || echo 'Building sluice. The first build compiles every dependency and takes minutes; later ones take seconds.'
	@$(MAKE) --no-print-directory -s build
	@./sluice demo

interop: ## a real Spark reads what sluice wrote, makes tables that sluice writes to, and takes turns with it, as a real Kafka Connect does (needs Java and Maven)
	tools/named-tests interop '^Test(Spark(Reads|And)|AQueryBeginsWhereAReal|KafkaConnectAnd)' ./cmd ./lakesink -- -v -timeout 60m

brokers: rig-start ## three brokers that die, hang, move, hold back and are elected uncleanly in the middle of runs, and a job of 2,000 partitions (half an hour)
	tools/named-tests integration,soak '^TestBrokers' ./cmd -- -timeout 90m -v

soak: rig-start ## long runs: 10,000 commits, thousands of kills, thousands of batches among faults, 500 runs as of cron (hours)
	tools/named-tests integration,soak '^TestSoak' $(soaked) -- -timeout 6h -v

rig-start: ## start Kafka and S3 and make the Python environment
	rig/kafka start
	rig/s3 start
	rig/python

rig-stop: ## stop the servers of this checkout
	@rig/kafka stop --all
	@rig/s3 stop --all
	@rig/registry stop --all
	@rig/connect stop --all
	@rig/rest stop --all
	@rig/nessie stop --all
	@rig/hive stop --all
	@rig/gcs stop --all
	@rig/azure stop --all
	@rig/postgres stop --all

clean: rig-stop ## stop the servers; delete what was built, fetched and stored here
	rm -rf sluice .bin .rig

# One binary a file, built anew when the pins change.
.bin/%: tools/go.mod tools/go.sum
	@mkdir -p .bin
	cd tools && go build -o ../.bin/ tool
	@touch .bin/staticcheck .bin/govulncheck
