package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
)

// Bounds on what one schema may refer to. They are far beyond what is sensible, and keep a registry from leading a reader
// around for ever.
const (
	maxReferences = 1000
	maxDepth      = 50
	maxName       = 1000 // bytes of a name or a subject, which errors show
)

const wrongReference = "Register the schema that is missing again, under the same subject and version, or the one that refers to it with other references."

// walk follows references, those of a reference before it itself.
type walk struct {
	client *Client
	found  []Reference
	// seen are the names that lead somewhere already. As in Confluent's clients the first schema of a name counts.
	seen map[string]bool
	// above are the references that lead to where the walk is.
	above []string
	bytes int64
}

// references reads all that a schema refers to, each after the ones that it needs.
func (c *Client) references(ctx context.Context, a *answer) ([]Reference, error) {
	w := walk{client: c, seen: map[string]bool{}, bytes: int64(len(a.Schema))}
	if err := w.follow(ctx, a); err != nil {
		return nil, err
	}
	return w.found, nil
}

func (w *walk) follow(ctx context.Context, a *answer) error {
	for _, r := range a.References {
		r.Subject = within(a.Subject, r.Subject)
		if err := w.step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step(ctx context.Context, r referenceAnswer) error {
	version := "latest"
	if r.Version > 0 {
		version = strconv.Itoa(r.Version)
	}
	// Of a subject that was deleted too, as long as it is there at all.
	path := "/subjects/" + escape(r.Subject) + "/versions/" + version + "?deleted=true"
	here := fmt.Sprintf("%q (subject %q, version %s)", r.Name, r.Subject, version)
	switch {
	case r.Name == "" || r.Subject == "":
		return w.refuse("a reference has no name or no subject", here)
	case len(r.Name) > maxName || len(r.Subject) > maxName:
		return w.refuse(fmt.Sprintf("a reference has a name or a subject of more than %d bytes", maxName), "…")
	case slices.Contains(w.above, here):
		return w.refuse("the references go round in a circle", here)
	case w.seen[r.Name]:
		return nil
	case len(w.above) >= maxDepth:
		return w.refuse(fmt.Sprintf("references lead more than %d levels down", maxDepth), here)
	case len(w.seen) >= maxReferences:
		return w.refuse(fmt.Sprintf("there are more than %d references", maxReferences), here)
	}
	w.seen[r.Name] = true
	a, err := w.client.version(ctx, path, r, wanted{what: "reference " + here, ifMissing: wrongReference, ifNowhere: wrongAddress})
	if err != nil {
		return err
	}
	if w.bytes += int64(len(a.Schema)); w.bytes > w.client.maxBytes {
		return w.refuse(fmt.Sprintf("the schema has more than %d bytes with its references", w.client.maxBytes), here)
	}
	w.above = append(w.above, here)
	if err := w.follow(ctx, a); err != nil {
		return err
	}
	w.above = w.above[:len(w.above)-1]
	w.found = append(w.found, Reference{Name: r.Name, Subject: r.Subject, Version: a.Version, Text: a.Schema})
	return nil
}

func (w *walk) refuse(message, here string) error {
	return &batch.Fault{Class: batch.NotSetUp,
		Message: message + ": " + strings.Join(append(w.above, here), " -> "),
		Hint:    "Register the schema again, with references that can be followed."}
}

// version reads a version of a subject, which never changes, once; the latest one each time.
func (c *Client) version(ctx context.Context, path string, r referenceAnswer, want wanted) (*answer, error) {
	c.mu.Lock()
	a := c.versions[path]
	c.mu.Unlock()
	if a != nil {
		return a, nil
	}
	a, err := c.get(ctx, path, want)
	if err == nil && r.Version > 0 && a.Version != 0 && a.Version != r.Version {
		err = c.another(fmt.Sprintf("version %d", a.Version), want)
	}
	if err != nil {
		return nil, err
	}
	a.Subject = r.Subject
	if r.Version > 0 {
		a.Version = r.Version
		c.mu.Lock()
		c.versions[path] = a
		c.mu.Unlock()
	}
	return a, nil
}

// within is a subject as one in the context of another: a reference names it without the context, ":.name:", that both
// are in.
func within(parent, subject string) string {
	if strings.HasPrefix(subject, ":.") || !strings.HasPrefix(parent, ":.") {
		return subject
	}
	if end := strings.Index(parent[2:], ":"); end >= 0 {
		return parent[:2+end+1] + subject
	}
	return subject
}
