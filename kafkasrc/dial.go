package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// dials remembers which brokers were reached, by their id, and by address what the last attempt to connect said:
// franz-go returns the deadline's error in its place when time runs out.
type dials struct {
	mu      sync.Mutex
	reached map[int32]bool
	failed  map[string]error
}

func newDials() *dials { return &dials{reached: map[int32]bool{}, failed: map[string]error{}} }

// OnBrokerConnect is called by franz-go after every attempt to connect.
func (d *dials) OnBrokerConnect(to kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	address := net.JoinHostPort(to.Host, fmt.Sprint(to.Port))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.reached[to.NodeID] = true
		delete(d.failed, address)
	} else if d.failed[address] == nil || !errors.Is(err, context.DeadlineExceeded) {
		d.failed[address] = err
	}
}

func (d *dials) everReached(broker int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reached[broker]
}

// failures tells each address that could not be connected to, with the reason if err does not tell it already; empty if
// there is none.
func (d *dials) failures(err error) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var told []string
	for _, address := range slices.Sorted(maps.Keys(d.failed)) {
		line := address
		if reason := d.failed[address].Error(); !dialFailed(err) && !strings.Contains(err.Error(), reason) {
			line += " (" + reason + ")"
		}
		told = append(told, line)
	}
	return strings.Join(told, ", ")
}

// neverReached is a failure to connect to a broker that has not answered in this run: likely its address is wrong.
type neverReached struct{ error }

func (n *neverReached) Unwrap() error { return n.error }

// ask sends a request to one broker, once.
func (s *Source) ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	resp, err := s.cluster.client.Broker(int(broker)).Request(ctx, req)
	if err == nil {
		return resp, nil
	}
	err = fmt.Errorf("broker %d: %w", broker, err)
	if !s.dials.everReached(broker) && dialFailed(err) {
		err = &neverReached{err}
	}
	return nil, err
}

func dialFailed(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// unanswered makes an error of the cluster a fault that tells whom was asked, and as far as it is known why there was no
// answer.
func (s *Source) unanswered(err error) error {
	var fault *batch.Fault
	if errors.As(err, &fault) || errors.Is(err, context.Canceled) {
		return err
	}
	seeds := "Kafka at " + strings.Join(s.settings.seeds, ", ")
	if denied := s.denied(seeds, err); denied != nil {
		return denied
	}
	var answer *kerr.Error
	if errors.As(err, &answer) {
		if forbidden(err) {
			return notPermitted(seeds, err)
		}
		return &batch.Fault{Message: seeds, Hint: "It may pass: run again. If it does not, look at the brokers' state.", Err: err}
	}
	message := seeds + " does not answer"
	if failures := s.dials.failures(err); failures != "" {
		message += "; cannot connect to " + failures
	}
	hint := "Check bootstrap.servers, security.protocol, the brokers' advertised.listeners and the network, and whether the brokers run."
	return &batch.Fault{Message: message, Hint: hint, Err: err}
}

// forbidden reports whether a broker refused for want of a right that is not one on a topic. sluice asks for none such, but
// what stands in front of brokers (proxies, services that speak Kafka's protocol) has rules of its own.
func forbidden(err error) bool {
	return errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) ||
		errors.Is(err, kerr.TransactionalIDAuthorizationFailed)
}

func notPermitted(message string, err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: "Grant the principal that sluice connects as what the broker names; asking again does not help.", Err: err}
}
