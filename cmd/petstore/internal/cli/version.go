package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion returns the version of this program and the commit that it was built from.
// What the linker did not set comes from the build information, which has it if go build
// ran in a git checkout, or else is "unknown".
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

// versionText returns the text that petstore version and --version print after the name.
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
