package json_test

import (
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
)

func TestInferSaysWhatAColumnWouldBe(t *testing.T) {
	for value, want := range map[string]string{
		`true`: "BOOLEAN", ` false `: "BOOLEAN", `5`: "BIGINT", `-9223372036854775808`: "BIGINT", `9223372036854775808`: "DECIMAL(38,0)", `5.0`: "DOUBLE", `5e0`: "DOUBLE",
		`"2026-01-02T03:04:05Z"`: "STRING", `""`: "STRING", `[1,null,2.5]`: "ARRAY<DOUBLE>", `[[],[1]]`: "ARRAY<ARRAY<BIGINT>>", `[null,{"a":1},{"b":"x","a":null}]`: "ARRAY<STRUCT<a: BIGINT, b: STRING>>",
		`{"a":1,"b":{"c":[true]},"d":null,"e":[],"\u0066":{}}`: "STRUCT<a: BIGINT, b: STRUCT<c: ARRAY<BOOLEAN>>>", `[1,99999999999999999999]`: "ARRAY<DECIMAL(38,0)>",
		`null`: "", `[]`: "", `{}`: "", `[null,[]]`: "", `{"a":null}`: "", `[1,"x"]`: "", `[{"a":1},{"a":"x"}]`: "", `{"a":1,"a":1}`: "", `[1,true]`: "",
		"1" + strings.Repeat("0", 38): "", `{"a":1`: "", `1 2`: "", ``: "", `nul`: "", `{1:2}`: "", `[1 2]`: "", `"\ud800"`: "", `[01]`: "", `{"a":{"b":[{"c":1,"d":[1,"x"]}]}}`: "",
	} {
		got, ok := json.Infer([]byte(value))
		text := ""
		if ok {
			text = ddl.FormatType(got)
		}
		if text != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", value, text, want)
		}
	}
}

// What is inferred from an array's element holds all elements.
func FuzzInfer(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		inferred, ok := json.Infer(value)
		if !ok {
			return
		}
		p, err := json.Compile(columns.Schema{{Name: "v", Type: inferred}}, json.Options{MaxDepth: 10000})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Append(columns.Make(p.Schema()), append(append([]byte(`{"v":`), value...), '}'))
		if err != nil && !strings.Contains(err.Error(), "overflow") {
			t.Errorf("%s: inferred %s, and got %v", value, ddl.FormatType(inferred), err)
		}
	})
}

// The path, the name and the text of unknown fields are told, and a field that must not be ignored makes the record
// malformed.
func TestUnknownFieldsAreTold(t *testing.T) {
	var told []string
	forbid := ""
	p := mustCompile(t, "a INT, o STRUCT<x: INT, q: ARRAY<STRUCT<y: INT>>>", json.Options{Unknown: func(parent string, name, value []byte) bool {
		told = append(told, parent+"|"+string(name)+"|"+string(value))
		return string(name) != forbid
	}})
	dst := columns.Make(p.Schema())
	record := `{"z": {"a":1} ,"a":1,"A":2,"o":{"\u007a":[1, 2],"q":[{"w":"\u0041"},{"y":1,"v":null}]},"z":5}`
	if err := p.Append(dst, []byte(record)); err != nil {
		t.Fatal(err)
	}
	want := `|z|{"a":1};|A|2;o|z|[1, 2];o.q.element|w|"\u0041";o.q.element|v|null;|z|5`
	if got := strings.Join(told, ";"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	forbid = "\x1b[2J\""
	wantFault(t, p, `{"o":{"\u001b[2J\"":1}}`, fault{"unknown", `o."\x1b[2J\""`, 6, "no such field"})
	forbid = strings.Repeat("é", 500)
	wantFault(t, p, `{"`+forbid+`":1}`, fault{"unknown", strings.Repeat("é", 32) + "…", 1, "no such field"})
	forbid = "v"
	wantFault(t, p, record, fault{"unknown", "o.q[1].v", strings.Index(record, `"v"`), "no such field"})
}
