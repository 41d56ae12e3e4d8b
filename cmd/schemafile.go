package cmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"sluice/decode"
)

// sampleFile takes the first lines of a file that are not empty; of stdin if its name is -.
func sampleFile(ctx context.Context, name string, most int) (*sample, error) {
	s := &sample{from: name, which: "first"}
	in := io.Reader(os.Stdin)
	if name == "-" {
		s.from = "stdin"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, &usage{fmt.Errorf("read the sample: %w", err), "give a file of JSON, one object a line"}
		}
		defer file.Close()
		in = file
	}
	type result struct {
		values []decode.SampledValue
		err    error
	}
	read := make(chan result, 1)
	go func() { // it stays behind when ctx ends: reading from a terminal cannot be called off
		values, err := sampleLines(in, most)
		read <- result{values, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			return nil, &usage{fmt.Errorf("read %s: %w", s.from, r.err), "give JSON, one object a line"}
		}
		s.values = r.values
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func sampleLines(in io.Reader, most int) (values []decode.SampledValue, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostSampledBytes)
	size := 0
	for number := 1; len(values) < most && size < mostSampledBytes && lines.Scan(); number++ {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			values = append(values, decode.SampledValue{Value: bytes.Clone(line), Place: fmt.Sprintf("line %d", number)})
			size += len(line)
		}
	}
	return values, lines.Err()
}
