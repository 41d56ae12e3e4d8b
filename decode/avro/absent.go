package avro

// Absent are the paths of the columns that no value has a field for, so that they are null in every row. Where the writer has
// a union of several types nothing is said of what is inside.
func (p *Parser) Absent() []string { return absent(&p.root[0], p.root[0].name) }

func absent(s *step, path string) (paths []string) {
	switch s.op {
	case opRecord:
		for _, column := range s.missing {
			paths = append(paths, join(path, s.typ.Fields[column].Name))
		}
		for i := range s.steps {
			if field := &s.steps[i]; field.op != opSkip {
				paths = append(paths, absent(field, join(path, field.name))...)
			}
		}
	case opList:
		return absent(&s.steps[0], join(path, "element"))
	case opMap:
		return absent(&s.steps[0], join(path, "value"))
	}
	return paths
}
