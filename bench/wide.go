package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// widths are the partitions of the topics that are compared.
var widths = []int{100, 1000, 10_000}

// measureWide counts what a job of very many partitions takes: requests to a broker, what is stored, memory. The broker is an imitation
// in this process, so that it can be asked for partitions that would take a real one minutes to make, and only counts are told.
func (b *bench) measureWide(ctx context.Context) error {
	b.begin("wide", "one batch of 10 records in each partition of a topic, and a run with nothing to do after it; counted on an imitation of a broker")
	for _, n := range widths {
		if err := b.measureWidth(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measureWidth(ctx context.Context, partitions int) error {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(int32(partitions), "wide"))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := fillWide(ctx, cluster.ListenAddrs(), partitions); err != nil {
		return err
	}
	asked := map[string]int{}
	cluster.Control(func(r kmsg.Request) (kmsg.Response, error, bool) { // it is called by one goroutine
		cluster.KeepControl()
		asked[kmsg.NameForKey(r.Key())]++
		return nil, nil, false
	})
	warehouse, discard, err := b.folder()
	if err != nil {
		return err
	}
	defer discard()
	args := []string{"run", "--bootstrap-servers", strings.Join(cluster.ListenAddrs(), ","), "--subscribe", "wide", "--warehouse", warehouse, "--table", "bench.wide", "--output", "json"}
	out, full, err := b.run(ctx, b.sluice, args...)
	if err != nil {
		return err
	}
	if t, err := read(out); err != nil || t.summary.Rows != int64(10*partitions) {
		return fmt.Errorf("%d rows were written of %d partitions: %w", t.summary.Rows, partitions, err)
	}
	fetches, others := asked["Fetch"], -asked["Fetch"]
	for _, n := range asked {
		others += n
	}
	clear(asked)
	stored, err := sizes(warehouse)
	if err != nil {
		return err
	}
	_, idle, err := b.run(ctx, b.sluice, args...)
	if err != nil {
		return err
	}
	named := func(what string) string { return fmt.Sprintf("%s partitions: %s", thousands(int64(partitions)), what) }
	b.add(of(named("Fetch requests"), "", float64(fetches)), of(named("other requests to brokers"), "", float64(others)),
		of(named("plan"), "KiB", float64(stored["offsets"])/1024), of(named("all of the checkpoint"), "KiB", float64(stored[""])/1024),
		of(named("peak memory"), "MiB", mebibytes(full.Peak)), of(named("peak memory, nothing to do"), "MiB", mebibytes(idle.Peak)),
		of(named("CPU"), "ms", cpuMilliseconds(full)), of(named("CPU, nothing to do"), "ms", cpuMilliseconds(idle)))
	return nil
}

// sizes sums the files of the checkpoint below a warehouse: all of them, and those of plans.
func sizes(warehouse string) (map[string]int64, error) {
	sums := map[string]int64{}
	err := filepath.WalkDir(warehouse, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "checkpoint") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sums[""] += info.Size()
			if filepath.Base(filepath.Dir(path)) == "offsets" {
				sums["offsets"] += info.Size()
			}
		}
		return err
	})
	return sums, err
}

func fillWide(ctx context.Context, brokers []string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for p := range partitions {
		for range 10 {
			records = append(records, &kgo.Record{Topic: "wide", Partition: int32(p), Value: []byte(`{"order_id":"01-000000001","customer_id":71,"status":"placed"}`)})
		}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}
