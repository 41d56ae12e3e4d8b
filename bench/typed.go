package main

import (
	"context"
	"fmt"
)

// targetTyped is how much longer a run may take that reads JSON into columns than one that keeps its bytes.
const targetTyped = 1.6

// ordersSchema is what the orders of a corpus hold.
const ordersSchema = "order_id STRING NOT NULL, customer_id BIGINT NOT NULL, status STRING, amount DECIMAL(18,2) NOT NULL, currency STRING, event_time TIMESTAMP, " +
	"address STRUCT<city: STRING, zip: STRING>, items ARRAY<STRUCT<sku: STRING, qty: INT>>"

// measureTyped compares runs over the same records, in turn: raw, and JSON into typed columns.
func (b *bench) measureTyped(ctx context.Context) error {
	b.begin("typed", fmt.Sprintf("%s JSON orders into typed columns and as raw bytes, in turn; medians of %d rounds", thousands(b.main.Records), b.rounds))
	if err := b.provide(ctx, b.main); err != nil {
		return err
	}
	var raws, typeds []cost
	for range b.rounds {
		if _, err := b.awaitQuiet(ctx); err != nil {
			return err
		}
		raw, _, err := b.freshRun(ctx, b.main)
		if err != nil {
			return err
		}
		typed, _, err := b.freshRun(ctx, b.main, "--value-format", "json", "--value-schema", ordersSchema)
		if err != nil {
			return err
		}
		raws, typeds = append(raws, raw), append(typeds, typed)
	}
	n := float64(b.main.Records)
	inTurn := func(name, unit string, f func(raw, typed cost) float64) number {
		var all []float64
		for i := range raws {
			all = append(all, f(raws[i], typeds[i]))
		}
		return of(name, unit, all...)
	}
	b.add(
		inTurn("typed: wall", "s", func(_, typed cost) float64 { return typed.Wall.Seconds() }),
		inTurn("typed: CPU", "ns/row", func(_, typed cost) float64 { return float64(typed.cpu().Nanoseconds()) / n }),
		inTurn("typed: rows", "/CPU-s", func(_, typed cost) float64 { return n / typed.cpu().Seconds() }),
		inTurn("typed: peak memory", "MiB", func(_, typed cost) float64 { return mebibytes(typed.Peak) }),
		inTurn("raw: CPU", "ns/row", func(raw, _ cost) float64 { return float64(raw.cpu().Nanoseconds()) / n }),
		inTurn("typed wall / raw wall", "x", func(raw, typed cost) float64 { return typed.Wall.Seconds() / raw.Wall.Seconds() }).atMost(targetTyped),
		inTurn("typed CPU / raw CPU", "x", func(raw, typed cost) float64 { return typed.cpu().Seconds() / raw.cpu().Seconds() }).atMost(targetTyped),
	)
	return nil
}
