package tlsfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/spelling"
)

// versions are those that can be negotiated, by Java's names.
var versions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// CheckProtocols is what is wrong with ssl.enabled.protocols.
func CheckProtocols(value string) error {
	_, err := span(value)
	return err
}

// span is the oldest and the newest version of a list.
func span(list string) ([2]uint16, error) {
	var found []uint16
	for _, name := range split(list) {
		version, ok := versions[name]
		if !ok {
			return [2]uint16{}, errors.New("want TLSv1.2, TLSv1.3 or both with a comma; older ones are no longer safe")
		}
		found = append(found, version)
	}
	if len(found) == 0 {
		return [2]uint16{}, errors.New("want TLSv1.2, TLSv1.3 or both with a comma")
	}
	return [2]uint16{slices.Min(found), slices.Max(found)}, nil
}

// CheckCiphers is what is wrong with ssl.cipher.suites.
func CheckCiphers(value string) error {
	_, err := suites(value)
	return err
}

func suites(list string) ([]*tls.CipherSuite, error) {
	var found []*tls.CipherSuite
	named := func(name string) func(*tls.CipherSuite) bool {
		return func(s *tls.CipherSuite) bool { return s.Name == name || s.Name == name+"_SHA256" } // Go's name of ChaCha20 has the digest
	}
	for _, name := range split(list) {
		if at := slices.IndexFunc(tls.CipherSuites(), named(name)); at >= 0 {
			found = append(found, tls.CipherSuites()[at])
			continue
		}
		if slices.ContainsFunc(tls.InsecureCipherSuites(), named(name)) {
			return nil, fmt.Errorf("%s is no longer safe", name)
		}
		var known []string
		for _, s := range tls.CipherSuites() {
			known = append(known, s.Name)
		}
		return nil, fmt.Errorf("a name is none of a cipher suite that sluice has; the nearest is %s", spelling.Best(name, known, len(name)))
	}
	if len(found) == 0 {
		return nil, errors.New("want names of cipher suites, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, with commas")
	}
	return found, nil
}

// negotiate restricts what is offered. Suites of TLS 1.3 cannot be chosen among: naming none turns that version off, and
// naming only such leaves it alone.
func (f Files) negotiate(c *tls.Config) error {
	if f.Protocols != "" {
		between, err := span(f.Protocols)
		if err != nil {
			return fmt.Errorf("ssl.enabled.protocols: %w", err)
		}
		c.MinVersion, c.MaxVersion = between[0], between[1]
	}
	if f.Ciphers == "" {
		return nil
	}
	chosen, err := suites(f.Ciphers)
	if err != nil {
		return fmt.Errorf("ssl.cipher.suites: %w", err)
	}
	modern := false
	for _, s := range chosen {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			c.CipherSuites = append(c.CipherSuites, s.ID)
		} else {
			modern = true
		}
	}
	if !modern {
		c.MaxVersion = tls.VersionTLS12
	}
	if c.CipherSuites == nil {
		c.MinVersion = tls.VersionTLS13
	}
	if c.MaxVersion != 0 && c.MinVersion > c.MaxVersion {
		return errors.New("ssl.cipher.suites: none of them is of a version in ssl.enabled.protocols")
	}
	return nil
}

func split(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
