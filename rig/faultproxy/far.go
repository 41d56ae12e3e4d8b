package faultproxy

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewFarKafka is a proxy like NewKafka that is far from its clients: whatever is sent takes half a round trip in each direction,
// however much it is. Requests that follow each other are on their way together, as in a network; there are no faults.
func NewFarKafka(target string, roundTrip time.Duration) (*Kafka, error) {
	k := &Kafka{doors: map[string]string{}, open: map[net.Conn]bool{}, roundTrip: roundTrip, far: true}
	addr, err := k.door(target)
	k.Addr = addr
	return k, err
}

// travelling is a message that arrives later.
type travelling struct {
	message      []byte
	key, version int16
	arrives      time.Time
}

// mostTravelling bounds the messages on their way on one connection; a client waits with those after them.
const mostTravelling = 1000

// carry is serve for what is far away.
func (k *Kafka) carry(client, server net.Conn) {
	out, asked, back := make(chan travelling, mostTravelling), make(chan travelling, mostTravelling), make(chan travelling, mostTravelling)
	go func() { // from the client onto the way
		defer close(out)
		for {
			request, err := frame(client)
			if err != nil || len(request) < 12 {
				return
			}
			out <- travelling{request, int16(binary.BigEndian.Uint16(request[4:])), int16(binary.BigEndian.Uint16(request[6:])), time.Now().Add(k.roundTrip / 2)}
		}
	}()
	go func() { // to the broker
		defer close(asked)
		arrive(out, func(t travelling) error {
			_, err := server.Write(t.message)
			asked <- t
			return err
		})
	}()
	go func() { // from the broker onto the way back
		defer close(back)
		for t := range asked {
			answer, err := frame(server)
			if err == nil && t.key == int16(kmsg.Metadata) {
				answer, err = k.readdress(answer, t.version)
			}
			if err != nil {
				break
			}
			back <- travelling{message: answer, arrives: time.Now().Add(k.roundTrip / 2)}
		}
		for range asked { // so that nobody waits to be asked
		}
	}()
	arrive(back, func(t travelling) error {
		_, err := client.Write(t.message)
		return err
	})
	_ = client.Close() // the goroutine that reads of it ends
	_ = server.Close() // and so does the other one
}

// arrive hands on each message when its time has come, and the rest to nobody once that has failed.
func arrive(messages <-chan travelling, hand func(travelling) error) {
	var failed error
	for t := range messages {
		if failed != nil {
			continue
		}
		if wait := time.Until(t.arrives); wait > 0 {
			time.Sleep(wait)
		}
		failed = hand(t)
	}
}
