package completion

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// TestDocumentedLineInstallsCompletion runs the line of docs/operations.md for each shell, and
// expects that a new shell completes the commands of petstore.
func TestDocumentedLineInstallsCompletion(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string]string{
		"bash": `. ~/.bashrc; complete -p petstore | grep -q __start_petstore`,
		"zsh":  `. ~/.zshrc; [ "$_comps[petstore]" = _petstore ]`,
		"fish": `complete -C "petstore ke" | string match -q "keys*"`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			line := regexp.MustCompile(`(?m)^echo .*petstore completion ` + shell + `.*$`).FindString(harness.ReadFile(t, "../../docs/operations.md"))
			if line == "" {
				t.Fatal("docs/operations.md has no line for this shell")
			}
			home := t.TempDir()
			harness.Check(t, os.MkdirAll(filepath.Join(home, ".config", "fish"), 0o700))
			harness.Check(t, os.Symlink(harness.Program(t), filepath.Join(home, "petstore")))
			for _, command := range [][]string{{"sh", "-c", line}, {shell, "-c", check}} {
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+home+":"+os.Getenv("PATH"))
				if output, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", strings.Join(command, " "), err, output)
				}
			}
		})
	}
}
