package job

import "strconv"

// term is a value as it was written, before anyone knows its type: text, a list, a map, or nothing. Texts of
// variables and flags are terms too, so that every layer is read by the same code.
type term struct {
	at   Origin
	form form
	// text is the value of a scalar, interpolated.
	text string
	// word is false for a YAML scalar that is a number, a truth value or a date as it stands.
	word bool
	// secret keeps the text out of messages.
	secret bool
	// below says that the text begins in the line after its place, as that of a YAML block does.
	below  bool
	items  []term
	fields []field
}

type field struct {
	at    Origin
	name  string
	value term
}

type form int

const (
	scalarForm form = iota
	listForm
	mapForm
	emptyForm
	// badForm marks what has been reported already.
	badForm
)

func (f form) String() string {
	return [...]string{"a single value", "a list", "a map", "empty", "unreadable"}[f]
}

// textTerm is a value from a variable, a flag or the table of keys.
func textTerm(at Origin, text string) term {
	return term{at: at, text: text, word: true}
}

// quoted is the text for a message, without the credentials that a URL may hold.
func (t term) quoted() string {
	if t.secret {
		return redacted
	}
	text := bareUserInfo.ReplaceAllString(Redact("", t.text), "$1:"+redacted+"@")
	if len(text) > 80 {
		return strconv.Quote(text[:77]) + "…"
	}
	return strconv.Quote(text)
}

// fault is what is wrong with a term, and where.
type fault struct {
	at      Origin
	message string
}

func faultOf(at Origin, message string) []fault { return []fault{{at, message}} }
