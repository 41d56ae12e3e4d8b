package protobuf

import (
	"embed"
	"io/fs"
	"maps"
	"strings"
	"sync"
)

// texts are files that the Confluent registry knows without being told: schemas import them, and their references do not
// name them. They hold the same messages and numbers as the originals.
//
//go:embed builtin
var texts embed.FS

// builtin has the texts by import path.
var builtin = sync.OnceValue(func() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(texts, "builtin", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := texts.ReadFile(path)
		files[strings.TrimPrefix(path, "builtin/")] = string(text)
		return err
	})
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return files
})

// withBuiltin adds the texts to files, whose own come first.
func withBuiltin(files map[string]string) map[string]string {
	all := maps.Clone(builtin())
	maps.Copy(all, files)
	return all
}

func parseBuiltin(path string) (*File, error) {
	return Parse(map[string]string{path: builtin()[path]}, path)
}
