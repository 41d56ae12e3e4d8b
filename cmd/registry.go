package cmd

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"sluice/batch"
	"sluice/decode"
	"sluice/decode/registry"
	"sluice/job"
	"sluice/runner"
)

// openRegistry makes the client of the job's schema registry, if it names one. It asks nothing yet.
func (l *pipeline) openRegistry(ctx context.Context) (err error) {
	if l.job.Registry["url"] == "" {
		return nil
	}
	l.registry, err = registry.New(registry.Options{Properties: underItsName(l.job.Registry), UserAgent: "sluice/" + Version()})
	if err == nil {
		l.decoders.Schemas = func(id registry.ID) (*registry.Schema, error) { return l.registry.Schema(ctx, id) }
	}
	return err
}

// settle settles what the job leaves to the registry: columns that follow from the newest schema of a subject. They are
// asked for once, so that all batches of a run have the same, and every plan carries them.
func (l *pipeline) settle(ctx context.Context) error {
	if l.value == nil {
		if err := l.ask(ctx); err != nil {
			return err
		}
	}
	if l.sink == nil || l.narrowed || len(l.subjects) == 0 || altersTable(*l.value) {
		return nil
	}
	if err := l.narrow(ctx); err != nil {
		return err
	}
	l.narrowed = true
	return nil
}

// ask asks the registry.
func (l *pipeline) ask(ctx context.Context) error {
	value := valueOf(&l.job.Value)
	if v := &l.job.Value; value.Framing != "" && value.Schema == "" {
		schema, err := l.newest(ctx, "value", v.Subject, func(s *registry.Schema) (string, error) { return decode.Columns(s, value.Format, v.Message) })
		if err != nil {
			return err
		}
		value.Schema = schema
	}
	if k := &l.job.Value.Key; value.Key.Framing != "" && value.Key.Type == "" {
		typ, err := l.newest(ctx, "key", k.Subject, func(s *registry.Schema) (string, error) { return decode.KeyType(s, value.Key.Format, k.Message) })
		if err != nil {
			return err
		}
		value.Key.Type = typ
	}
	if problems := decode.Problems(value); len(problems) > 0 { // such as a policy that the columns do not go with
		return unsettled(&problems[0])
	}
	l.value = &value
	return nil
}

// narrow makes the columns those that the table has: somebody has registered a schema with more fields, or with a long
// where an int was, which is no reason to stop. What becomes of records with such fields is value.onUnknownField's business,
// and a number that has no room is malformed. Where records may alter the table, wider types do so, too.
func (l *pipeline) narrow(ctx context.Context) error {
	value := *l.value
	d, err := l.newDecoder(value, false)
	if err != nil {
		return err
	}
	held, err := l.sink.Within(ctx, d.Schema(), !altersTable(value))
	if err != nil || len(held.Lacking)+len(held.Narrower) == 0 {
		return err
	}
	value.Schema, value.Key.Type = decode.Narrow(value, held.Columns)
	if problems := decode.Problems(value); value.Schema == "" && l.value.Schema != "" || len(problems) > 0 {
		return nil // what the table lacks then is for a human
	}
	l.value, l.held = &value, held
	return nil
}

// leftOut tells of what the newest schema has and the table has not; empty if there is nothing.
func (l *pipeline) leftOut() string {
	if l.held == nil {
		return ""
	}
	var parts []string
	if len(l.held.Lacking) > 0 {
		parts = append(parts, "has fields that the table has no column for, so that they are unknown fields: "+strings.Join(l.held.Lacking, ", "))
	}
	if len(l.held.Narrower) > 0 {
		parts = append(parts, "has wider types than the table, whose columns take the numbers that fit: "+strings.Join(l.held.Narrower, ", "))
	}
	return fmt.Sprintf("the newest schema in the registry (%s) %s", strings.Join(l.subjects, ", "), strings.Join(parts, "; it "))
}

// newest is what follows from the newest schema of a subject.
func (l *pipeline) newest(ctx context.Context, side, subject string, follows func(*registry.Schema) (string, error)) (string, error) {
	s, err := l.registry.Latest(ctx, subject)
	if err != nil {
		return "", fmt.Errorf("find the columns of %ss: %w", side, err)
	}
	text, err := follows(s)
	if err != nil {
		return "", &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("version %d of subject %s cannot become columns", s.Version, subject), Err: err,
			Hint: fmt.Sprintf("give the columns as %s.schema, or correct %s.format, %s.subject or %s.message", side, side, side, side)}
	}
	l.subjects = append(l.subjects, fmt.Sprintf("%s version %d", subject, s.Version))
	return text, nil
}

// unsettled is the fault of settings that do not go with what the registry has.
func unsettled(p *decode.Problem) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: p.Setting + " does not go with the newest schema in the registry", Err: p.Err,
		Hint: "give the columns as value.schema (or key.schema), or change the setting"}
}

// settled is how values become columns, as far as that is known.
func (l *pipeline) settled() batch.Value {
	if l.value != nil {
		return *l.value
	}
	return valueOf(&l.job.Value)
}

// newDecoder makes decoders for the runner. What cannot be used was found in the job; a plan may be another version's.
func (l *pipeline) newDecoder(value batch.Value, includeHeaders bool) (runner.Decoder, error) {
	d, err := l.decoders.New(value, includeHeaders)
	if err != nil {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "the plan says how values become columns, and this version of sluice cannot do so", Err: err,
			Hint: "run the version of sluice that made the plan, or a newer one"}
	}
	return d, nil
}

// decoder is that of the job.
func (l *pipeline) decoder(ctx context.Context) (runner.Decoder, error) {
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	return l.newDecoder(l.settled(), l.job.Source.IncludeHeaders)
}

// checkRegistry asks the registry for what a run would.
func (l *pipeline) checkRegistry(ctx context.Context) (string, error) {
	if err := l.openRegistry(ctx); err != nil {
		return "", err
	}
	if err := l.settle(ctx); err != nil {
		return "", err
	}
	if len(l.subjects) == 0 {
		return "nothing follows from it before records are read: the job gives the columns", nil
	}
	return strings.Join(l.subjects, ", "), nil
}

// checkRegistryProperties finds what is wrong with the properties of the client.
func checkRegistryProperties(properties map[string]string) []job.PropertyProblem {
	var problems []job.PropertyProblem
	for _, f := range registry.Check(underItsName(properties)) {
		problems = append(problems, job.PropertyProblem{Name: strings.TrimPrefix(f.Name, confluentPrefix), Value: f.Value, Message: f.Message,
			Nearest: strings.TrimPrefix(f.Nearest, confluentPrefix)})
	}
	return problems
}

// confluentPrefix is what the client wants before the name of the address. In a job the section says that it is the
// registry's.
const confluentPrefix = "schema.registry."

func underItsName(properties map[string]string) map[string]string {
	named := maps.Clone(properties)
	if url, ok := named["url"]; ok {
		named[confluentPrefix+"url"] = url
		delete(named, "url")
	}
	return named
}
