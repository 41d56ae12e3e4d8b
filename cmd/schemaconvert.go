package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/decode"
	"sluice/job"
)

const (
	flagReference = "reference"
	flagMessage   = "message"
	flagAnyAsText = "any-as-text"
)

func (p *process) convertCommand() *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "make Spark's DDL of a JSON Schema, an Avro schema, or a Protobuf message",
		UsageText: "sluice schema convert [options] FILE",
		Description: "Prints the columns that records of the schema have, on stdout, with nothing else. FILE is a JSON Schema (drafts 4 to 2020-12), an Avro schema (.avsc),\n" +
			"a .proto file or a descriptor set (protoc --descriptor_set_out); - is stdin. docs/formats.md has what becomes of what.\n\n" +
			"   sluice schema convert orders.schema.json >orders.ddl\n   sluice schema convert --message shop.Order --reference shop/money.proto=money.proto orders.proto",
		Flags: []cli.Flag{
			&keyFlag{name: flagReference, word: "NAME=FILE", usage: "another text that the schema refers to by NAME; may be repeated"},
			&cli.StringFlag{Name: flagMessage, Usage: "the Protobuf message, by its full `NAME` or that within its package; needed where the file has several at its top"},
			&cli.BoolFlag{Name: flagAnyAsText, Usage: "where a JSON Schema says no type, or several, make it a STRING that keeps the text of the value, and say which option that needs"},
		},
		Action: p.convert,
	}
}

func (p *process) convert(c *cli.Context) error {
	p.verb.Store("schema convert")
	if n := c.Args().Len(); n != 1 {
		return &usage{fmt.Errorf("schema convert takes one file, but has %d", n), "flags stand before it: sluice schema convert [options] FILE, - for stdin"}
	}
	foreign := decode.ForeignSchema{Name: c.Args().First(), Message: c.String(flagMessage), AnyAsText: c.Bool(flagAnyAsText)}
	var err error
	if foreign.Content, err = readSchema(c.Context, foreign.Name); err != nil {
		return err
	}
	for _, r := range given(c, flagReference) {
		name, file, ok := strings.Cut(r, "=")
		if !ok || name == "" {
			return &usage{fmt.Errorf("--%s %s is no reference", flagReference, r), "want NAME=FILE, the name as the schema has it"}
		}
		content, err := readSchema(c.Context, file)
		if err != nil {
			return err
		}
		foreign.References = append(foreign.References, decode.NamedText{Name: name, Text: string(content)})
	}
	converted, err := decode.Convert(foreign)
	if err != nil {
		return &usage{err, "correct the schema (of a .proto file, --message NAME before the file says which message), or write value.schema by hand"}
	}
	if err := writeFormats(p.stderr, converted.Formats); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, converted.DDL)
	return err
}

func readSchema(ctx context.Context, name string) ([]byte, error) {
	content, err := []byte(nil), error(nil)
	if name == "-" {
		content, err = io.ReadAll(io.LimitReader(os.Stdin, mostSchema+1))
	} else {
		content, err = job.ReadFile(ctx, name)
	}
	if err == nil && len(content) > mostSchema {
		err = errors.New("it is larger than 4 MiB")
	}
	if err != nil {
		return nil, cause(ctx, &usage{fmt.Errorf("read %s: %w", name, err), "give the file of a schema"})
	}
	return content, nil
}

// mostSchema bounds the text of a schema.
const mostSchema = 4 << 20

// writeFormats says which options a schema needs.
func writeFormats(w io.Writer, formats map[string]string) error {
	if len(formats) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("options that the schema needs, below value.json.columnFormats in the job:\n")
	for _, path := range slices.Sorted(maps.Keys(formats)) {
		fmt.Fprintf(&b, "  %s: %s\n", strconv.Quote(path), formats[path])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
