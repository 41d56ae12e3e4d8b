package cmd

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"sluice/progress"
)

const flagVersion = "version"

// version is set by the linker (Makefile).
var version = ""

// Version is the program's version: the linker's word, else the module's, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return "devel"
}

// libraries are the ones whose versions matter when something goes wrong.
var libraries = []string{"github.com/apache/iceberg-go", "github.com/twmb/franz-go", "github.com/parquet-go/parquet-go", "gocloud.dev"}

func (p *process) versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "version, commit, Go, key libraries", Flags: outputFlags(), Action: p.showVersion}
}

func (p *process) showVersion(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	v := &progress.Version{Version: Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Libraries: map[string]string{}}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Built = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
		for _, m := range build.Deps {
			for _, name := range libraries {
				if m.Path == name {
					v.Libraries[name] = m.Version
				}
			}
		}
	}
	return progress.Write(p.stdout, p.json, v)
}
