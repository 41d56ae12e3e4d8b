package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

func TestPiecesAreReadInOrderAndExactly(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "orders", "payments"))
	for p := range int32(3) {
		b.produce(t, "orders", p, 40)
		b.produce(t, "payments", p, 5)
	}
	options := b.options(topics("orders", "payments"))
	options.FetchBytes = 300 // a few batches an answer
	s := mustOpen(t, options)
	pieces := []batch.Piece{
		b.piece(t, "orders", 2, 7, 33), b.piece(t, "payments", 0, 0, 5), b.piece(t, "orders", 0, 10, 10), b.piece(t, "orders", 2, 33, 40),
		b.piece(t, "orders", 1, 0, 40), b.piece(t, "payments", 1, 4, 5),
	}
	r := read(t, s, pieces...)
	got := make([][]int64, len(pieces))
	for {
		records, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p := pieces[r.Piece()]
		if records.Topic != p.Topic || records.Partition != p.Partition {
			t.Fatalf("piece %d gave records of %s-%d", r.Piece(), records.Topic, records.Partition)
		}
		if records.Headers.Len != 0 {
			t.Fatal("got headers that were not asked for")
		}
		for i, offset := range records.Offsets {
			if value := string(records.Value.Bytes(i)); value != fmt.Sprint(offset) {
				t.Fatalf("%v has the value %q at %d", p.Range(), value, offset)
			}
		}
		got[r.Piece()] = append(got[r.Piece()], records.Offsets...)
	}
	for i, p := range pieces {
		if n := int64(len(got[i])); n != p.Until-p.From || n > 0 && (got[i][0] != p.From || got[i][n-1] != p.Until-1) {
			t.Errorf("%v gave offsets %v", p.Range(), got[i])
		}
		if at := r.Positions()[i]; at != p.Until {
			t.Errorf("%v was read to %d", p.Range(), at)
		}
	}
	if r.ReadBytes() == 0 {
		t.Error("no bytes were counted")
	}
	if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: got %v, want io.EOF again", err)
	}
}

func TestATaskWithoutPiecesIsAtItsEnd(t *testing.T) {
	b := newBroker(t)
	r := read(t, mustOpen(t, b.options(topics("orders"))))
	if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

func TestTheNextAnswerIsFetchedWhileThisOneIsDecoded(t *testing.T) {
	log := logOf(t)
	for i := range int64(10) {
		log.batches = append(log.batches, made{base: i, rows: []row{{offset: i}}}.bytes(t))
	}
	log.most = 1
	r := newTestReader(log, 1, pieceOf(0, 5), pieceOf(5, 5), pieceOf(7, 10))
	asked := make(chan int64, 20)
	r.fetch = func(ctx context.Context, piece batch.Piece, offset int64) (answer, error) {
		asked <- offset
		return log.fetch(ctx, piece, offset)
	}
	for i, want := range [][]int64{{0, 1}, {2}, {3}, {4}, {7}, {8}, {9}, nil} {
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, offset := range want {
			if got := <-asked; got != offset {
				t.Fatalf("block %d: asked for %d, want %d", i, got, offset)
			}
		}
	}
	if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) || len(asked) != 0 {
		t.Errorf("at the end: %v, with %d requests more", err, len(asked))
	}
}

