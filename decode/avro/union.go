package avro

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/columns"
)

// union compiles a union: into a struct of members, or each type by itself into the one column.
func (r *resolver) union(n *node, f *columns.Field, path string) (step, *columns.Type, error) {
	values := n.values()
	if isMembers(f) && !(len(values) == 1 && values[0].kind == kindRecord && sharesName(values[0], f)) {
		return r.unionMembers(n, f, path)
	}
	if len(n.branches) == 2 && len(values) == 1 {
		s, extra, err := r.value(values[0], f, path)
		s.optional, s.nullAt, s.valueAt = true, 0, 2
		if n.branches[1].kind == kindNull {
			s.nullAt, s.valueAt = 2, 0
		}
		return s, extra, err
	}
	s := step{op: opUnion, union: n}
	var extra *columns.Type
	var refused error
	reads := false
	for _, b := range n.branches {
		branch, inner, err := r.branch(b, f, path)
		if err != nil && refused == nil {
			refused = err
		}
		reads = reads || err == nil && branch.op != opNull
		extra = merge(extra, inner)
		s.steps = append(s.steps, branch)
	}
	if !reads && refused != nil {
		return s, nil, refused
	}
	return s, extra, nil
}

// branch compiles one type of a union for a column. One that does not become the column's comes with the error, and as a
// step that refuses values.
func (r *resolver) branch(b *node, f *columns.Field, path string) (step, *columns.Type, error) {
	if b.kind == kindNull {
		return step{op: opNull, typ: &f.Type, required: f.Required, weight: f.Type.Weight()}, nil, nil
	}
	s, extra, err := r.value(b, f, path)
	if err != nil {
		return step{op: opRefuse, refuses: fmt.Sprintf("the union has %s, which does not become %s", b, typeName(&f.Type))}, nil, err
	}
	return s, extra, nil
}

// merge puts what two types of a union have beyond a column into one.
func merge(a, b *columns.Type) *columns.Type {
	if a == nil || b == nil || a.Kind != columns.Struct || b.Kind != columns.Struct {
		if a == nil {
			return b
		}
		return a
	}
	fields := slices.Clone(a.Fields)
	for _, f := range b.Fields {
		if !slices.ContainsFunc(fields, func(g columns.Field) bool { return g.Name == f.Name }) {
			fields = append(fields, f)
		}
	}
	return structOf(fields)
}

// isMembers reports whether a column is a struct as a union makes it.
func isMembers(f *columns.Field) bool {
	for i := range f.Type.Fields {
		digits, ok := strings.CutPrefix(f.Type.Fields[i].Name, "member")
		if k, err := strconv.Atoi(digits); !ok || err != nil || memberName(k) != f.Type.Fields[i].Name {
			return false
		}
	}
	return f.Type.Kind == columns.Struct && len(f.Type.Fields) > 0
}

// sharesName reports whether a record and a struct have a field of the same name.
func sharesName(n *node, f *columns.Field) bool {
	for i := range n.fields {
		w := &n.fields[i]
		if slices.ContainsFunc(f.Type.Fields, func(c columns.Field) bool { return c.Name == w.name || slices.Contains(w.aliases, c.Name) }) {
			return true
		}
	}
	return false
}

func (r *resolver) unionMembers(n *node, f *columns.Field, path string) (step, *columns.Type, error) {
	s, extra, err := r.members(n.values(), f, path)
	if err != nil {
		return s, nil, err
	}
	s.union = n
	for i, b := range n.branches {
		if b.kind == kindNull {
			s.steps = slices.Insert(s.steps, i, step{op: opNull})
		}
	}
	return s, extra, nil
}

