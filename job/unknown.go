package job

import (
	"slices"
	"strings"
)

// isSection says whether path is a part of the path of keys and none itself.
func isSection(path string) bool {
	return find(path) == nil && len(children(path)) > 0
}

// children lists the keys and sections right below a section; "" is the whole file. Entries of free maps are none.
func children(path string) []string {
	var names []string
	for _, k := range keys {
		rest := k.Path
		if path != "" {
			var below bool
			if rest, below = strings.CutPrefix(k.Path, path+"."); !below {
				continue
			}
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) && mapOf(k.Path) == nil {
			names = append(names, name)
		}
	}
	return names
}

func (l *loading) unknown(at Origin, path string) {
	p := Problem{At: at, Key: path, Message: "unknown key", Nearest: meantKey(path)}
	if p.Nearest == "" {
		section := path
		for section != "" && !isSection(section) {
			section, _ = cutLast(section)
		}
		p.Message += ": want one of " + strings.Join(children(section), ", ")
	}
	l.problems = append(l.problems, p)
}

// meantKey is the key that an unknown path probably meant: a misspelt neighbour first, then a key of that name in
// another section, then one that other programs call so.
func meantKey(path string) string {
	section, name := cutLast(path)
	if near := nearest(name, children(section)); near != "" {
		return join(section, near)
	}
	for _, k := range keys {
		if _, last := cutLast(k.Path); strings.EqualFold(last, name) || strings.HasSuffix(k.Path, "."+path) {
			return k.Path
		}
	}
	for _, k := range keys {
		if slices.ContainsFunc(k.also, func(word string) bool { return strings.EqualFold(word, name) || word == path }) {
			return k.Path
		}
	}
	var paths []string
	for _, k := range keys {
		paths = append(paths, k.Path)
	}
	return nearest(path, paths)
}

// KeyOf is the key that a word from elsewhere names: its path or the end of that, however it is hyphenated, or what other
// programs call it. nil if there is none.
func KeyOf(word string) *Key {
	plain := strings.NewReplacer("-", "", "_", "", ".", "")
	same := func(a string) bool { return strings.EqualFold(plain.Replace(a), plain.Replace(word)) }
	for _, k := range keys {
		for path, more := k.Path, true; more; _, path, more = strings.Cut(path, ".") {
			if same(path) {
				row := *k
				return &row
			}
		}
	}
	for _, k := range keys {
		if slices.ContainsFunc(k.also, same) {
			row := *k
			return &row
		}
	}
	return nil
}

// cutLast splits a path at its last dot.
func cutLast(path string) (section, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