func TestEndsWithoutRecordsAreReached(t *testing.T) { // https://github.com/apache/spark/pull/22042
	x, d := func(at, producer int64) made { // one record of a transaction
		return made{base: at, attrs: transactional, producer: producer, rows: []row{{offset: at}}}
	}, func(at int64) made { return made{base: at, rows: []row{{offset: at}}} }
	shell := func(base, last int64) made { return made{base: base, last: last} } // https://issues.apache.org/jira/browse/KAFKA-5443
	aborted := func(at, producer int64) made { return marker(at, producer, false) }
	committed := func(at, producer int64) made { return marker(at, producer, true) }
	for name, c := range map[string]struct {
		from, until int64
		batches     []made
		aborted     []abortedAt
		want        []int64
		next        int64
	}{
		"aborted whole":           {0, 4, []made{x(0, 1), x(1, 1), x(2, 1), aborted(3, 1)}, []abortedAt{{1, 0, 3}}, nil, 4},
		"aborted, committed":      {0, 4, []made{x(0, 1), aborted(1, 1), x(2, 1), committed(3, 1)}, []abortedAt{{1, 0, 1}}, []int64{2}, 4},
		"committed, aborted":      {0, 4, []made{x(0, 1), committed(1, 1), x(2, 1), aborted(3, 1)}, []abortedAt{{1, 2, 3}}, []int64{0}, 4},
		"two producers":           {0, 4, []made{x(0, 1), x(1, 2), aborted(2, 2), x(3, 1), committed(4, 1)}, []abortedAt{{2, 1, 2}}, []int64{0, 3}, 4},
		"a marker alone":          {4, 5, []made{committed(4, 1)}, nil, nil, 5},
		"an abort alone":          {3, 4, []made{aborted(3, 1)}, []abortedAt{{1, 0, 3}}, nil, 4},
		"marker before end":       {0, 3, []made{d(0), d(1), committed(2, 1)}, nil, []int64{0, 1}, 3}, // https://github.com/apache/hudi/issues/8258
		"many markers":            {0, 4, []made{x(0, 1), committed(1, 1), x(2, 1), committed(3, 1)}, nil, []int64{0, 2}, 4},
		"empty batch":             {10, 101, []made{shell(10, 99), d(100)}, nil, []int64{100}, 101},
		"empty batch at end":      {0, 10, []made{{base: 0, last: 4, rows: []row{{offset: 1}, {offset: 3}}}, shell(5, 9)}, nil, []int64{1, 3}, 10},
		"empty transaction":       {0, 6, []made{{base: 0, last: 4, attrs: transactional, producer: 7}, committed(5, 7)}, nil, nil, 6},
		"end compacted away":      {0, 10, []made{d(0), d(4), d(12)}, nil, []int64{0, 4}, 10},
		"all compacted away":      {3, 10, []made{d(12)}, nil, nil, 10},
		"batch over the end":      {2, 4, []made{{base: 0, rows: []row{{offset: 0}, {offset: 1}, {offset: 2}, {offset: 3}, {offset: 4}}}}, nil, []int64{2, 3}, 5},
		"hole at the end":         {0, 4, []made{{base: 0, last: 9, rows: []row{{offset: 0}, {offset: 9}}}}, nil, []int64{0}, 10},
		"batch sent again":        {3, 6, []made{d(0), d(1), {base: 2, rows: []row{{offset: 2}, {offset: 3}}}, {base: 3, rows: []row{{offset: 3}}}, d(4), d(5)}, nil, []int64{3, 4, 5}, 6},
		"listed out of order":     {0, 8, []made{x(0, 1), aborted(1, 1), x(2, 1), committed(3, 1), x(4, 1), aborted(5, 1), x(6, 1), committed(7, 1)}, []abortedAt{{1, 4, 5}, {1, 0, 1}}, []int64{2, 6}, 8},
		"transaction from before": {2, 6, []made{x(2, 1), aborted(3, 1), x(4, 1), committed(5, 1)}, []abortedAt{{1, 0, 3}}, []int64{4}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			log := logOf(t, c.batches...)
			log.aborted = c.aborted
			for _, most := range []int{1, 1 << 20} {
				log.most = most
				log.torn = true
				r := newTestReader(log, 1, pieceOf(c.from, c.until))
				rows, err := drain(r)
				if err != nil {
					t.Fatal(err)
				}
				wantOffsets(t, rows, c.want...)
				if at := r.Positions()[0]; at < c.until || at > c.next {
					t.Errorf("position is %d, want %d", at, c.next)
				}
			}
		})
	}
}

func TestRangesInsideAnAbortedTransactionGiveEveryRecordOnce(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	bad := b.begin(t, "bad")
	for _, v := range []string{"x0", "x1", "x2"} {
		bad.produce("orders", v)
	}
	bad.end(false) // 3
	good := b.begin(t, "good")
	good.produce("orders", "d4")
	good.end(true) // 5
	s := mustOpen(t, b.options(topics("orders")))
	for step := int64(1); step <= 6; step++ {
		var rows []row
		for from := int64(0); from < 6; from += step {
			rows = append(rows, mustDrain(t, read(t, s, b.piece(t, "orders", 0, from, min(6, from+step))))...)
		}
		wantOffsets(t, rows, 4)
	}
	r, err := s.Read(t.Context(), &batch.Task{Isolation: batch.ReadUncommitted, Pieces: []batch.Piece{b.piece(t, "orders", 0, 0, 6)}})
	if err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, mustDrain(t, r), 0, 1, 2, 4)
}

func TestABatchLargerThanTheFetchIsReadWhole(t *testing.T) { // https://github.com/confluentinc/kafka-rest/issues/608
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	big := make([]byte, 900_000)
	if err := b.client.ProduceSync(t.Context(), bigRecord("orders", big)).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.produce(t, "orders", 0, 2)
	options := b.options(topics("orders"))
	options.FetchBytes = 1000
	rows := mustDrain(t, read(t, mustOpen(t, options), b.piece(t, "orders", 0, 0, 3)))
	wantOffsets(t, rows, 0, 1, 2)
	if len(rows[0].value) != len(big) {
		t.Errorf("got %d bytes, want %d", len(rows[0].value), len(big))
	}

	options.MaxBatchBytes = 500_000
	_, err := drain(read(t, mustOpen(t, options), b.piece(t, "orders", 0, 0, 3)))
	wantFault(t, err, batch.BadRecords, "orders-0", "offset 0", "500,000 bytes")
}

func TestACallThatIsGivenUpCanBeRepeated(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	b.produce(t, "orders", 0, 3)
	s := mustOpen(t, b.options(topics("orders")))
	piece := b.piece(t, "orders", 0, 0, 3)
	held, release := make(chan struct{}), make(chan struct{})
	isFirst := first(1)
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if isFirst() {
			close(held)
			b.SleepControl(func() { <-release })
		}
		return nil, nil, false
	})
	r := read(t, s, piece)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-held; cancel() }()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	close(release)
	wantOffsets(t, mustDrain(t, r), 0, 1, 2)
}

