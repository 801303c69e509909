//go:build browser

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A page is Swagger UI in a real browser, with what the browser complained of.
type page struct {
	t          *testing.T
	ctx        context.Context //nolint:containedctx // chromedp keeps the browser in it
	name, url  string
	mu         sync.Mutex
	complaints []string
}

// fields are what a newcomer types, by the name of a parameter; "" is the body.
type fields map[string]string

// openPage opens the address in a browser of its own.
func openPage(t *testing.T, name, url string) *page {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v (make test-browser installs it)", err)
	}
	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 1400),
		chromedp.Flag("disable-quic", true),
	)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, name: name, url: url}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	p.load()
	return p
}

// resize loads the page anew on the screen of a device that is as wide in CSS pixels.
func (p *page) resize(width int64) {
	p.t.Helper()
	p.run(chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
	p.load()
}

// load opens the address and waits for the operations.
func (p *page) load() {
	p.t.Helper()
	p.run(chromedp.Navigate(p.url+"/"), chromedp.WaitVisible(`#operations-Pets-listPets`))
}

// wantFit expects a page of that width which does not scroll sideways.
func (p *page) wantFit(width int64) {
	p.t.Helper()
	laidOut := see(p, chromedp.Evaluate[int64](`document.documentElement.clientWidth`))
	needed := see(p, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
	if laidOut != width || needed > width {
		p.t.Errorf("on a screen of %d pixels the page is laid out for %d and needs %d", width, laidOut, needed)
	}
}

// listen takes down what a console or a network panel would show in red. A refusal
// of the API is shown there, too, but is what the newcomer asked for.
func (p *page) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complain("exception: " + e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.complain("console: " + string(e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.URL, "/v1/") {
			p.complain("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.url) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.complain("request to " + e.Request.URL)
		}
	case *network.EventLoadingFailed:
		p.complain("failed: " + e.ErrorText + " " + string(e.BlockedReason))
	}
}

func (p *page) complain(about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = append(p.complaints, about)
}

func (p *page) wantNoComplaint() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, complaint := range p.complaints {
		p.t.Error(complaint)
	}
}

// run takes steps, each of which waits for what it needs.
func (p *page) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.shoot("failed")
		p.t.Fatal(err)
	}
}

// see returns what an action finds on the page.
func see[T any](p *page, action chromedp.Action[T]) T {
	p.t.Helper()
	found, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.shoot("failed")
		p.t.Fatal(err)
	}
	return found
}

func (p *page) wantLocation(want string) {
	p.t.Helper()
	if got := see(p, chromedp.Location()); got != want {
		p.t.Errorf("the page is %s, want %s", got, want)
	}
}

func (p *page) wantTitle(want string) {
	p.t.Helper()
	if got := see(p, chromedp.Title()); got != want {
		p.t.Errorf("the page has the title %s, want %s", got, want)
	}
}

// authorize pastes the raw key, as the README says.
func (p *page) authorize(key string) {
	p.t.Helper()
	p.run(
		chromedp.Click(`.auth-wrapper .authorize`),
		chromedp.WaitVisible(`.auth-container input`),
		chromedp.SendKeys(`.auth-container input`, key),
		chromedp.Click(`.auth-btn-wrapper .authorize`),
		chromedp.WaitVisible(`.auth-btn-wrapper .btn-done`),
		chromedp.Click(`.auth-btn-wrapper .btn-done`),
	)
}

// try opens an operation, fills in fields, executes it and expects a status.
func (p *page) try(operation string, f fields, status string) {
	p.t.Helper()
	block := "#operations-" + operation
	if p.count(block+" .execute") == 0 {
		p.run(chromedp.Click(block+` .opblock-summary-control`), chromedp.Click(block+` .try-out__btn`))
	}
	for name, value := range f {
		field := block + ` tr[data-param-name="` + name + `"] input`
		if name == "" {
			field = block + ` .body-param__text`
		}
		p.run(chromedp.WaitVisible(field), chromedp.Focus(field))
		see(p, chromedp.Evaluate[bool](`document.execCommand("selectAll")`))
		p.run(chromedp.SendKeys(field, value))
	}
	p.again(operation, status)
}

// again executes an operation that is open.
func (p *page) again(operation, status string) {
	p.t.Helper()
	block := "#operations-" + operation
	answered := block + ` .live-responses-table tbody .response-col_status`
	if p.count(block+" .btn-clear") > 0 {
		p.run(chromedp.Click(block+` .btn-clear`), chromedp.WaitNotPresent(answered))
	}
	p.run(chromedp.Click(block+` .execute`), chromedp.WaitVisible(answered))
	if got := see(p, chromedp.Text(answered)); !strings.HasPrefix(strings.TrimSpace(got), status) {
		p.shoot("unexpected")
		p.t.Errorf("%s answered %q, want %s", operation, got, status)
	}
}

func (p *page) count(selector string) int {
	p.t.Helper()
	return see(p, chromedp.Evaluate[int](`document.querySelectorAll("`+selector+`").length`))
}

func (p *page) wantDeprecated(operation string) {
	p.t.Helper()
	line := see(p, chromedp.Evaluate[string](
		`getComputedStyle(document.querySelector("#operations-`+operation+` .opblock-summary-path__deprecated")).textDecorationLine`,
	))
	if line != "line-through" {
		p.t.Errorf("%s is decorated with %q", operation, line)
	}
}

// shoot takes a screenshot into a temporary folder, to be looked at.
func (p *page) shoot(what string) {
	p.t.Helper()
	folder := filepath.Join(os.TempDir(), "petstore-screenshots")
	image, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Logf("no screenshot: %v", err)
		return
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, p.name+"-"+what+".png"), image, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
