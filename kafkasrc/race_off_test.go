//go:build !race

package kafkasrc

const raced = false
