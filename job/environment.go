package job

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// serviceLinks are the variables that Kubernetes puts into every container for a service whose name begins with
// "sluice". They are no keys and no mistakes.
var serviceLinks = regexp.MustCompile(`^SLUICE_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// readEnvironment reads every SLUICE_… variable. One that belongs to no key is a problem: it was meant to do something.
func (l *loading) readEnvironment() {
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if !strings.HasPrefix(name, envPrefix) || l.env[name] == "" || serviceLinks.MatchString(name) || slices.Contains(l.in.Reserved, name) {
			continue
		}
		at := Origin{Layer: Environment, Name: name}
		if path := pathOfEnv(name); path != "" {
			l.fromText(at, path, l.env[name])
			continue
		}
		l.problems = append(l.problems, Problem{At: at, Message: "is the variable of no key", Nearest: meantVariable(name)})
	}
}

// meantVariable is the variable of a key that another one probably meant: of a key that is called so elsewhere or in part,
// as in SLUICE_SUBSCRIBE, or a misspelt neighbour. Empty if there is none.
func meantVariable(name string) string {
	if k := KeyOf(strings.TrimPrefix(name, envPrefix)); k != nil {
		return k.Env()
	}
	return nearest(name, envNames())
}

// pathOfEnv is the key that a variable sets. Names of client properties are in small letters, with dots:
// SLUICE_SOURCE_KAFKA_SASL_PASSWORD is source.kafka.sasl.password. Names of catalog properties have capitals and
// hyphens; the variable of their map takes them all as one JSON object.
func pathOfEnv(name string) string {
	for _, k := range keys {
		if k.Env() == name {
			return k.Path
		}
	}
	for _, path := range []string{kafkaPath, registryPath} {
		if property, ok := strings.CutPrefix(name, envName(path)+"_"); ok && property != "" {
			return path + "." + strings.ToLower(strings.ReplaceAll(property, "_", "."))
		}
	}
	return ""
}

func envNames() []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Env())
	}
	return names
}
