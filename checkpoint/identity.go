package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/batch"
	"sluice/objectstore"
)

// identityForm is the stored form of identity.json.
type identityForm struct {
	batch.Identity
	// Probed is the store that proved, when it held this checkpoint, that it enforces conditions. A checkpoint that was
	// copied elsewhere is probed again.
	Probed string `json:"probed"`
}

// Identity reads what the checkpoint belongs to; nil if it was never written.
func (l *Log) Identity(ctx context.Context) (*batch.Identity, error) {
	form, err := l.readIdentity(ctx)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	if form == nil {
		return nil, nil
	}
	return &form.Identity, nil
}

func (l *Log) readIdentity(ctx context.Context) (*identityForm, error) {
	data, version, err := l.store.Get(ctx, identityKey)
	if errors.Is(err, objectstore.ErrNotFound) {
		l.identity = stored{asked: true}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var form identityForm
	if _, err = parseMembers(data); err == nil {
		err = json.Unmarshal(data, &form)
	}
	if err == nil && form.Version != batch.FormatVersion {
		err = fmt.Errorf("its format is version %d; this program knows %d", form.Version, batch.FormatVersion)
	}
	if err != nil {
		return nil, l.damaged(identityKey, err, "restore it from a backup, or delete it: the next run writes it again from its job, so look at the job first")
	}
	l.identity = stored{asked: true, data: data, version: version}
	l.probed = l.probed || form.Probed == l.store.String()
	return &form, nil
}

// SetIdentity replaces the identity that Identity or the last SetIdentity returned, or writes the first one. Fenced if
// another run did so meanwhile; the same identity by two runs is no conflict.
func (l *Log) SetIdentity(ctx context.Context, identity *batch.Identity) error {
	if err := l.ensureProbed(ctx); err != nil {
		return err
	}
	return l.writeIdentity(ctx, identity)
}

func (l *Log) writeIdentity(ctx context.Context, identity *batch.Identity) error {
	form := identityForm{Identity: *identity, Probed: l.store.String()}
	form.Version = batch.FormatVersion
	data, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		return fmt.Errorf("set identity: %w", err)
	}
	if bytes.Equal(data, l.identity.data) {
		return nil
	}
	var version objectstore.Version
	if l.identity.version == "" {
		version, err = objectstore.PutOwned(ctx, l.store, identityKey, data)
	} else {
		version, err = objectstore.ReplaceOwned(ctx, l.store, identityKey, data, l.identity.version)
	}
	if errors.Is(err, objectstore.ErrConflict) {
		return &batch.Fault{Class: batch.Fenced, Message: "another run has changed " + identityKey + " meanwhile", Err: err, Hint: "run again once the other run has ended"}
	}
	if err != nil {
		return fmt.Errorf("set identity: %w", err)
	}
	l.identity = stored{asked: true, data: data, version: version}
	return nil
}

// ProbePrefix begins the keys of the objects that ask a store whether it enforces conditions (objectstore.Probe).
const ProbePrefix = "lock/probe-"

// Prove asks the store, unless it is known, whether it enforces the conditions that a checkpoint rests on. Whatever
// creates something does so by itself; this is for who has to know before anything else is made. It may be repeated.
func (l *Log) Prove(ctx context.Context) error { return l.ensureProbed(ctx) }

// ensureProbed probes the store before the first create-only write, once per checkpoint and store: identity.json
// records it.
func (l *Log) ensureProbed(ctx context.Context) error {
	if l.probed {
		return nil
	}
	if !l.identity.asked {
		if _, err := l.readIdentity(ctx); err != nil {
			return err
		}
		defer func() { l.identity = stored{} }() // SetIdentity goes by what Identity has returned, not by this
	}
	if l.probed {
		return nil
	}
	if err := objectstore.Probe(ctx, l.store, ProbePrefix); err != nil {
		return err
	}
	l.probed = true
	if l.identity.version == "" {
		return nil // the first SetIdentity will record it
	}
	var form identityForm
	if err := json.Unmarshal(l.identity.data, &form); err != nil {
		return err
	}
	err := l.writeIdentity(ctx, &form.Identity)
	if batch.ClassOf(err) == batch.Fenced {
		return nil // whoever changed it has probed too
	}
	return err
}
