package main

import (
	"context"
	"fmt"
	"time"

	"sluice/rig/faultproxy"
)

// roundTrip is how far the broker of the comparison is: another continent, nearly.
const roundTrip = 50 * time.Millisecond

// targetFar is how much longer a run may take whose broker is that far.
const targetFar = 1.2

// measureFar compares, in turn, runs through a proxy that passes everything on at once with runs through one that keeps each
// message back for half a round trip. Bandwidth is the same.
func (b *bench) measureFar(ctx context.Context) error {
	b.begin("far", fmt.Sprintf("%s orders from a broker that is %s away, and from one that is near, through the same proxy, in turn; medians of %d rounds",
		thousands(b.main.Records), roundTrip, b.rounds))
	if err := b.provide(ctx, b.main); err != nil {
		return err
	}
	var walls [2][]float64
	for range b.rounds {
		for i, away := range []time.Duration{0, roundTrip} {
			took, err := b.runThrough(ctx, away)
			if err != nil {
				return err
			}
			walls[i] = append(walls[i], took.Wall.Seconds())
		}
	}
	var ratios []float64
	for i := range walls[0] {
		ratios = append(ratios, walls[1][i]/walls[0][i])
	}
	b.add(of("near: wall", "s", walls[0]...), of("far: wall", "s", walls[1]...), of("far / near", "x", ratios...).atMost(targetFar))
	return nil
}

func (b *bench) runThrough(ctx context.Context, away time.Duration) (cost, error) {
	proxy, err := faultproxy.NewFarKafka(b.broker, away)
	if err != nil {
		return cost{}, err
	}
	defer proxy.Close()
	through := *b
	through.broker = proxy.Addr
	took, _, err := through.freshRun(ctx, b.main)
	return took, err
}
