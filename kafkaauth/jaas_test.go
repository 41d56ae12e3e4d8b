package kafkaauth

import (
	"maps"
	"strings"
	"testing"
)

func TestJAASTextsAreReadAsKafkaReadsThem(t *testing.T) {
	for _, c := range []struct {
		text, module string
		options      map[string]string
	}{
		{`a.B required;`, "a.B", map[string]string{}},
		{`a.B required username="etl" password="it's";`, "a.B", map[string]string{"username": "etl", "password": "it's"}},
		{"a.B REQUIRED\n  username='etl'\n  password='say \"hi\"' ;\n", "a.B", map[string]string{"username": "etl", "password": `say "hi"`}},
		{`a.B sufficient password="a\"b\\c\td\ne\101\60f;=//";`, "a.B", map[string]string{"password": "a\"b\\c\td\neA0f;=//"}},
		{`a.B required password="\q\377\4008";`, "a.B", map[string]string{"password": "qÿ 08"}},
		{`a.B required tokenauth=true n = 12 empty="";`, "a.B", map[string]string{"tokenauth": "true", "n": "12", "empty": ""}},
		{"/* who */ a.B // which\n required x=y;", "a.B", map[string]string{"x": "y"}},
		{`a.B required name="Müller";`, "a.B", map[string]string{"name": "Müller"}},
	} {
		got, err := parseJAAS(c.text)
		if err != nil || got.module != c.module || !maps.Equal(got.options, c.options) {
			t.Errorf("%s: got %+v, %v, want %s %v", c.text, got, err, c.module, c.options)
		}
	}
}

func TestJAASTextsThatAreWrongSayWhereAndShowNothing(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "at character 1: is empty",
		`  `:                                   "at character 3: is empty",
		`"hunter2" required;`:                  "at character 1: want the name of a login module",
		`a.B`:                                  "at character 4: want required",
		`a.B hunter2;`:                         "at character 5: want required",
		`a.B required`:                         "at character 13: want a semicolon at the end",
		`a.B required password="hunter2"`:      "at character 32: want a semicolon",
		`a.B required password="hunter2;`:      "at character 23: the quote has no end",
		"a.B required password=\"hunter2\n\";": "at character 31: a quoted text ends with its line",
		`a.B required password=hunter2 and hunter3;`: "at character 35: want = behind the name of an option",
		`a.B required password=hunter#2;`:            "at character 29: want a letter, a digit or a quote",
		`a.B required password;`:                     "at character 22: want = behind",
		`a.B required password=;`:                    "at character 23: want a value",
		`a.B required "hunter2"="x";`:                "at character 14: want the name of an option",
		`a.B required a="hunter2" a="hunter3";`:      "at character 28: an option is given twice",
		`a.B required; a.C required hunter="2";`:     "at character 15: want nothing behind the semicolon",
		`a.B required /* hunter2;`:                   "at character 14: the comment has no end",
	} {
		_, err := parseJAAS(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzJAAS(f *testing.F) {
	f.Add(`a.B required username="etl" password="a\"b\101";`)
	f.Fuzz(func(t *testing.T, text string) {
		if j, err := parseJAAS(text); err == nil && (j.module == "" || len(j.order) != len(j.options)) {
			t.Errorf("%q: got %+v", text, j)
		}
	})
}
