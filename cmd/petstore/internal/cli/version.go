package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion returns the version of this program, and the commit from which it was built. If the linker has not set
// them, they come from the build information of Go, which has them after go build in a git checkout. Otherwise they are
// "unknown".
func (p Program) buildVersion() (string, string) {
	var module, revision string
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	return cmp.Or(p.Version, module, "unknown"), cmp.Or(p.Commit, revision, "unknown")
}

// versionText returns what petstore version and petstore --version print after the name of the program.
func (p Program) versionText() string {
	version, commit := p.buildVersion()
	return fmt.Sprintf("%s (commit %s, %s)", version, commit, runtime.Version())
}

// A versionEntry is what petstore version prints. Scripts depend on its JSON names.
type versionEntry struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
}

func newVersion(in *invocation) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit and Go version of this program",
		Long: `Print the version, commit and Go version of this program. With --output json it prints an
object with the members version, commit and goVersion.`,
		Example: "  petstore version\n  petstore version --output json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			version, commit := in.buildVersion()
			entry := versionEntry{version, commit, runtime.Version()}
			return output.write(in.Stdout, entry, func(table io.Writer) { fmt.Fprintln(table, "petstore", in.versionText()) })
		},
	}
	output.add(cmd)
	return cmd
}
