package registry

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// setURLs reads the list of servers. What is wrong is said by position: the text may hold a password.
func setURLs(s *settings, value string) error {
	s.endpoints = nil
	list := strings.Split(value, ",")
	for i, text := range list {
		where := "want https://host:port"
		if len(list) > 1 {
			where = fmt.Sprintf("entry %d: %s", i+1, where)
		}
		base, user, err := readURL(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		s.endpoints = append(s.endpoints, endpoint{base: base, user: user})
	}
	return nil
}

// readURL takes the user out of a URL, so that no password can get into a log.
func readURL(text string) (*url.URL, *url.Userinfo, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"):
		return nil, nil, errors.New("it is no URL; in a password, write %2F for a slash, %3A for a colon, %40 for @ and %25 for a percent sign")
	case err != nil:
		return nil, nil, errors.New("it is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, nil, errors.New("it does not begin with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return nil, nil, errors.New("it has no host")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, nil, errors.New("it has a ? or a #, which an address of a registry has not")
	}
	user := u.User
	u.User = nil
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, user, nil
}

func setIssuer(s *settings, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("want the URL of the token endpoint, https://…")
	}
	if u.User != nil {
		return errors.New("want a URL without credentials: they are bearer.auth.client.id and bearer.auth.client.secret")
	}
	s.oauth.issuer = value
	return nil
}

// shownAs is an address as it may be shown: its query may prove who asks, whatever the parameters are called.
func shownAs(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the issuer"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return u.String()
}

// below is the address of what has the path, whose parts are escaped already.
func (e endpoint) below(path string) string { return e.base.String() + path }

// escape makes a part of a path of a subject, whatever characters that has: also of one that would lead up in the path.
func escape(subject string) string {
	if subject == "." || subject == ".." {
		return strings.ReplaceAll(subject, ".", "%2E")
	}
	return url.PathEscape(subject)
}
