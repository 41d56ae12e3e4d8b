package kafkaauth

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// unsecuredToken makes the token that Kafka's OAuthBearerUnsecuredLoginCallbackHandler makes: a JWT without a signature, for
// clusters that trust whoever connects. Its claims are options of the JAAS text.
func unsecuredToken(options map[string]string, now time.Time) (string, error) {
	lifetime := 3600.0
	if text := options[unsecuredLifetime]; text != "" {
		var err error
		if lifetime, err = strconv.ParseFloat(text, 64); err != nil || lifetime <= 0 || lifetime > 1e9 {
			return "", errors.New("has " + unsecuredLifetime + ", which wants a number of seconds")
		}
	}
	seconds := float64(now.UnixMilli()) / 1000
	claims := map[string]any{"iat": seconds, "exp": seconds + lifetime}
	for name, value := range options {
		if claim, ok := strings.CutPrefix(name, unsecuredText); ok {
			claims[claim] = value
		} else if claim, ok := strings.CutPrefix(name, unsecuredNumber); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return "", errors.New("has an option " + unsecuredNumber + "… that is no number")
			}
			claims[claim] = number
		} else if claim, ok := strings.CutPrefix(name, unsecuredList); ok {
			claims[claim] = list(value)
		}
	}
	principal := cmp.Or(options[unsecuredPrincipal], "sub")
	if text, _ := claims[principal].(string); text == "" {
		return "", errors.New("lacks the option " + unsecuredText + principal + ", the name to connect as")
	}
	return encoded(map[string]string{"alg": "none"}) + "." + encoded(claims) + ".", nil
}

// list is what the first character separates.
func list(value string) []string {
	if value == "" {
		return []string{}
	}
	return strings.Split(value[1:], value[:1])
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers always become JSON
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
