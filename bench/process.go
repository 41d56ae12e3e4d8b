package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// cost is what one process took from start to exit.
type cost struct {
	Wall   time.Duration `json:"wall"`
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// Peak is the largest resident set, in bytes.
	Peak int64 `json:"peak"`
}

// cpu is the time on all cores, the kernel's part included.
func (c cost) cpu() time.Duration { return c.User + c.System }

// starter runs programs and weighs them.
type starter struct {
	// weigh is the small program between us and what is measured; self is this program, for its child modes.
	weigh, self string
	// scratch is a folder of this benchmark alone.
	scratch string
	// environ is added to the environment of what is run.
	environ []string
}

// run runs a program to its end and returns its stdout and what it took. An exit code other than 0 is an error with
// the program's stderr.
func (s *starter) run(ctx context.Context, program string, args ...string) ([]byte, cost, error) {
	file := filepath.Join(s.scratch, "cost.json")
	cmd := exec.CommandContext(ctx, s.weigh, append([]string{file, program}, args...)...)
	cmd.Env = append(os.Environ(), s.environ...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, cost{}, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, stdout.Bytes(), stderr.Bytes())
	}
	var c cost
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return nil, cost{}, fmt.Errorf("read what %s took: %w", filepath.Base(program), err)
	}
	return stdout.Bytes(), c, nil
}

// child runs one of this program's child modes and decodes its result, one JSON object.
func (s *starter) child(ctx context.Context, mode string, a assignment, result any) (cost, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return cost{}, err
	}
	out, c, err := s.run(ctx, s.self, childWord, mode, string(text))
	if err != nil {
		return cost{}, err
	}
	if err := json.Unmarshal(out, result); err != nil {
		return cost{}, fmt.Errorf("result of %s: %w", mode, err)
	}
	return c, nil
}
