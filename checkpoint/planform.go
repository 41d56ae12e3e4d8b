package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// Our keys in an entry's conf. All values are strings, because Spark's are.
const (
	ours = "sluice."
	// keyFormat is the version of what these keys mean. A reader refuses any other; keys it does not know it ignores.
	keyFormat       = ours + "format"
	keyBatch        = ours + "batch"
	keyStart        = ours + "start"
	keyTopicIDs     = ours + "topicIds"
	keyLeaderEpochs = ours + "leaderEpochs"
	keyTables       = ours + "tables"
	keyIsolation    = ours + "isolation"
	// keyIncludeHeaders is "true" or "false"; plans of before have none.
	keyIncludeHeaders = ours + "includeHeaders"
	// keyValue is how values become columns; plans of before have none, they are raw.
	keyValue         = ours + "value"
	keyLeaseEpoch    = ours + "leaseEpoch"
	keyTableSequence = ours + "tableSequence"
	keyLimits        = ours + "limits"
	keyRebuilt       = ours + "rebuilt"
	keyAccepted      = ours + "accepted"
	// keyLosses is what the batch goes on without, keyAbsent the partitions that the query goes on without; both are left out
	// where there are none.
	keyLosses = ours + "losses"
	keyAbsent = ours + "absent"
	keyNonce  = ours + "nonce"
	// keySum is the SHA-256, in hex, of the whole file with this value empty.
	keySum = ours + "sha256"
)

// keyShuffles is the setting that Spark 4.2 must find in the newest plan of version 1 and in the one before it, where the newest is
// not marked as done: it looks whether the two differ, and fails where there is none. Plans of a query that Spark has begun have
// it; in others it is Spark's default, and without meaning for a query that sluice can have.
const (
	keyShuffles   = "spark.sql.shuffle.partitions"
	sparkShuffles = "200"
)

// planFormat is the format of our keys. It changes when an older program would misread a plan, not when keys are added.
const planFormat = "1"

// limits is the value of keyLimits.
type limits struct {
	MaxOffsets int64 `json:"maxOffsets"`
	MaxBytes   int64 `json:"maxBytes,omitempty"`
}

// marshalPlan renders a plan on the basis of the entry before it. The result parses back to the same plan.
func marshalPlan(plan *batch.Plan, before *entry) ([]byte, error) {
	e := before.successor()
	e.timestamp, e.end = plan.TimestampMs, plan.End
	if e.version == 1 && e.conf[keyShuffles] == "" {
		e.conf[keyShuffles] = sparkShuffles
	}
	if err := describe(plan, e.conf); err != nil {
		return nil, err
	}
	e.conf[keySum] = ""
	unsigned, err := e.marshal()
	if err != nil {
		return nil, err
	}
	e.conf[keySum] = sum(unsigned)
	text, err := e.marshal()
	if err != nil {
		return nil, err
	}
	// What could not be read again must not be written: topic names and carried settings come from elsewhere.
	if written, err := parseEntry(text); err != nil {
		return nil, err
	} else if _, err := written.plan(plan.Batch, text); err != nil {
		return nil, err
	}
	return text, nil
}

// describe puts into conf what Spark has no place for.
func describe(plan *batch.Plan, conf map[string]string) error {
	epochs := offsets.Offsets{}
	for tp, epoch := range plan.LeaderEpochs {
		epochs[tp] = int64(epoch)
	}
	values := map[string]any{keyStart: plan.Start, keyLimits: limits{plan.MaxOffsets, plan.MaxBytes}}
	if len(plan.TopicIDs) > 0 {
		values[keyTopicIDs] = plan.TopicIDs
	}
	if len(epochs) > 0 {
		values[keyLeaderEpochs] = epochs
	}
	if len(plan.Tables) > 0 {
		values[keyTables] = plan.Tables
	}
	if plan.Accepted != nil {
		values[keyAccepted] = plan.Accepted
	}
	if len(plan.Losses) > 0 {
		values[keyLosses] = plan.Losses
	}
	if len(plan.Absent) > 0 {
		values[keyAbsent] = plan.Absent
	}
	if plan.Value != nil {
		values[keyValue] = plan.Value
	}
	for key, value := range values {
		text, err := compact(value)
		if err != nil {
			return err
		}
		conf[key] = string(text)
	}
	conf[keyFormat], conf[keyBatch] = planFormat, strconv.FormatInt(plan.Batch, 10)
	conf[keyIsolation], conf[keyNonce] = string(plan.Isolation), plan.Nonce
	conf[keyLeaseEpoch], conf[keyTableSequence] = strconv.FormatInt(plan.LeaseEpoch, 10), strconv.FormatInt(plan.TableSequence, 10)
	if plan.IncludeHeaders != nil {
		conf[keyIncludeHeaders] = strconv.FormatBool(*plan.IncludeHeaders)
	}
	if plan.Rebuilt != "" {
		conf[keyRebuilt] = plan.Rebuilt
	}
	return nil
}

