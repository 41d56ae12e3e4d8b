package job

import (
	"maps"
	"slices"
	"strings"
)

// schemaKeys are the keys of one side of a record, value or key, that say what its bytes are.
type schemaKeys struct {
	// side is what a subject of the registry ends with.
	side                                            string
	format, schema, file, message, framing, subject string
	// The values of these keys in a job; text is what the file holds.
	is struct{ format, schema, file, message, framing, subject, text *string }
}

// sides are both sides of the records of a job.
func (j *Job) sides() []*schemaKeys {
	v, k := &j.Value, &j.Value.Key
	value := &schemaKeys{side: "value", format: formatPath, schema: schemaPath, file: schemaFilePath, message: messagePath, framing: framingPath, subject: subjectPath}
	value.is.format, value.is.schema, value.is.file, value.is.message = &v.Format, &v.Schema, &v.SchemaFile, &v.Message
	value.is.framing, value.is.subject, value.is.text = &v.Framing, &v.Subject, &v.file
	key := &schemaKeys{side: "key", format: keyFormatPath, schema: keySchemaPath, file: keySchemaFilePath, message: keyMessagePath, framing: keyFramingPath, subject: keySubjectPath}
	key.is.format, key.is.schema, key.is.file, key.is.message = &k.Format, &k.Schema, &k.SchemaFile, &k.Message
	key.is.framing, key.is.subject, key.is.text = &k.Framing, &k.Subject, &k.file
	return []*schemaKeys{value, key}
}

// binary says whether the format is one whose bytes tell nothing without the schema that they were written with.
func (s *schemaKeys) binary() bool { return *s.is.format == "avro" || *s.is.format == "protobuf" }

func (s *schemaKeys) framed() bool { return *s.is.framing == "confluent" }

// asks says whether the columns follow from the newest schema in the registry.
func (s *schemaKeys) asks() bool { return s.framed() && *s.is.schema == "" && *s.is.file == "" }

// deriveSchemas reads the files of schemas, and settles framing and subject.
func (l *loading) deriveSchemas() {
	l.shortenRegistry()
	for _, s := range l.job.sides() {
		l.makeAbsolute(s.file, s.is.file)
		*s.is.text = l.readSchema(s.file, *s.is.file)
		if s.binary() && !l.isTouched(s.framing) && l.job.Registry["url"] != "" && *s.is.file == "" {
			l.derived(s.framing, s.is.framing, "confluent", registryURLPath)
		}
		if topic, from := l.onlyTopic(); s.asks() && !l.isTouched(s.subject) && topic != "" {
			l.derived(s.subject, s.is.subject, topic+"-"+s.side, from)
		}
	}
}

// shortenRegistry takes the prefix off properties that are written as those of a serializer.
func (l *loading) shortenRegistry() {
	const prefix = "schema.registry."
	j := l.job
	for long, value := range maps.Clone(j.Registry) {
		short := strings.TrimPrefix(long, prefix)
		if _, twice := j.Registry[short]; twice { // it has no prefix, or the client reports it
			continue
		}
		from, to := join(registryPath, long), join(registryPath, short)
		j.Registry[short], j.origins[to], j.secret[to] = value, j.origins[from], j.secret[from]
		l.touched[to] = l.touched[from]
		delete(j.Registry, long)
	}
}

// onlyTopic is the topic of a job that reads one, with the key that says so; empty if there may be several.
func (l *loading) onlyTopic() (topic, from string) {
	source := &l.job.Source
	if len(source.Subscribe) == 1 {
		return source.Subscribe[0], subscribePath
	}
	for i, tp := range source.Assign {
		if i > 0 && tp.Topic != topic {
			return "", ""
		}
		topic = tp.Topic
	}
	return topic, assignPath
}

// readSchema reads the file of a schema, which the key at path names.
func (l *loading) readSchema(path, file string) string {
	if file == "" {
		return ""
	}
	content, err := l.in.ReadFile(file)
	at := l.job.origins[path]
	switch {
	case err != nil:
		l.report(at, path, "cannot read "+clip(file)+": "+reason(err))
	case len(content) > largestSchema:
		l.report(at, path, clip(file)+" is larger than 1 MiB")
	default:
		return string(content)
	}
	return ""
}

// checkSchema reports that a side lacks the schema that its format needs, or says twice what it is.
func (l *loading) checkSchema(s *schemaKeys) bool {
	before := len(l.problems)
	url := l.job.Registry["url"]
	switch {
	case l.isTouched(s.file) && *s.is.text == "":
		if before == 0 {
			l.report(l.job.origins[s.file], s.file, "is an empty file: want "+find(s.schema).Want)
		}
		return false
	case s.binary() && url == "" && *s.is.file == "" && l.registryIsWrong():
		return false
	case s.binary() && url != "" && *s.is.file != "" && !l.isTouched(s.framing):
		l.report(l.around(s.framing), s.framing, "is missing: with "+s.file+" and "+registryURLPath+" both, want confluent or none, in the job file or as "+find(s.framing).Env())
	case s.asks() && *s.is.subject == "" && !l.isTouched(s.subject):
		l.report(l.around(s.subject), s.subject, "is missing: where several topics may be read, want the subject of the registry that the columns follow from, or "+s.schema)
	case s.framed() && url == "" && !l.isTouched(registryURLPath) && (s.binary() || s.asks()):
		l.missing(find(registryURLPath))
	case !s.framed() && s.binary() && *s.is.file == "":
		l.report(l.around(s.file), s.file, "is missing: want the file of the schema that "+s.side+"s were written with, or, if they say so themselves, "+registryURLPath)
	case *s.is.format == "json" && *s.is.schema == "" && *s.is.file == "" && url != "" && !l.isTouched(s.framing) && !l.isTouched(s.schema):
		l.report(l.around(s.schema), s.schema, "is missing: want "+find(s.schema).Want+"; or, if the registry has a JSON Schema of the "+s.side+"s, "+s.framing+" confluent, with which the columns follow from it")
	case !s.framed() && *s.is.format == "json" && *s.is.schema == "" && *s.is.file == "" && !l.isTouched(s.schema):
		l.missing(find(s.schema))
	}
	return len(l.problems) == before
}

// registryIsWrong says that somebody meant to say where the registry is, and that what is wrong with it was reported.
func (l *loading) registryIsWrong() bool {
	return l.isWrong(registryURLPath) || slices.ContainsFunc(l.problems, func(p Problem) bool {
		return p.Nearest == registryURLPath || p.Nearest == registryPath
	})
}

// checkHeed reports keys that mean nothing to a format.
func (l *loading) checkHeed(s *schemaKeys) bool {
	usable := true
	for _, k := range keys {
		at := l.touchedAt(k)
		if at.Layer == Unset {
			continue
		}
		side, formats := formatsFor(k.Path)
		switch {
		case side == s.format && !slices.Contains(formats, *s.is.format):
			l.report(at, k.Path, "means nothing with "+s.format+" "+*s.is.format+": leave it out, or set "+s.format+" to "+orList(formats))
			usable = false
		case k.Path == s.subject && !s.asks() && !l.isWrong(s.framing):
			l.report(at, k.Path, s.needlessSubject())
			usable = false
		}
	}
	return usable
}

func (s *schemaKeys) needlessSubject() string {
	if s.framed() {
		return "means nothing where the columns are given: leave it out, or else " + s.schema + " and " + s.file
	}
	return "means nothing without the framing of a registry: leave it out, or set " + s.framing + " to confluent"
}