// members compiles the types of a union into the members of a struct. A member keeps its type when types are added to
// the union or change places; a type without a member is new.
func (r *resolver) members(values []*node, f *columns.Field, path string) (step, *columns.Type, error) {
	s := step{op: opMembers}
	for i := range f.Type.Fields {
		if f.Type.Fields[i].Required {
			return s, nil, fmt.Errorf("avro: %s is required, and one member of a union is set at a time", orRoot(join(path, f.Type.Fields[i].Name)))
		}
	}
	found := r.matchMembers(values, f, path)
	var extra []columns.Field
	free := len(values)
	for i, v := range values {
		member := step{op: opRefuse, refuses: fmt.Sprintf("the union has %s, for which the column has no member", v)}
		switch column := found[i]; {
		case v.weigh().void:
			member = step{op: opSkip, skips: v}
		case column >= 0:
			to := &f.Type.Fields[column]
			var inner *columns.Type
			var err error
			if member, inner, err = r.value(v, to, join(path, to.Name)); err != nil {
				return s, nil, err
			}
			member.name, member.column = to.Name, int32(column)
			if inner != nil {
				extra = append(extra, columns.Field{Name: to.Name, Type: *inner})
			}
		default:
			if err := r.nearly(v, f, found, path); err != nil {
				return s, nil, err
			}
			added := newField(&field{name: r.newMember(i, &free, f), node: v})
			added[0].Required = false
			extra = append(extra, added...)
		}
		s.steps = append(s.steps, member)
	}
	if slices.Max(append(found, -1)) < 0 && slices.ContainsFunc(values, func(v *node) bool { return !v.weigh().void }) {
		return s, nil, unfit(values[0], f, path, "no member is of its type")
	}
	return s, structOf(extra), nil
}

// nearly is why a record cannot be read into the member that was made for it, nil if there is none.
func (r *resolver) nearly(v *node, f *columns.Field, found []int, path string) error {
	for c := range f.Type.Fields {
		if to := &f.Type.Fields[c]; v.kind == kindRecord && !slices.Contains(found, c) && sharesName(v, to) {
			_, _, err := r.value(v, to, join(path, to.Name))
			return err
		}
	}
	return nil
}

// newMember is a name that the struct does not have.
func (r *resolver) newMember(i int, free *int, f *columns.Field) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(f.Type.Fields, func(c columns.Field) bool { return c.Name == name })
	}
	if name := memberName(i); !taken(name) {
		return name
	}
	for taken(memberName(*free)) {
		*free++
	}
	*free++
	return memberName(*free - 1)
}

// matchMembers finds the member of each type, -1 for none: first one of just this type, then one that the type can be
// read into; where there are several, the one in the same place.
func (r *resolver) matchMembers(values []*node, f *columns.Field, path string) []int {
	found, taken := make([]int, len(values)), map[int]bool{}
	for i := range found {
		found[i] = -1
	}
	fits := []func(*node, *columns.Field) bool{
		func(n *node, c *columns.Field) bool {
			t, _, err := (&mapper{left: mostColumns}).typeOf(n, "")
			return err == nil && same(&t, &c.Type)
		},
		func(n *node, c *columns.Field) bool { return r.fits(n, c, path) },
	}
	for _, fit := range fits {
		for _, inPlace := range []bool{true, false} {
			for i, v := range values {
				for c := range f.Type.Fields {
					if found[i] < 0 && !taken[c] && (f.Type.Fields[c].Name == memberName(i) || !inPlace) && !v.weigh().void && fit(v, &f.Type.Fields[c]) {
						found[i], taken[c] = c, true
					}
				}
			}
		}
	}
	return found
}

// pair is a type and a column.
type pair struct {
	node *node
	to   *columns.Field
}

// fits reports whether a type can be read into a member. It remembers, since unions within unions ask again and again.
func (r *resolver) fits(n *node, c *columns.Field, path string) bool {
	known, asked := r.fitting[pair{n, c}]
	if !asked {
		_, _, err := r.value(n, c, path)
		known = err == nil && (n.kind != kindRecord || sharesName(n, c))
		r.fitting[pair{n, c}] = known
	}
	return known
}

// same compares what the types hold, not what is said of them.
func same(a, b *columns.Type) bool {
	if a.Kind != b.Kind || a.Precision != b.Precision || a.Scale != b.Scale || a.Width != b.Width {
		return false
	}
	return slices.EqualFunc(a.Fields, b.Fields, func(f, g columns.Field) bool { return f.Name == g.Name && same(&f.Type, &g.Type) })
}
