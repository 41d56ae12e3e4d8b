package job

import "strings"

// Reference is the table of all keys in Markdown, for the documentation.
func Reference() string {
	var b strings.Builder
	b.WriteString("| key | default | values | flag | variable | may change | what it does |\n|---|---|---|---|---|---|---|\n")
	for _, k := range keys {
		cells := []string{code(k.Path), code(k.Default), k.values(), code(dashed(k.Flag)), code(k.Env()), k.Class.String(), k.Doc}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// values is what values look like, or the values that there are, with the unit.
func (k *Key) values() string {
	text := k.Want
	if len(k.Allowed) > 0 {
		text = "`" + strings.Join(k.Allowed, "`, `") + "`"
	}
	if k.Unit != "" {
		text += "; in " + k.Unit
	}
	if k.Needs != 0 && k.Default == "" && k.Path != checkpointPath {
		text += "; required"
	}
	return text
}

func dashed(flag string) string {
	if flag == "" {
		return ""
	}
	return "--" + flag
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
