package lakesink

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"

	"sluice/columns"
	"sluice/offsets"
)

// Letter is a dead letter. Its bytes are valid until the next one is read.
type Letter struct {
	offsets.TopicPartition
	Offset int64
	// TimestampMs is -1 where the record has none.
	TimestampMs int64
	Key, Value  []byte
	// Headers are the record's, nil where it has none.
	Headers []Header
	// Class is why the record is no row, in a word; Error says it in full.
	Class, Error string
	// Batch of Query is the one that read the record; QueryName is its name.
	Batch            int64
	Query, QueryName string
}

// Header is a header of a record.
type Header struct {
	Key   []byte
	Value []byte
}

// The columns of dead letters.
const (
	letterKey       = "kafka_key"
	letterValue     = "kafka_value"
	letterHeaders   = "kafka_headers"
	letterTopic     = "kafka_topic"
	letterPartition = "kafka_partition"
	letterOffset    = "kafka_offset"
	letterTimestamp = "kafka_timestamp"
	letterClass     = "error_class"
	letterError     = "error"
	letterBatch     = "batch_id"
	letterQuery     = "query_id"
	letterName      = "query_name"
)

// LetterParts says what of dead letters is read: their place alone, also why they are none, or all.
type LetterParts int

// The parts; each has what those before it have.
const (
	LetterPlaces LetterParts = iota
	LetterReasons
	WholeLetters
)

func (p LetterParts) columns() []string {
	names := []string{letterTopic, letterPartition, letterOffset, letterBatch, letterQuery}
	if p >= LetterReasons {
		names = append(names, letterClass, letterError, letterTimestamp, letterName)
	}
	if p >= WholeLetters {
		names = append(names, letterKey, letterValue, letterHeaders)
	}
	return names
}

// lettersAtOnce bounds how many dead letters are in memory while whole ones are read.
const lettersAtOnce = 64

// Letterbox is a place that dead letters are read from: a table, or what can be read like one.
type Letterbox interface {
	TableName() string
	// Load reads it afresh. One that is not there is catalog.ErrNoSuchTable or ErrNoSuchNamespace.
	Load(ctx context.Context) (*table.Table, error)
}

// Letters visits the dead letters in a place, those of the newest files first and in a file in their order, until visit
// says no or fails. One that is not there is as in Load.
func Letters(ctx context.Context, in Letterbox, parts LetterParts, visit func(*Letter) (more bool, err error)) error {
	t, err := in.Load(ctx)
	if err != nil {
		return err
	}
	return lettersOf(ctx, in.TableName(), t, parts, visit)
}

