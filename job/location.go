package job

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var urlScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// slashMissing finds s3:/bucket/folder, which is no URL and would be a folder of that name.
var slashMissing = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):/?[^/]`)

// location is a folder: a path, a file URL, or a URL of one of the schemes. Relative paths are made absolute later,
// by absolute, when it is known who wrote them.
func location(schemes ...string) kind[string] {
	want := "a folder such as /data/lake, or a URL such as " + schemes[0] + "://bucket/folder"
	return words("location", want, func(s string) (string, error) {
		m := urlScheme.FindStringSubmatch(s)
		switch {
		case strings.TrimSpace(s) == "":
			return "", fmt.Errorf("is empty")
		case m == nil:
			if m := slashMissing.FindStringSubmatch(s); m != nil && (m[1] == "file" || slices.Contains(schemes, m[1])) {
				return "", fmt.Errorf("lacks slashes: URLs begin with %s://, and the path of a folder of this name with ./", m[1])
			}
			if holdsSecret(s) {
				return "", unquoted("holds a secret, and is no path of a folder: want " + want + "; secrets are left to the environment or to properties")
			}
			return s, checkPath(s)
		case m[1] == "file":
			return filePath(s)
		case !slices.Contains(schemes, m[1]):
			return "", fmt.Errorf("has a scheme that is not known here (known: file, %s)", strings.Join(schemes, ", "))
		}
		return strings.TrimRight(s, "/"), checkURL(s)
	})
}

func checkPath(s string) error {
	if s == "~" || strings.HasPrefix(s, "~/") {
		return fmt.Errorf("begins with ~, which only a shell knows: write the path out, or ${HOME} in a job file")
	}
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("holds a zero byte")
	}
	return nil
}

// filePath is the path of a file URL: file:///data/lake is /data/lake.
func filePath(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", fmt.Errorf("is no URL")
	case u.User != nil:
		return "", fmt.Errorf("holds credentials, which a local folder does not take")
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("names a host: a local folder is file:/// with three slashes")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("has more than a path")
	case u.Path == "":
		return "", fmt.Errorf("has no path")
	}
	return u.Path, nil
}

// checkURL wants a bucket and no credentials, in the parameters neither; those are left to whoever opens it.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("is no URL")
	case u.User != nil && !namesContainer(u):
		return fmt.Errorf("holds credentials: leave them to the environment or to properties")
	case u.Host == "" && u.Scheme != "mem":
		return fmt.Errorf("names no bucket")
	}
	for name, values := range u.Query() {
		if SecretName(name) {
			return fmt.Errorf("holds credentials in the parameter %s: leave them to the environment (AWS_ACCESS_KEY_ID, …) or to a profile", name)
		}
		for _, value := range values {
			if endpoint, err := url.Parse(value); err == nil && endpoint.User != nil {
				return fmt.Errorf("holds credentials in the parameter %s: leave them to the environment or to a profile", name)
			}
		}
	}
	return nil
}

// namesContainer says that what looks like a user is none: abfss://container@account.dfs.core.windows.net/folder.
func namesContainer(u *url.URL) bool {
	_, password := u.User.Password()
	return !password && slices.Contains([]string{"abfss", "abfs", "wasbs", "wasb"}, u.Scheme)
}

// isLocal says whether a location is a folder of this machine.
func isLocal(location string) bool { return !urlScheme.MatchString(location) }

// absolute makes a path absolute: one from a file is relative to the file's folder, every other to the working
// directory. cron starts runs in a home directory; a relative path in a job file must not depend on that.
func absolute(path string, origin Origin, workDir string) string {
	if path == "" || !isLocal(path) {
		return path
	}
	if !filepath.IsAbs(path) && origin.Layer == File {
		path = filepath.Join(filepath.Dir(origin.Name), path)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(workDir, path)
	}
	return filepath.Clean(path)
}
