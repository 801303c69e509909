package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/chromedp/chromedp"
)

// axeScript returns the source of axe-core, which it installs once.
var axeScript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS("testdata/axe")); err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci")
	install.Dir, install.Stderr = dir, os.Stderr
	if err := install.Run(); err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(script), err
})

// wantAccessible expects that axe-core finds no serious problem of accessibility on the page as it is.
func (p *page) wantAccessible(view string) {
	p.t.Helper()
	script, err := axeScript()
	if err != nil {
		p.t.Fatalf("install axe-core: %v", err)
	}
	p.run(waitFor("body", `() => document.getAnimations().length === 0`)) // else colors are on their way to another one
	found := evaluate(p, chromedp.Evaluate[string](script+`;
		axe.run().then(({ violations, passes }) => JSON.stringify([passes.length, violations.flatMap(({ id, impact, nodes }) =>
			impact === "serious" || impact === "critical" ? nodes.map(node => id + ": " + node.html + ": " + node.failureSummary) : [])]))`, chromedp.EvalAwaitPromise))
	var passes int
	var violations []string
	if err := json.Unmarshal([]byte(found), &[]any{&passes, &violations}); err != nil || passes < 10 {
		p.t.Fatalf("%s: got %d passed rules of axe-core and error %v", view, passes, err)
	}
	for _, violation := range violations {
		p.t.Errorf("%s: %s", view, violation)
	}
}
