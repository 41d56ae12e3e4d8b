package kafkasrc

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/batch"
)

func text(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, value string) error {
		*field(s) = value
		return nil
	}
}

func millis(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n <= 0 {
			return errors.New("want a whole number of milliseconds above 0")
		}
		*field(s) = time.Duration(n) * time.Millisecond
		return nil
	}
}

func setSeeds(s *settings, value string) error {
	for _, seed := range strings.Split(value, ",") {
		seed = strings.TrimSpace(seed)
		if seed == "" {
			continue
		}
		// Listener names as in SSL://host:9093 stand in broker configurations and get pasted here.
		if _, rest, ok := strings.Cut(seed, "://"); ok {
			return fmt.Errorf("want %s, without the listener's name", rest)
		}
		if _, port, err := net.SplitHostPort(seed); err != nil || !validPort(port) {
			return fmt.Errorf("want host:port, which %s is not", seed)
		}
		s.seeds = append(s.seeds, seed)
	}
	if len(s.seeds) == 0 {
		return errors.New("want host:port, for example broker1:9092,broker2:9092")
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

func setProtocol(s *settings, value string) error {
	switch value {
	case "PLAINTEXT":
	case "SSL":
		s.tls = true
	case "SASL_PLAINTEXT":
		s.sasl = true
	case "SASL_SSL":
		s.sasl, s.tls = true, true
	default:
		s.badProtocol = true
		return errors.New("want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
	}
	return nil
}

func setIsolation(s *settings, value string) error {
	s.isolation = batch.Isolation(value)
	_, err := isolationLevel(s.isolation)
	if err != nil {
		return fmt.Errorf("want %s or %s", batch.ReadCommitted, batch.ReadUncommitted)
	}
	return nil
}

// setFetchBytes keeps the smaller of the two limits: a Fetch of ours asks for one partition.
func setFetchBytes(s *settings, value string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 || n > maxBatchBytes {
		return fmt.Errorf("want a number of bytes between 1 and %d", maxBatchBytes)
	}
	if s.fetchBytes == 0 || int(n) < s.fetchBytes {
		s.fetchBytes = int(n)
	}
	return nil
}

// checked is a text that is held to something.
func checked(field func(*settings) *string, check func(string) error) func(*settings, string) error {
	return func(s *settings, value string) error {
		*field(s) = value
		return check(value)
	}
}

// only takes the one value that is what sluice does anyway.
func only(want, why string) func(*settings, string) error {
	return func(_ *settings, value string) error {
		if !strings.EqualFold(value, want) {
			return fmt.Errorf("want %s: %s", want, why)
		}
		return nil
	}
}

// oneOf takes the names of Java classes whose work sluice does itself, also inside of another package, as vendors shade them.
func oneOf(why string, classes ...string) func(*settings, string) error {
	return func(_ *settings, value string) error {
		if slices.ContainsFunc(classes, func(class string) bool { return value == class || strings.HasSuffix(value, "."+class) }) {
			return nil
		}
		return fmt.Errorf("%s: Java classes cannot be loaded; what %s does, sluice does itself", why, strings.Join(classes, " or "))
	}
}

// number takes a whole number in a range.
func number(field func(*settings) *int, least, most int) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want a whole number between %d and %d", least, most)
		}
		*field(s) = n
		return nil
	}
}

// seconds takes a whole number of seconds, 0 included.
func seconds(field func(*settings) **time.Duration, most int) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > most {
			return fmt.Errorf("want a whole number of seconds between 0 and %d", most)
		}
		d := time.Duration(n) * time.Second
		*field(s) = &d
		return nil
	}
}

// longestSetup is socket.connection.setup.timeout.max.ms.
func (s *settings) longestSetup() time.Duration {
	if s.maxSetup > 0 {
		return s.maxSetup
	}
	return 30 * time.Second
}

func setRefreshFactor(s *settings, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0.5 || n > 1 {
		return errors.New("want a number between 0.5 and 1")
	}
	s.login.OAuth.Refresh.Factor = n
	return nil
}

func setURLEncode(s *settings, value string) error {
	encode, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return errors.New("want true or false")
	}
	s.login.OAuth.Encode = encode
	return nil
}
