package job

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// interpolation is what a text became, and whether it holds a secret now.
type interpolation struct {
	text   string
	secret bool
	// any says that something was put in, so that the type YAML saw says nothing.
	any bool
}

// interpolator replaces ${VAR}, ${VAR:-default} and ${file:path}. $${ stands for a plain ${.
type interpolator struct {
	lookup func(name string) (string, bool)
	read   func(path string) ([]byte, error)
	// dir is what paths are relative to: the folder of the job file.
	dir string
}

const interpolationForms = "want ${NAME}, ${NAME:-default} or ${file:path}, and $${ for a plain ${"

func (in *interpolator) expand(s string) (interpolation, error) {
	var out strings.Builder
	var result interpolation
	for s != "" {
		switch {
		case strings.HasPrefix(s, "$${"):
			out.WriteString("${")
			s, result.any = s[3:], true
		case strings.HasPrefix(s, "${"):
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return result, fmt.Errorf("a ${ has no }: %s", interpolationForms)
			}
			text, secret, err := in.value(s[2:end])
			if err != nil {
				return result, err
			}
			out.WriteString(text)
			s, result.any, result.secret = s[end+1:], true, result.secret || secret
		default:
			next := strings.IndexByte(s[1:], '$') + 1
			if next == 0 {
				next = len(s)
			}
			out.WriteString(s[:next])
			s = s[next:]
		}
	}
	result.text = out.String()
	return result, nil
}

var reference = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?$`)

// value is what stands between the braces. A default also replaces an empty variable, as in a shell.
func (in *interpolator) value(inner string) (text string, secret bool, err error) {
	if path, ok := strings.CutPrefix(inner, "file:"); ok {
		text, err = in.file(path)
		return text, true, err
	}
	m := reference.FindStringSubmatch(inner)
	if m == nil {
		return "", false, fmt.Errorf("${%s} is not understood: %s", clip(inner), interpolationForms)
	}
	text, ok := in.lookup(m[1])
	switch {
	case m[2] != "" && text == "":
		text = m[3]
	case !ok:
		return "", false, fmt.Errorf("the variable %s is not set: set it, or write ${%s:-default}", m[1], m[1])
	}
	return text, SecretName(m[1]), nil
}

// largestSecret bounds what ${file:…} reads: certificates are a few kilobytes.
const largestSecret = 1 << 20

// file reads a mounted secret; one line end after it is not part of it.
func (in *interpolator) file(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("${file:} names no file")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(in.dir, path)
	}
	content, err := in.read(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read ${file:%s}: %s", clip(path), reason(err))
	case len(content) > largestSecret:
		return "", fmt.Errorf("${file:%s} is larger than 1 MiB", clip(path))
	case !utf8.Valid(content):
		return "", fmt.Errorf("${file:%s} is not text in UTF-8", clip(path))
	}
	text := strings.TrimSuffix(string(content), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}

// reason is an error without the path, which the message has already.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

func clip(s string) string {
	if len(s) > 100 {
		return s[:97] + "…"
	}
	return s
}
