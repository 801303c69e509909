package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/petstore/test/harness"
)

// TestKeyboardAndColorSchemesInABrowser authorizes, adds and lists by keyboard alone. axe-core checks each view.
func TestKeyboardAndColorSchemesInABrowser(t *testing.T) {
	dir := t.TempDir()
	harness.Check(t, os.CopyFS(dir, os.DirFS("testdata/axe")))
	harness.Shell(t, dir, "npm ci")
	axe := harness.ReadFile(t, filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			s := harness.Start(t, t.TempDir())
			p := openPage(t, s.URL)
			params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, params)
			harness.Check(t, err)
			p.wantAccessible(axe, "page")

			p.tabTo(authorizeButton)
			p.press(kb.Enter)
			p.wantFocus(keyField)
			p.wantFocusInDialog()
			p.press(kb.Escape)
			p.wantFocus(authorizeButton)

			p.press(kb.Enter)
			p.wantFocus(keyField)
			p.press(strings.Repeat("W", len(s.Key)))
			p.run(waitFor(keyField, `element => element.value.length === 58 && element.scrollWidth <= element.clientWidth`)) // it shows the whole key
			p.press(kb.Enter)
			p.run(chromedp.WaitVisible(`dialog [role="alert"]`))
			p.wantAccessible(axe, "dialog")
			p.run(chromedp.MouseClickXY(5, 5), chromedp.WaitNotPresent("dialog"))

			p.tabTo(authorizeButton)
			p.press(kb.Enter)
			p.wantFocus(keyField)
			p.press(s.Key + kb.Enter)
			p.wantFocus(addOperation + " .execute") // the store is empty
			p.wantAccessible(axe, "open operation")
			p.press(kb.Enter)
			p.run(waitFor(addOperation+` .live-responses-table`, `element => element.innerText.includes("201")`))
			p.wantAccessible(axe, "response")

			p.tabTo(listOperation+" .opblock-summary-control", chromedp.KeyModifiers(chromedp.ModifierShift))
			p.press(kb.Enter)
			p.tabTo(listOperation + " .execute")
			p.press(kb.Enter)
			p.run(waitFor(listOperation+` .live-responses-table`, `element => element.innerText.includes('"Rex"')`))
			p.wantNoProblems()
		})
	}
}

// TestOperationThatIsClosedGetsNoFocusInABrowser closes the operation that a key opens before its Execute is enabled, and
// opens another one.
func TestOperationThatIsClosedGetsNoFocusInABrowser(t *testing.T) {
	s := harness.Start(t, t.TempDir())
	p := openPage(t, s.URL)
	evaluate(p, chromedp.Evaluate[bool](`new MutationObserver((_, observer) => {
		const control = document.querySelector(".opblock.is-open .opblock-summary-control");
		if (control === null) return;
		observer.disconnect();
		control.click();
		document.body.id = "closed";
	}).observe(document.body, { attributeFilter: ["class"], childList: true, subtree: true }), true`))
	p.run(click(authorizeButton), chromedp.WaitVisible(keyField))
	p.enter(keyField, s.Key)
	p.press(kb.Enter)
	p.run(chromedp.WaitReady("#closed"), click(listOperation+" .opblock-summary-control"), chromedp.WaitEnabled(listOperation+" .execute"))
	if evaluate(p, chromedp.Evaluate[bool](`new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() =>
		resolve(document.activeElement.matches(".execute")))))`, chromedp.EvalAwaitPromise)) {
		t.Error("Execute got the focus")
	}
	p.wantNoProblems()
}

// press presses keys in turn.
func (p *page) press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys, options...))
}

// tabTo presses Tab until an element has the focus, which must be visible at each element.
func (p *page) tabTo(selector string, options ...chromedp.KeyOption) {
	p.t.Helper()
	for range 100 {
		p.press(kb.Tab, options...)
		if invisible := evaluate(p, chromedp.Evaluate[string](`(element =>
			element === document.body || getComputedStyle(element).outlineStyle !== "none" ? "" : element.outerHTML)(document.activeElement)`)); invisible != "" {
			p.t.Errorf("the focus is not visible on %s", invisible)
		}
		if evaluate(p, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
			return
		}
	}
	p.t.Fatalf("Tab does not reach %s", selector)
}

// wantFocus waits until an element has the focus.
func (p *page) wantFocus(selector string) {
	p.t.Helper()
	p.run(waitFor(selector, `element => element === document.activeElement`))
}

// wantFocusInDialog expects that Tab reaches nothing of the page behind the dialog.
func (p *page) wantFocusInDialog() {
	p.t.Helper()
	for range 10 {
		p.press(kb.Tab)
		outside := evaluate(p, chromedp.Evaluate[string](`document.activeElement.closest("dialog, body").matches("dialog") ||
			document.activeElement === document.body ? "" : document.activeElement.outerHTML`))
		if outside != "" {
			p.t.Errorf("got the focus on %s behind the dialog", outside)
		}
	}
}

// wantAccessible expects that axe-core, whose script axe is, finds no serious problem of accessibility on the page as it is.
func (p *page) wantAccessible(axe, view string) {
	p.t.Helper()
	p.run(waitFor("body", `() => document.getAnimations().length === 0`)) // else colors are on their way to another one
	found := evaluate(p, chromedp.Evaluate[string](axe+`;
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
