package batch

import "errors"

// Class says what an error means to whoever started the run. Every class has its exit code (in cmd); an error without
// a class is Failed.
type Class int

// The classes.
const (
	// Failed: safe to run again.
	Failed Class = iota
	// NotSetUp: a topic, table, catalog, bucket or permission is missing.
	NotSetUp
	// Fenced: another run is active, or has overtaken this one. Nothing was harmed.
	Fenced
	// DataLoss: records that the query has yet to read are gone.
	DataLoss
	// Inconsistent: checkpoint, table and job do not fit together; somebody must decide.
	Inconsistent
	// BadRecords: a record batch cannot be read. It is damaged, larger than the limit, or holds what the table cannot. No
	// policy lets a run go on without it yet.
	BadRecords
	// UnknownOutcome: a commit may or may not have happened and the table could not be asked. The next run settles it.
	UnknownOutcome
)

// String is the name of the class in records and JSON.
func (c Class) String() string {
	switch c {
	case NotSetUp:
		return "not set up"
	case Fenced:
		return "another run is active"
	case DataLoss:
		return "data loss"
	case Inconsistent:
		return "inconsistent"
	case BadRecords:
		return "bad records"
	case UnknownOutcome:
		return "unknown outcome"
	}
	return "failed"
}

// Fault is an error with its class and with what to do about it.
type Fault struct {
	Class Class
	// Message says what happened, and to which topic, partition, offset or object.
	Message string
	// Hint is one sentence: what to do next. It may be empty for Failed.
	Hint string
	// Err is the cause, nil if the fault is its own.
	Err error
	// Stale says that somebody altered the table while a batch was made for it, and that nothing of the batch is there:
	// made anew for the table as it is, the batch may be committed.
	Stale bool
}

// Error is the message and its cause, without the hint.
func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Message
	}
	if f.Message == "" {
		return f.Err.Error()
	}
	return f.Message + ": " + f.Err.Error()
}

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ClassOf is the class of the outermost Fault in the chain, Failed if there is none.
func ClassOf(err error) Class {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault.Class
	}
	return Failed
}

// IsStale reports whether the outermost Fault in the chain is Stale.
func IsStale(err error) bool {
	var fault *Fault
	return errors.As(err, &fault) && fault.Stale
}

// HintOf is the outermost hint in the chain, empty if there is none.
func HintOf(err error) string {
	for err != nil {
		var fault *Fault
		if !errors.As(err, &fault) {
			return ""
		}
		if fault.Hint != "" {
			return fault.Hint
		}
		err = fault.Err
	}
	return ""
}
