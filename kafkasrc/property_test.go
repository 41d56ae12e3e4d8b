package kafkasrc

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestClientPropertiesAreCheckedAllAtOnceWithoutTheirValues(t *testing.T) {
	got := CheckClient(map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.password": "hunter1", "ssl.truststore.location": "/ca.pem",
		"group.id": "hunter2", "client.idd": "hunter3", "request.timeout.ms": "hunter4", "client.rack": "a",
	})
	want := []PropertyFault{
		{Name: "client.idd", Message: "is unknown to sluice", Nearest: "client.id"},
		{Name: "group.id", Message: "cannot be set: no consumer group is used: progress is kept in the checkpoint and the table"},
		{Name: "request.timeout.ms", Value: true, Message: "want a whole number of milliseconds above 0"},
		{Name: "sasl.mechanism", Message: "cannot be set: SASL is not supported in this version; PLAINTEXT is, and SSL with PEM files"},
		{Name: "sasl.password", Message: "cannot be set: SASL is not supported in this version; PLAINTEXT is, and SSL with PEM files"},
		{Name: "security.protocol", Value: true, Message: "SASL is not supported in this version; PLAINTEXT is, and SSL with PEM files"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestPropertiesOfTLSWithoutTLSAreNamed(t *testing.T) {
	got := CheckClient(map[string]string{"ssl.truststore.location": "/ca.pem", "bootstrap.servers": "a:1"})
	want := []PropertyFault{{Name: "ssl.truststore.location", Message: "has no effect, since security.protocol is not SSL"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := CheckClient(map[string]string{"ssl.truststore.location": "/ca.pem", "security.protocol": "SSL"}); got != nil {
		t.Errorf("got %+v, want nothing: brokers may be named elsewhere, or not be needed", got)
	}
}

func TestTheReferenceSaysSomethingOfEachProperty(t *testing.T) {
	lines := slices.Collect(strings.Lines(Reference()))
	if got, want := len(lines), 3+len(properties)+len(refused); got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
	for _, line := range lines {
		if strings.Count(line, "|") != 3 || strings.Contains(line, "|  |") {
			t.Errorf("got %q, want a name and what it means", line)
		}
	}
}
