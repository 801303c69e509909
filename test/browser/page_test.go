package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/petstore/internal/test/testkit"
)

// A page is Swagger UI in a browser, with the problems that the browser reported.
type page struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // chromedp stores the browser in it
	url      string
	mu       sync.Mutex
	problems []string
}

// Elements of the page. bodyField and petField are in an operation.
const (
	authorizeButton  = ".auth-wrapper .authorize"
	keyField         = "dialog .auth-container input"
	addOperation     = "#operations-Pets-createPet"
	listOperation    = "#operations-Pets-listPets"
	correctOperation = "#operations-Pets-updatePet"
	removeOperation  = "#operations-Pets-deletePet"
	bodyField        = ".body-param__text"
	petField         = `[data-param-name="petId"] input`
)

// openPage opens a URL in a new browser. The browser has a folder of chromedp, which ends all of its processes before it
// removes the folder: some outlive the browser, and write to it.
func openPage(t *testing.T, url string) *page {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v (make deps installs it)", err)
	}
	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(1280, 1400),
		chromedp.Flag("disable-quic", true),
	)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, url: url}
	if err := chromedp.Do(ctx); err != nil { // starts the browser; the browser stops with the context of the first actions
		t.Fatal(err)
	}
	testkit.Check(t, chromedp.Listen(ctx, p.recordProblems))
	p.load()
	return p
}

// load opens the URL and waits until the operations are visible.
func (p *page) load() {
	p.t.Helper()
	p.run(chromedp.Navigate(p.url+"/"), chromedp.WaitVisible(listOperation))
}

