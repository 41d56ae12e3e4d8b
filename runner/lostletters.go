package runner

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// lostLettersOption is what somebody says who goes on without dead letters.
const lostLettersOption = "--lost-dead-letters accept"

// LettersFault is why a run would stop over a place of dead letters: it is gone, another one, or was rolled back since the
// query with this identity (nil if it has none) wrote there, and nobody has decided about that; nil if it is fine. rows is a
// reading of the rows' table that is no younger than t.
func LettersFault(place batch.LetterPlace, t, rows *batch.Table, identity *batch.Identity) error {
	return (&letters{place: place, table: t}).check(identity, rows)
}

// LettersUUID is the UUID of a place of dead letters as the identity has it; empty if the query never wrote there.
func LettersUUID(place batch.LetterPlace, identity *batch.Identity) string {
	if identity == nil {
		return ""
	}
	return identity.Tables[lettersRole(place)]
}

// check refuses a place that is not as the identity's query left it. Of one that forgets nothing is asked.
func (l *letters) check(identity *batch.Identity, rows *batch.Table) error {
	if l.forgets() {
		return nil
	}
	if broken := l.table.Applied.Broken; broken != nil {
		return fmt.Errorf("%s: %w", l, broken)
	}
	uuid := LettersUUID(l.place, identity)
	if identity.AcceptedLoss(uuid) != nil && uuid != l.table.UUID { // whoever decided so goes on with what is there now
		uuid = ""
	}
	if err := l.checkUUID(uuid, identity); err != nil {
		return err
	}
	if n, ok := l.lacks(identity, rows); ok && n > l.accepted(identity) {
		return l.fault("lacks dead letters: the ledger of the rows counts %d more than the folder has, which has %s as its newest (its newest manifests were removed, or it was restored from a backup?)", n, landed(l.table.Applied.Batch))
	}
	return nil
}

// lacks counts the dead letters that the ledger of the rows has and a folder's does not. A table keeps its ledger when it is
// rolled back, so that it need not be counted; a folder's goes with its newest manifest. ok is false where other places
// had some of them, or none can tell.
func (l *letters) lacks(identity *batch.Identity, rows *batch.Table) (n int64, ok bool) {
	if l.place.Kind != batch.InPath || rows == nil || rows.Applied.Ledger == nil {
		return 0, false
	}
	if used := usedLetters(identity); len(used) != 1 || used[0] != l.place {
		return 0, false
	}
	var has map[offsets.TopicPartition]batch.Account
	if ledger := l.table.Applied.Ledger; ledger != nil {
		has = ledger.Accounts
	}
	for tp, a := range rows.Applied.Ledger.Accounts {
		n += max(0, a.DeadLetters-has[tp].Rows)
	}
	return n, true
}

// accepted is how many may lack, since somebody has decided so about the place.
func (l *letters) accepted(identity *batch.Identity) (n int64) {
	for _, lost := range identity.LostLetters {
		switch {
		case lost.Place != l.place.String():
		case lost.Missing == nil: // decided when they were not counted
			return math.MaxInt64
		default:
			n = max(n, *lost.Missing)
		}
	}
	return n
}

// fault is a place that is not as the query left it.
func (l *letters) fault(format string, parts ...any) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s "+format, append([]any{l}, parts...)...),
		Hint: fmt.Sprintf("bring it back, or go on with another deadLetter.%s, or choose once: %s (go on without what it had); the dead letters elsewhere are where they were", l.place.Kind, lostLettersOption)}
}

// checkUUID refuses a place that is gone, replaced or rolled back. uuid is what it should be, empty if unknown.
func (l *letters) checkUUID(uuid string, identity *batch.Identity) error {
	switch t := l.table; {
	case uuid != "" && !t.Exists:
		return l.fault("is gone; this query wrote to the one with UUID %s", uuid)
	case uuid != "" && t.UUID != uuid:
		return l.fault("is not the one that this query wrote to: its UUID is %s and was %s (dropped and created again?)", t.UUID, uuid)
	case t.Applied.RolledBack && !identity.AcceptedLoss(t.UUID).Covers(&t.Applied):
		return l.fault("was rolled back: snapshot %d, which holds the dead letters of batch %d, is no longer in its history", t.Applied.Ledger.Snapshot, t.Applied.Ledger.Batch)
	}
	return nil
}

// decideLetters takes the decision to go on without dead letters that places have lost, if it was given: about every place
// that the query has used and that is not as it was left. sign makes it durable.
func (r *run) decideLetters(ctx context.Context) error {
	if !r.AcceptLostLetters {
		return nil
	}
	decided := false
	for _, place := range usedLetters(r.identity) {
		l, err := r.openLetters(ctx, place)
		if err != nil {
			return err
		}
		found := l.check(r.identity, r.table)
		switch {
		case l.table.Applied.Broken != nil:
			return found
		case found != nil:
			r.acceptLoss(l, found)
			decided = true
		}
	}
	if !decided {
		r.idle("--lost-dead-letters", "no place of dead letters has lost any that nobody has decided about")
	}
	return nil
}

// usedLetters are the places that an identity names.
func usedLetters(identity *batch.Identity) (places []batch.LetterPlace) {
	if identity == nil {
		return nil
	}
	for _, role := range slices.Sorted(maps.Keys(identity.Tables)) {
		if text, ok := strings.CutPrefix(role, letterTable+"/"); ok {
			places = append(places, batch.ParseLetterPlace(text))
		}
	}
	return places
}

// acceptLoss notes the decision about one place in the identity that this run goes by.
func (r *run) acceptLoss(l *letters, found error) {
	r.noteLoss(l, found.Error())
	r.remark("going on without the dead letters that were lost, as chosen with " + lostLettersOption + ": " + found.Error())
}

// noteLoss puts what became of a place into the identity that this run goes by.
func (r *run) noteLoss(l *letters, found string) {
	uuid, lost := LettersUUID(l.place, r.identity), maps.Clone(r.identity.LostLetters)
	if lost == nil {
		lost = map[string]batch.LostLetters{}
	}
	decision := batch.Acceptance{Choice: batch.Accept, Batch: batch.None}
	if l.table.Exists && l.table.UUID == uuid {
		decision.Batch, decision.Snapshot = l.table.Applied.Batch, l.table.Applied.Snapshot
	}
	entry := batch.LostLetters{Place: l.place.String(), Found: found, Acceptance: decision}
	if n, ok := l.lacks(r.identity, r.table); ok {
		entry.Missing = &n
	}
	lost[uuid] = entry
	decided := *r.identity
	decided.LostLetters = lost
	r.identity, r.unsigned = &decided, true
}
