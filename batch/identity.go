package batch

import "sluice/offsets"

// Identity is what a checkpoint belongs to. A run whose job does not fit it stops.
type Identity struct {
	Version int `json:"version"`
	// Name is the query's name.
	Name string `json:"name"`
	// ClusterID is the Kafka cluster's id; empty if it does not tell.
	ClusterID string `json:"clusterId"`
	// Sink names the table and its catalog.
	Sink string `json:"sink"`
	// Tables maps the role of each output ("main") to its table's UUID.
	Tables map[string]string `json:"tables"`
	// Keys holds the job keys that make a new query when they change, as they were.
	Keys map[string]string `json:"keys"`
	// LostLetters are the places of dead letters that somebody has decided to go on without, by their UUID.
	LostLetters map[string]LostLetters `json:"lostDeadLetters,omitempty"`
	// Imported is where the query began, if that was where another system stopped; nil if not.
	Imported *Imported `json:"imported,omitempty"`
}

// BeganAt is what was imported, if that is where the query began; nil if not. Topic ids and leader epochs are of that start.
func (i *Identity) BeganAt(start offsets.Offsets) *Imported {
	if i == nil || i.Imported == nil || !i.Imported.Start().Equal(start) {
		return nil
	}
	return i.Imported
}

// LostLetters records the decision to go on without the dead letters that a place had. Of one that was rolled back it holds
// for that state alone.
type LostLetters struct {
	// Place is what LetterPlace.String calls it, Found says what was wrong with it.
	Place string `json:"place"`
	Found string `json:"found"`
	// Acceptance has the batch and the snapshot that the bookkeeping of the place named; None and 0 if it was gone.
	Acceptance
	// Missing counts the dead letters that the place lacked then, by the ledger of the rows; nil where that was not counted.
	Missing *int64 `json:"missing,omitempty"`
}

// AcceptedLoss is the decision about a place of dead letters by its UUID; nil if there is none.
func (i *Identity) AcceptedLoss(uuid string) *Acceptance {
	if i == nil {
		return nil
	}
	if lost, ok := i.LostLetters[uuid]; ok {
		return &lost.Acceptance
	}
	return nil
}
