package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice/layout"
)

const (
	partitionWant = `columns or transforms of them, such as [days(event_time), "bucket(16, customer_id)"], or [] for none`
	orderWant     = "columns, each with an optional ASC or DESC and NULLS FIRST or NULLS LAST, such as [customer_id, event_time DESC], or [] for none"
)

var (
	partitions = expressions(partitionWant, layout.ParseTerm)
	orders     = expressions(orderWant, layout.ParseOrder)
)

// expressions is a list of what parse reads, in YAML or as text with commas. Commas between parentheses and backticks do not
// separate; nor do they in a YAML list without quotes, where [bucket(16, id)] is two texts for a reader of YAML. A list of
// nothing is not the same as none.
func expressions[T interface {
	comparable
	fmt.Stringer
}](want string, parse func(string) (T, error)) kind[[]T] {
	return kind[[]T]{name: "list", want: want, plain: true,
		read: func(t term) ([]T, []fault) {
			items, faults := expressionsOf(t, want)
			all := []T{}
			for _, item := range items {
				one, err := parse(item.text)
				if err == nil && slices.Contains(all, one) {
					err = fmt.Errorf("is there twice")
				}
				if err != nil {
					faults = append(faults, fault{item.at, item.quoted() + " " + err.Error() + ": want " + want})
					continue
				}
				all = append(all, one)
			}
			return all, faults
		},
		write: func(all []T) string {
			if all == nil {
				return ""
			}
			texts := make([]string, len(all))
			for i, one := range all {
				texts[i] = one.String()
			}
			return compactJSON(texts)
		},
	}
}

// expressionsOf is the elements of a list of expressions.
func expressionsOf(t term, want string) (items []term, faults []fault) {
	switch {
	case t.form == listForm && len(t.items) == 0:
		return nil, nil
	case t.form == listForm:
		items, faults = listOf(t, want)
	case t.form == scalarForm:
		var texts []string
		if json.Unmarshal([]byte(t.text), &texts) != nil {
			text := strings.TrimSpace(t.text)
			if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
				text = text[1 : len(text)-1]
			}
			texts = strings.Split(text, ",")
		}
		for _, text := range texts {
			items = append(items, term{at: t.at, text: text, word: true, secret: t.secret})
		}
	default:
		return listOf(t, want)
	}
	joined := rejoin(items)
	return slices.DeleteFunc(joined, func(item term) bool { return strings.TrimSpace(item.text) == "" }), faults
}

// rejoin puts together what was separated between parentheses or backticks.
func rejoin(items []term) (whole []term) {
	for i := 0; i < len(items); i++ {
		item := items[i]
		for open(item.text) && i+1 < len(items) {
			i++
			item.text += "," + items[i].text
		}
		item.text, item.word = strings.TrimSpace(item.text), true
		whole = append(whole, item)
	}
	return whole
}

func open(text string) bool {
	depth, quoted := 0, false
	for _, c := range text {
		switch {
		case c == '`':
			quoted = !quoted
		case c == '(' && !quoted:
			depth++
		case c == ')' && !quoted:
			depth--
		}
	}
	return depth > 0 || quoted
}
