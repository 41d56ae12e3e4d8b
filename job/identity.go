package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// Identity is what makes this job the query that it is: the canonical values of all keys of class NewQuery that are
// set. The main branch is left out: it is where rows went before there were others. None is secret. Brokers are not among them, since the cluster's id is kept beside it; nor is the checkpoint's
// place, nor the catalog's, since the table's UUID is.
func (j *Job) Identity() map[string]string {
	identity := map[string]string{}
	for _, k := range keys {
		if text := k.text(j); k.Class == NewQuery && text != "" && !(k.Path == branchPath && text == mainBranch) {
			identity[k.Path] = text
		}
	}
	return identity
}

// Change is a difference between two identities that the query does not survive.
type Change struct {
	// Key is the path of the key; Was and Is are its values, empty if it was or is not set.
	Key, Was, Is string
	// Why says what is wrong with it, where the values do not say so.
	Why string
}

// String is "source.subscribe was … and is …: no longer reads orders".
func (c Change) String() string {
	text := fmt.Sprintf("%s was %s and is %s", c.Key, orNothing(c.Was), orNothing(c.Is))
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

func orNothing(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

// Forbidden lists the changes from one identity to another that make another query of it. What is read may grow but
// not shrink: read is every partition that the query has planned, and must still be selected; nil means that nobody
// knows, and then only what follows from the keys themselves passes. A key that an identity lacks counts as its
// default: it did not exist when the identity was made.
func Forbidden(was, is map[string]string, read []offsets.TopicPartition) []Change {
	var changes []Change
	for _, k := range keys {
		if k.Class != NewQuery || isSelection(k.Path) {
			continue
		}
		before, recorded := was[k.Path]
		if !recorded && k.Default == "" {
			continue // it did not exist then
		}
		before, after := cmp.Or(before, k.Default), cmp.Or(is[k.Path], k.Default)
		if before != after {
			changes = append(changes, Change{Key: k.Path, Was: before, Is: after})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if k := find(path); k == nil || k.Class != NewQuery {
			changes = append(changes, Change{Key: path, Was: was[path], Is: is[path], Why: "this version of sluice does not know the key: use the one that wrote it, or a newer one"})
		}
	}
	return append(changes, forbiddenSelection(was, is, read)...)
}

func isSelection(path string) bool {
	return path == subscribePath || path == patternPath || path == assignPath
}

// selectionOf reads the selection back out of an identity, with the key that made it.
func selectionOf(identity map[string]string) (s Source, path string, err error) {
	for _, path := range []string{subscribePath, patternPath, assignPath} {
		text, ok := identity[path]
		if !ok {
			continue
		}
		switch path {
		case subscribePath:
			err = json.Unmarshal([]byte(text), &s.Subscribe)
		case patternPath:
			s.SubscribePattern = text
			_, err = regexp.Compile(text)
		case assignPath:
			s.Assign, err = offsets.ParseAssignment([]byte(text))
		}
		return s, path, err
	}
	return s, "", nil
}

func forbiddenSelection(was, is map[string]string, read []offsets.TopicPartition) []Change {
	before, wasPath, err := selectionOf(was)
	after, isPath, err2 := selectionOf(is)
	if wasPath == "" || wasPath == isPath && was[wasPath] == is[isPath] {
		return nil
	}
	change := Change{Key: wasPath, Was: was[wasPath], Is: is[wasPath]}
	if isPath != wasPath {
		change.Is = "not set, but " + isPath + " is " + is[isPath]
	}
	switch {
	case err != nil || err2 != nil:
		change.Why = "one of them cannot be read"
	case read != nil:
		change.Why = noLonger(dropped(&after, read))
	case before.SubscribePattern != "":
		change.Why = "whether it still reads every topic that was read cannot be told"
	case len(before.Subscribe) > 0 && len(after.Assign) > 0:
		change.Why = "whether it still reads every partition that was read cannot be told"
	default:
		for _, topic := range before.Subscribe {
			read = append(read, offsets.TopicPartition{Topic: topic, Partition: anyPartition})
		}
		change.Why = noLonger(dropped(&after, append(read, before.Assign...)))
	}
	if change.Why == "" {
		return nil
	}
	return []Change{change}
}

// anyPartition stands for the partitions of a topic that was read whole.
const anyPartition = -1

// dropped names what of read the selection leaves out.
func dropped(s *Source, read []offsets.TopicPartition) []string {
	var names []string
	for _, tp := range read {
		if len(s.Assign) > 0 && !slices.Contains(s.Assign, tp) {
			names = append(names, tp.String())
		} else if !s.selectsTopic(tp.Topic) && !slices.Contains(names, tp.Topic) {
			names = append(names, tp.Topic)
		}
	}
	return names
}

func noLonger(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "no longer reads " + strings.Join(names, ", ")
}

// Refuse is the fault of a job that is not the query of its checkpoint any more; nil if there are no changes.
func Refuse(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	var texts []string
	for _, c := range changes {
		texts = append(texts, c.String())
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: "the job is not the query of its checkpoint any more: " + strings.Join(texts, "; "),
		Hint: "Change it back, or make it a new query: another name and another checkpoint, " +
			"and as source.startingOffsets the next offsets that sluice status --output json shows for the old one."}
}
