package job

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheTableOfKeysIsConsistent(t *testing.T) {
	paths, flags, variables := map[string]bool{}, map[string]bool{}, map[string]bool{}
	camel := regexp.MustCompile(`^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)*$`)
	for _, k := range Keys() {
		if paths[k.Path] || variables[k.Env()] || k.Flag != "" && flags[k.Flag] {
			t.Errorf("%s: path, variable or flag is there twice", k.Path)
		}
		paths[k.Path], variables[k.Env()], flags[k.Flag] = true, true, true
		if !camel.MatchString(k.Path) {
			t.Errorf("%s: a path without underscores keeps variables unambiguous", k.Path)
		}
		if k.Type == "" || k.Want == "" || !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: type, want or documentation is missing", k.Path)
		}
		if serviceLinks.MatchString(k.Env()) {
			t.Errorf("%s: %s would be taken for a service link of Kubernetes", k.Path, k.Env())
		}
		if pathOfEnv(k.Env()) != k.Path {
			t.Errorf("%s: its variable sets %q", k.Path, pathOfEnv(k.Env()))
		}
		if (k.set == nil) == (k.put == nil) || k.text == nil || k.clear == nil {
			t.Errorf("%s: cannot be read or written", k.Path)
		}
		if len(k.Allowed) > 0 && k.Default != "" && !slices.Contains(k.Allowed, k.Default) {
			t.Errorf("%s: default %s is not allowed", k.Path, k.Default)
		}
		for _, word := range k.also {
			if find(word) != nil {
				t.Errorf("%s: %s is a key itself", k.Path, word)
			}
		}
	}
}

func TestEveryDefaultIsInItsCanonicalForm(t *testing.T) {
	l := newLoading(Input{})
	l.readDefaults()
	for _, k := range keys {
		if k.put == nil && k.text(l.job) != k.Default && k.Default != "" {
			t.Errorf("%s: got %s, want %s", k.Path, k.text(l.job), k.Default)
		}
		if k.put == nil && k.Default == "" && k.text(l.job) != "" {
			t.Errorf("%s: got %s, want nothing", k.Path, k.text(l.job))
		}
	}
}

// A mistyped option that is ignored silently loads the wrong thing: https://github.com/risingwavelabs/risingwave/issues/26656
func TestAMisspeltKeyIsAnErrorWithTheNearestName(t *testing.T) {
	for _, k := range Keys() {
		if mapOf(k.Path) != nil {
			continue
		}
		section, name := cutLast(k.Path)
		for _, wrong := range []string{name + "t", strings.ToUpper(name), name[1:]} {
			if find(join(section, wrong)) != nil {
				continue
			}
			_, err := Load(Input{Set: []string{join(section, wrong) + "=1"}})
			want := "--set: " + join(section, wrong) + ": unknown key; did you mean " + k.Path + "?"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func TestFarWordsAreNoSuggestions(t *testing.T) {
	for _, name := range []string{"frobnicate", "x", "", strings.Repeat("name", 1000)} {
		if got := nearest(name, []string{"name", "retain", "memory", "run"}); got != "" {
			t.Errorf("%.20s: got %s, want nothing", name, got)
		}
	}
}

func TestAWordFromElsewhereNamesItsKey(t *testing.T) {
	for word, want := range map[string]string{
		"lease": "run.lease", "run.lease": "run.lease", "ttl": "run.lease", "lease-ttl": "run.lease", "isolation-level": "source.kafka.isolation.level",
		"isolation.level": "source.kafka.isolation.level", "expire-every": "sink.iceberg.expireEvery", "EXPIREEVERY": "sink.iceberg.expireEvery",
		"brokers": "source.kafka.bootstrap.servers", "value-format": "value.format", "topics": "source.subscribe", "every": "", "": "", "lea": "",
	} {
		got := ""
		if k := KeyOf(word); k != nil {
			got = k.Path
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestTheNearestIsNearOrNothing(t *testing.T) {
	names := []string{"job", "set", "memory", "subscribe", "bootstrap-servers"}
	for name, want := range map[string]string{"subscibe": "subscribe", "bootsrap-server": "bootstrap-servers", "jbo": "job", "ab": "", "lease": "", "frobnicate": "", "mem": "", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
