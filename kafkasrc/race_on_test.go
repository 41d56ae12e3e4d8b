//go:build race

package kafkasrc

// raced says that the race detector is on, with which pools forget what they hold.
const raced = true
