package job

import (
	"regexp"
	"slices"
	"strings"
)

// redacted stands for what must not be shown.
const redacted = "(redacted)"

// secretWords are parts of names whose values are secret; a name that ends in one of locators says where something is
// and holds none.
var (
	secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "jaas", "credential", "user.info", "request.header.", "authorization", "signature", "connection-string", "connection_string"}
	secretEnds  = []string{".key", "-key", "_key", "jsonkey", "apikey", "accountkey", "accesskey", "secretkey", "privatekey"}
	locators    = []string{".url", ".uri", "-uri", ".location", ".path", "keypath", ".class", ".type", "_file", "-file", "_path"}
)

// SecretName says whether a property, key or variable of this name holds a secret.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range locators {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "sig" || // of a shared access signature
		strings.HasPrefix(name, "header.") // of requests to a REST catalog: what proves who asks is often among them
}

var (
	// userInfo is name:password@ in a URL; the password may hold slashes and blanks that should have been escaped.
	userInfo = regexp.MustCompile(`(://[^:/?#\s]*):.*@`)
	// settings are name=value as in queries of URLs, JAAS and connection strings.
	settings = regexp.MustCompile(`([A-Za-z0-9_.-]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s;,&"']+)`)
	// query is what follows the path of a URL.
	query = regexp.MustCompile(`\?.*`)
)

var (
	// bareUserInfo is name:password@ without the slashes of a URL before it, or with one.
	bareUserInfo = regexp.MustCompile(`^([^\s:/@"'{\[(]*):/?[^\s:"'/][^@]*@`)
	// secretHosts are name:password@host at the beginning of what is taken for a path, and settingNames the names in "name=value;name=value".
	secretHosts  = regexp.MustCompile(`^(?://)?[^/@\s]*:[^@\s]*@`)
	settingNames = regexp.MustCompile(`(?:^|[\s;,&?])([A-Za-z0-9_.-]+)\s*=`)
)

// holdsSecret says that what is taken for a path has a secret in it: it is an address without its scheme, or a connection
// string such as Azure's. The parts of a path that look like settings, such as token=a behind a slash, are names of folders.
func holdsSecret(path string) bool {
	if secretHosts.MatchString(path) {
		return true
	}
	return slices.ContainsFunc(settingNames.FindAllStringSubmatch(path, -1), func(m []string) bool { return SecretName(m[1]) })
}

// givesTokens says that a property of this name is the address of a server of tokens. Whatever the parameters of its query are
// called, they may be what proves who asks.
func givesTokens(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".endpoint.url") || strings.HasSuffix(name, "oauth2-server-uri") || strings.HasSuffix(name, "authorization-url")
}

// privateKey is in the text of a PEM key of whatever kind: some are kept in one text with their certificates.
const privateKey = "PRIVATE KEY"

// Redact is a value fit for logs and terminals: all of it is hidden if the name is that of a secret or a private key is in it,
// else the credentials inside URLs and name=value pairs are.
func Redact(name, value string) string {
	if value == "" {
		return value
	}
	if SecretName(name) || strings.Contains(value, privateKey) {
		return redacted
	}
	value = userInfo.ReplaceAllString(value, "$1:"+redacted+"@")
	if givesTokens(name) {
		return query.ReplaceAllString(value, "?"+redacted)
	}
	return settings.ReplaceAllStringFunc(value, func(pair string) string {
		m := settings.FindStringSubmatch(pair)
		if SecretName(m[1]) {
			return m[1] + m[2] + redacted
		}
		return pair
	})
}