// isOurs reports whether sluice wrote the entry. Our keys show that wherever they are: with one bit changed in "conf"
// they are in a member of another name, and the plan must not pass for one of Spark's.
func (e *entry) isOurs() bool {
	for name := range e.conf {
		if strings.HasPrefix(name, ours) {
			return true
		}
	}
	for _, value := range e.extra {
		if bytes.Contains(value, []byte(`"`+ours)) {
			return true
		}
	}
	return false
}

// plan is the plan that the entry, stored as text under the number given, holds. One of Spark's has no start yet.
func (e *entry) plan(number int64, text []byte) (*batch.Plan, error) {
	plan := &batch.Plan{Batch: number, End: e.end, TimestampMs: e.timestamp, Hash: sum(text)}
	if !e.isOurs() {
		plan.Foreign, plan.Isolation = true, batch.ReadUncommitted
		return plan, nil
	}
	if err := e.verify(number, text); err != nil {
		return nil, err
	}
	if err := e.fill(plan); err != nil {
		return nil, err
	}
	return plan, plan.Validate()
}

// verify checks that the file is whole, of a format that we know, and where it was written to.
func (e *entry) verify(number int64, text []byte) error {
	if format := e.conf[keyFormat]; format != planFormat {
		return fmt.Errorf("%s is %q; this program knows %s (a newer sluice wrote it?)", keyFormat, format, planFormat)
	}
	member := fmt.Appendf(nil, `"%s":"`, keySum)
	value := e.conf[keySum]
	signed, empty := append(bytes.Clone(member), value+`"`...), append(bytes.Clone(member), '"')
	if value == "" || bytes.Count(text, signed) != 1 || sum(bytes.Replace(text, signed, empty, 1)) != value {
		return errors.New("its checksum does not match: it was changed or damaged after it was written")
	}
	if e.conf[keyBatch] != strconv.FormatInt(number, 10) {
		return fmt.Errorf("it was written as batch %q: it was copied or renamed", e.conf[keyBatch])
	}
	return nil
}

// fill reads our keys into the plan.
func (e *entry) fill(plan *batch.Plan) (err error) {
	if plan.Start, err = parsePositions([]byte(e.conf[keyStart])); err != nil {
		return fmt.Errorf("%s: %w", keyStart, err)
	}
	if plan.LeaderEpochs, err = parseEpochs(e.conf[keyLeaderEpochs]); err != nil {
		return fmt.Errorf("%s: %w", keyLeaderEpochs, err)
	}
	var limits limits
	for key, into := range map[string]any{keyTopicIDs: &plan.TopicIDs, keyTables: &plan.Tables, keyAccepted: &plan.Accepted, keyLimits: &limits,
		keyIncludeHeaders: &plan.IncludeHeaders, keyLosses: &plan.Losses, keyAbsent: &plan.Absent} {
		if text, ok := e.conf[key]; ok {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if plan.Value, err = parseValue(e.conf[keyValue]); err != nil {
		return fmt.Errorf("%s: %w (a newer sluice wrote it?)", keyValue, err)
	}
	for key, into := range map[string]*int64{keyLeaseEpoch: &plan.LeaseEpoch, keyTableSequence: &plan.TableSequence} {
		if *into, err = strconv.ParseInt(e.conf[key], 10, 64); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	plan.MaxOffsets, plan.MaxBytes, plan.Nonce, plan.Rebuilt = limits.MaxOffsets, limits.MaxBytes, e.conf[keyNonce], e.conf[keyRebuilt]
	switch plan.Isolation = batch.Isolation(e.conf[keyIsolation]); plan.Isolation {
	case batch.ReadCommitted, batch.ReadUncommitted:
	default:
		return fmt.Errorf("%s is %q", keyIsolation, plan.Isolation)
	}
	if plan.Nonce == "" {
		return fmt.Errorf("%s is missing", keyNonce)
	}
	return nil
}

// parseValue refuses what it does not know: rows made without it would be others than those that were planned.
func parseValue(text string) (*batch.Value, error) {
	if text == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	value := &batch.Value{}
	if err := d.Decode(value); err != nil {
		return nil, err
	}
	if value.Format == "" {
		return nil, errors.New("it names no format")
	}
	return value, nil
}

func parseEpochs(text string) (map[offsets.TopicPartition]int32, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := offsets.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	epochs := make(map[offsets.TopicPartition]int32, len(parsed))
	for tp, epoch := range parsed {
		if epochs[tp] = int32(epoch); int64(epochs[tp]) != epoch {
			return nil, fmt.Errorf("%s: %d is no leader epoch", tp, epoch)
		}
	}
	return epochs, nil
}

// startFrom gives a plan of Spark's its start: where the batch before ended. A partition that is new in this batch
// begins at 0: Spark resolves "earliest" when it plans, does not write it down, and reports data loss if it is not 0. A
// partition that was let go is left out; one that Spark moved back reads nothing, as with Spark.
func startFrom(plan *batch.Plan, before offsets.Offsets) {
	plan.Start = make(offsets.Offsets, len(plan.End))
	for tp, end := range plan.End {
		plan.Start[tp] = min(before[tp], end)
	}
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