// wantFit expects that the page has the width and does not scroll horizontally.
func (p *page) wantFit(width int64) {
	p.t.Helper()
	clientWidth := evaluate(p, chromedp.Evaluate[int64](`document.documentElement.clientWidth`))
	scrollWidth := evaluate(p, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
	if clientWidth != width || scrollWidth > width {
		p.t.Errorf("on a screen of %d pixels: got width %d and scroll width %d", width, clientWidth, scrollWidth)
	}
}

// wantGaps expects at least 5 pixels between buttons, fields and types that are side by side, and between a field and the
// description above it.
func (p *page) wantGaps() {
	p.t.Helper()
	touching := evaluate(p, chromedp.Evaluate[string](`(() => {
		const box = element => {
			const range = document.createRange();
			range.selectNodeContents(element);
			return element.matches(".parameter__type, p") ? range.getBoundingClientRect() : element.getBoundingClientRect();
		};
		const root = document.querySelector("dialog") ?? document; // a dialog covers the page
		const found = [...root.querySelectorAll(".btn, .parameter__type, .parameters-col_description :is(input, select, p)")]
			.map(element => [element.className + element.textContent, box(element)]).filter(([, box]) => box.width > 0);
		return found.flatMap(([a, left]) => found.filter(([, right]) => {
			const x = right.left - left.right, y = right.top - left.bottom;
			return x > -5 && x < 5 && left.top < right.bottom && right.top < left.bottom ||
				y > -5 && y < 3 && left.left < right.right && right.left < left.right && !a.includes("parameter__type");
		}).map(([b]) => a + " | " + b)).join("; ");
	})()`))
	if touching != "" {
		p.t.Errorf("these elements touch: %s", touching)
	}
}

// recordProblems records the errors and warnings of the console, and the errors that the network panel of the browser shows,
// except error responses of the API. It also records requests to other servers.
func (p *page) recordProblems(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.addProblem("exception: " + e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.addProblem("console: " + string(e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.URL, "/v1/") {
			p.addProblem("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		folder := strings.TrimSuffix(p.url, "/docs") // the API may be beside the page
		if !strings.HasPrefix(e.Request.URL, folder) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.addProblem("request to " + e.Request.URL)
		}
	case *network.EventLoadingFailed:
		p.addProblem("failed: " + e.ErrorText + " " + string(e.BlockedReason))
	}
}

func (p *page) addProblem(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

func (p *page) wantNoProblems() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error(problem)
	}
}

// run runs actions. Each waits until its elements exist.
func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	evaluate(p, chromedp.Steps(actions...))
}

// evaluate runs an action, at most a minute, and returns its result.
func evaluate[T any](p *page, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	found, err := chromedp.Run(ctx, action)
	if err != nil {
		p.screenshot()
		p.wantNoProblems()
		p.t.Fatal(err)
	}
	return found
}

// click clicks the middle of an element as soon as it is enabled and nothing covers it there. The page
// itself does that, because a mouse click of chromedp misses an element that has moved since its position
// was read.
func click(selector string) chromedp.Action[chromedp.Void] {
	return waitFor(selector, `element => {
		if (element.disabled) return false;
		element.scrollIntoView({ block: "nearest" });
		const box = element.getBoundingClientRect();
		if (!element.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2))) return false;
		element.click();
		return true;
	}`)
}

// waitFor calls a function of the page with the element that a CSS selector matches, until the function
// returns true.
func waitFor(selector, function string) chromedp.Action[chromedp.Void] {
	return chromedp.PollFunction[chromedp.Void](`selector => {
		const element = document.querySelector(selector);
		return element !== null && (`+function+`)(element);
	}`, chromedp.WithPollingArgs(selector), chromedp.WithPollingTimeout(time.Minute))
}

// wantText expects the value of an expression of JavaScript.
func (p *page) wantText(expression, want string) {
	p.t.Helper()
	if got := evaluate(p, chromedp.Evaluate[string](expression)); got != want {
		p.t.Errorf("%s: got %q, want %q", expression, got, want)
	}
}

// authorize enters the API key and expects that the page then offers an operation.
func (p *page) authorize(key, operation string) {
	p.t.Helper()
	execute := "#operations-" + operation + " .execute"
	p.run(click(authorizeButton), chromedp.WaitVisible(keyField))
	p.enter(keyField, key)
	p.run(click(`.auth-btn-wrapper .authorize`), chromedp.WaitNotPresent(`.auth-container`), chromedp.WaitVisible(execute))
	p.wantOnScreen(execute)
}

// try opens an operation and executes it. entries are fields, each followed by a value, which it first enters in the field.
// It expects a status.
func (p *page) try(operation, status string, entries ...string) {
	p.t.Helper()
	block := "#operations-" + operation
	if evaluate(p, chromedp.Evaluate[bool](`document.querySelector("`+block+` .execute") === null`)) {
		p.run(click(block+` .opblock-summary-control`), chromedp.WaitVisible(block+` .execute`))
	}
	for entry := range slices.Chunk(entries, 2) {
		p.enter(block+" "+entry[0], entry[1])
		p.run(chromedp.KeyEvent(kb.Tab)) // otherwise the page has the value 350 ms later
	}
	p.execute(operation, status)
}

// enter replaces the value of a field at once, because the page is rendered after each change.
func (p *page) enter(field, value string) {
	p.t.Helper()
	p.run(chromedp.WaitVisible(field), chromedp.Focus(field))
	command := fmt.Sprintf(`document.execCommand("insertText", false, %q)`, value)
	if value == "" {
		command = `document.execCommand("delete")`
	}
	evaluate(p, chromedp.Evaluate[bool](`document.execCommand("selectAll"), `+command))
}

// execute executes an open operation and expects a status. It ignores the cell that has the status of the
// previous response.
func (p *page) execute(operation, status string) {
	p.t.Helper()
	block := "#operations-" + operation
	statusCell := block + ` .live-responses-table tbody .response-col_status`
	evaluate(p, chromedp.Evaluate[int](`document.querySelectorAll("`+statusCell+`").forEach(cell => cell.classList.add("old")), 0`))
	statusCell += ":not(.old)"
	p.run(click(block+` .execute`), chromedp.WaitVisible(statusCell))
	if got := evaluate(p, chromedp.Text(statusCell)); !strings.HasPrefix(strings.TrimSpace(got), status) {
		p.screenshot()
		p.t.Errorf("%s: got status %q, want %s", operation, got, status)
	}
	p.wantOnScreen(statusCell)
}

// wantOnScreen waits until the top of an element is on the screen. It does not scroll the page.
func (p *page) wantOnScreen(selector string) {
	p.t.Helper()
	p.run(waitFor(selector, `element => {
		const top = element.getBoundingClientRect().top;
		return top >= 0 && top < innerHeight;
	}`))
}

// wantNoTextBelowCopyButton expects that no copy button covers text of a response, or of the command that
// repeats the request. The test does not scroll these texts.
func (p *page) wantNoTextBelowCopyButton(block string) {
	p.t.Helper()
	buttons := `[...document.querySelectorAll("` + block + ` .live-response .copy-to-clipboard")]`
	if n := evaluate(p, chromedp.Evaluate[int](buttons+`.length`)); n == 0 {
		p.t.Errorf("%s: there is no copy button", block)
	}
	covered := evaluate(p, chromedp.Evaluate[string](buttons+`.flatMap(button => {
		const box = button.getBoundingClientRect(), range = document.createRange();
		range.selectNodeContents(button.parentElement.querySelector("code, pre"));
		return [...range.getClientRects()].filter(text => text.width > 0 && text.height < box.height &&
				text.left < box.right && text.right > box.left && text.top < box.bottom && text.bottom > box.top)
			.map(text => JSON.stringify([text, box]));
	}).join()`))
	if covered != "" {
		p.t.Errorf("%s: a button covers text: %s", block, covered)
	}
}

// openAndClickExecute opens an operation and clicks Execute before Swagger UI has resolved the references of the operation.
func (p *page) openAndClickExecute(operation string) {
	p.t.Helper()
	clicked := evaluate(p, chromedp.Evaluate[bool](`(async block => {
		block.querySelector(".opblock-summary-control").click();
		await null; // React has rendered the operation
		block.querySelector(".execute").click();
		return block.querySelector(".parameters-col_name") === null;
	})(document.querySelector("#operations-`+operation+`"))`, chromedp.EvalAwaitPromise))
	if !clicked {
		p.t.Errorf("%s: Execute was clicked too late", operation)
	}
}

// screenshot saves a screenshot of a failure in bin/screenshots.
func (p *page) screenshot() {
	p.t.Helper()
	const dir = "../../bin/screenshots"
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, strings.ReplaceAll(p.t.Name(), "/", "-")+".png"), image, 0o644))
	}
	if err != nil {
		p.t.Logf("cannot take a screenshot: %v", err)
	}
}