func lettersOf(ctx context.Context, place string, t *table.Table, parts LetterParts, visit func(*Letter) (bool, error)) error {
	names := parts.columns()
	for _, name := range names {
		if _, ok := t.Schema().FindFieldByName(name); !ok {
			return notSetUp(fmt.Sprintf("table %s has no column %s: it is no table of dead letters", place, name), "check deadLetter.table, or deadLetter.path", nil)
		}
	}
	size := 64 << 10
	if parts == WholeLetters {
		size = lettersAtOnce
	}
	err := eachBatch(ctx, t, names, size, nil, func(rows arrow.RecordBatch) (bool, error) {
		cells, err := lettersIn(rows)
		if err != nil {
			return false, err
		}
		for at := range int(rows.NumRows()) {
			if more, err := visit(cells.letter(at)); !more || err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read the dead letters in %s: %w", place, err)
	}
	return nil
}

// eachBatch reads columns of the table's current snapshot, the newest files first, without those that skip names, until
// visit says no.
func eachBatch(ctx context.Context, t *table.Table, names []string, size int, skip func(table.FileScanTask) bool, visit func(arrow.RecordBatch) (bool, error)) (err error) {
	defer func() {
		if p := recover(); p != nil { // what the libraries do with some damaged files
			err = fmt.Errorf("a data file is damaged: %v", p)
		}
	}()
	if t.CurrentSnapshot() == nil {
		return nil
	}
	scan := t.Scan(table.WithSelectedFields(names...), table.WithMaxConcurrency(1), table.WithArrowBatchSize(size))
	defer scan.Close()
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return err
	}
	if skip != nil {
		tasks = slices.DeleteFunc(tasks, skip)
	}
	slices.SortStableFunc(tasks, func(a, b table.FileScanTask) int { return cmp.Compare(sequenceOf(b), sequenceOf(a)) })
	if len(tasks) == 0 {
		return nil
	}
	_, batches, err := scan.ReadTasks(ctx, tasks)
	if err != nil {
		return err
	}
	for rows, err := range batches {
		if err != nil {
			return err
		}
		more, err := visit(rows)
		rows.Release()
		if !more || err != nil {
			return err
		}
	}
	return nil
}

func sequenceOf(task table.FileScanTask) int64 {
	if task.DataSequenceNumber == nil {
		return -1
	}
	return *task.DataSequenceNumber
}

// letterCells are the columns of some dead letters, nil where they were not read.
type letterCells struct {
	texts      map[string]interface{ Value(int) string }
	bytes      map[string]interface{ Value(int) []byte }
	all        map[string]arrow.Array
	partition  *array.Int32
	offset     *array.Int64
	batch      *array.Int64
	timestamp  *array.Timestamp
	headers    *array.List
	headerKeys interface{ Value(int) string }
	next       Letter
}

func lettersIn(rows arrow.RecordBatch) (*letterCells, error) {
	c := &letterCells{texts: map[string]interface{ Value(int) string }{}, bytes: map[string]interface{ Value(int) []byte }{}, all: map[string]arrow.Array{}}
	for i, f := range rows.Schema().Fields() {
		c.all[f.Name] = rows.Column(i)
		ok := true
		switch a := rows.Column(i).(type) {
		case *array.Binary:
			c.bytes[f.Name] = a
		case *array.LargeBinary:
			c.bytes[f.Name] = a
		case *array.Int32:
			c.partition = a
		case *array.Timestamp:
			c.timestamp = a
		case *array.Int64:
			if f.Name == letterOffset {
				c.offset = a
			} else {
				c.batch = a
			}
		case *array.List:
			c.headers = a
			ok = c.headerColumns(a)
		default:
			c.texts[f.Name], ok = a.(interface{ Value(int) string })
		}
		if !ok {
			return nil, fmt.Errorf("column %s is read as %s", f.Name, rows.Column(i).DataType())
		}
	}
	if c.partition == nil || c.offset == nil || c.batch == nil || c.texts[letterTopic] == nil || c.texts[letterQuery] == nil {
		return nil, fmt.Errorf("the columns of a dead letter's place have other types")
	}
	return c, nil
}

// headerColumns takes the pairs of key and value inside the list.
func (c *letterCells) headerColumns(a *array.List) bool {
	pairs, ok := a.ListValues().(*array.Struct)
	if !ok || pairs.NumField() != 2 {
		return false
	}
	keys, ok := pairs.Field(0).(interface{ Value(int) string })
	values, fine := pairs.Field(1).(interface{ Value(int) []byte })
	c.headerKeys, c.bytes[letterHeaders], c.all[letterHeaders+".value"] = keys, values, pairs.Field(1)
	return ok && fine
}

func (c *letterCells) text(name string, i int) string {
	if a := c.texts[name]; a != nil && !c.all[name].IsNull(i) {
		return string([]byte(a.Value(i))) // it outlives the columns
	}
	return ""
}

func (c *letterCells) value(name string, i int) []byte {
	if a := c.bytes[name]; a != nil && !c.all[name].IsNull(i) {
		return append([]byte{}, a.Value(i)...) // and never nil
	}
	return nil
}

func (c *letterCells) letter(i int) *Letter {
	c.next = Letter{TopicPartition: offsets.TopicPartition{Topic: c.text(letterTopic, i), Partition: c.partition.Value(i)}, Offset: c.offset.Value(i), TimestampMs: -1,
		Key: c.value(letterKey, i), Value: c.value(letterValue, i), Class: c.text(letterClass, i), Error: c.text(letterError, i),
		Batch: c.batch.Value(i), Query: c.text(letterQuery, i), QueryName: c.text(letterName, i)}
	if c.timestamp != nil && c.timestamp.IsValid(i) {
		c.next.TimestampMs = int64(c.timestamp.Value(i)) / 1000
	}
	if c.headers == nil || c.headers.IsNull(i) {
		return &c.next
	}
	from, until := c.headers.ValueOffsets(i)
	c.next.Headers = []Header{}
	for k := int(from); k < int(until); k++ {
		h := Header{Key: []byte(c.headerKeys.Value(k))}
		if !c.all[letterHeaders+".value"].IsNull(k) {
			h.Value = append([]byte{}, c.bytes[letterHeaders].Value(k)...)
		}
		c.next.Headers = append(c.next.Headers, h)
	}
	return &c.next
}

// headersType is how records have their headers.
var headersType = columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Required: true, Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{
	{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "value", Type: columns.Type{Kind: columns.Binary}}}}}}}

// newRecords are records of one partition, none yet.
func newRecords(tp offsets.TopicPartition) *columns.Records {
	return &columns.Records{Topic: tp.Topic, Partition: tp.Partition, Key: columns.Array{Kind: columns.Binary}, Value: columns.Array{Kind: columns.Binary}, Headers: headersType.Array()}
}

// append adds the letter to the records of its partition, as Kafka had it.
func (l *Letter) append(to *columns.Records) {
	to.Offsets, to.Timestamps = append(to.Offsets, l.Offset), append(to.Timestamps, l.TimestampMs)
	appendBytes(&to.Key, l.Key)
	appendBytes(&to.Value, l.Value)
	to.Rows++
	if l.Headers == nil {
		to.Headers.AppendNullSpan()
		return
	}
	pair := &to.Headers.Children[0]
	for _, h := range l.Headers {
		pair.Children[0].AppendBytes(h.Key)
		appendBytes(&pair.Children[1], h.Value)
		pair.AppendStruct()
	}
	to.Headers.AppendSpan()
}

func appendBytes(to *columns.Array, value []byte) {
	if value == nil {
		to.AppendNullBytes()
	} else {
		to.AppendBytes(value)
	}
}