func TestAnErrorStaysAlsoWhereTheContextHasEnded(t *testing.T) {
	bad := made{base: 0, rows: []row{{offset: 0}}}.bytes(t)
	bad[atCount+3] = 2
	log := &fakeLog{most: 1 << 20, batches: [][]byte{seal(bad), made{base: 1, rows: []row{{offset: 1}}}.bytes(t)}}
	r := newTestReader(log, 1, pieceOf(0, 2))
	r.send(0, 0)
	<-r.ahead.done
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{ended, ended, t.Context(), t.Context()} {
		if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
			wantFault(t, err, batch.BadRecords, "record batch at offset 0")
		}
	}
}

func TestAClosedReaderIsAnErrorAndCloseEndsItsRequest(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	s := mustOpen(t, b.options(topics("orders")))
	r := read(t, s, b.piece(t, "orders", 0, 0, 3)) // there is nothing: Next would wait
	r.send(0, 0)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(t.Context()); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v, want an error", err)
	}
}

func TestReadingAllocatesNothingOnceItRuns(t *testing.T) {
	if raced {
		t.Skip("the race detector makes pools allocate")
	}
	for _, codec := range codecs {
		log, _ := ordersLog(t, codec, 2000, 100)
		_, next := log.bounds()
		whole, err := log.fetch(t.Context(), batch.Piece{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := newTestReader(log, 1, pieceOf(0, next))
		r.fetch = func(context.Context, batch.Piece, int64) (answer, error) { return whole, nil }
		read := func() {
			r.positions[0], r.failed = 0, nil
			if n := count(t, r); n != 2000 {
				t.Fatalf("got %d rows", n)
			}
		}
		read()
		// What is left is the request of an answer: a goroutine and its channel.
		if got := testing.AllocsPerRun(10, read); got > 12 {
			t.Errorf("%s: %v allocations for 2000 rows", codec, got)
		}
	}
}

func TestReadersPassTheirBuffersOn(t *testing.T) {
	s := &Source{options: Options{MaxBatchBytes: 1 << 20}, limits: Limits{}.withDefaults(&settings{backoff: 1})}
	log := logOf(t, made{codec: "zstd", rows: []row{{offset: 0, value: []byte("a")}}}, made{base: 1, rows: []row{{offset: 1, value: []byte("b")}}})
	open := func(p batch.Piece) *Reader {
		r := newReader(t.Context(), s, []batch.Piece{p}, 1)
		r.fetch = log.fetch
		return r
	}
	one, two := open(pieceOf(0, 1)), open(pieceOf(1, 2))
	if one.workspace == two.workspace {
		t.Fatal("two open readers share their buffers")
	}
	used := one.workspace
	wantOffsets(t, mustDrain(t, one), 0)
	three := open(pieceOf(0, 2))
	if three.workspace != used {
		t.Error("a closed reader's buffers were not used again")
	}
	wantOffsets(t, mustDrain(t, two), 1)
	wantOffsets(t, mustDrain(t, three), 0, 1)
	if len(s.spare) != 2 {
		t.Errorf("%d buffers are kept, want 2", len(s.spare))
	}
}

func TestPositionsAreACopy(t *testing.T) {
	r := newTestReader(logOf(t, made{rows: []row{{offset: 0}}}), 1, pieceOf(0, 1))
	before := r.Positions()
	if _, err := drain(r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, []int64{0}) || !slices.Equal(r.Positions(), []int64{1}) {
		t.Errorf("got %v, then %v", before, r.Positions())
	}
}

// Memory is planned for two answers of the fetch size, not of the size that brokers may send a batch in.
func TestNothingIsOnItsWayWhileALargerAnswerIsInHand(t *testing.T) {
	one := func(offset int64) []byte {
		return made{base: offset, rows: []row{{offset: offset, value: make([]byte, 5000)}}}.bytes(t)
	}
	for name, c := range map[string]struct {
		fetchBytes int
		ahead      bool
	}{"larger": {4000, false}, "as asked for": {6000, true}} {
		t.Run(name, func(t *testing.T) {
			r := newTestReader(&fakeLog{most: 1, batches: [][]byte{one(0), one(1), one(2)}}, 0, pieceOf(0, 2), pieceOf(2, 3))
			r.source.options.FetchBytes = c.fetchBytes
			for offset := range int64(3) {
				records, err := r.Next(t.Context())
				if err != nil || records.Rows != 1 || records.Offsets[0] != offset {
					t.Fatalf("got %v, %v, want the record at %d", records, err, offset)
				}
				if got, want := r.ahead != nil, c.ahead && offset < 2; got != want {
					t.Errorf("at offset %d: on its way is %v, want %v", offset, got, want)
				}
				if r.rest != nil || r.decoder.raw != nil {
					t.Errorf("at offset %d: the answer that is decoded is kept", offset)
				}
			}
			if rows, err := drain(r); err != nil || len(rows) > 0 {
				t.Errorf("got %d more rows, %v", len(rows), err)
			}
		})
	}
}
