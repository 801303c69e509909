package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/gin-gonic/gin"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
)

// TestSwaggerUISendsRequestsInABrowser authorizes and tries operations in Swagger UI as the README describes.
// Swagger UI is served by petstore, by petstore behind a proxy that removes a prefix, and by another Gin engine. That
// engine mounts it in the group above the API, or in a group beside the API.
func TestSwaggerUISendsRequestsInABrowser(t *testing.T) {
	for name, serve := range map[string]func(*testing.T) (url, key string){
		"served": servedDirectly, "proxied": servedByProxy, "mounted": mountAt("/teams/shop"), "mounted beside": mountAt("/teams/shop/docs"),
	} {
		t.Run(name, func(t *testing.T) {
			url, key := serve(t)
			p := openPage(t, url)
			p.wantText(`location.href`, url+"/swagger/index.html")
			p.wantText(`document.title`, "Petstore")
			p.wantText(`[...document.querySelectorAll(".servers option")].map(option => option.textContent).join()`,
				strings.TrimSuffix(url, "/docs")+"/v1 - This server")

			p.wantText(`[...document.querySelectorAll(".opblock")].map(operation => operation.id.split("-").at(-1)).join(" ")`,
				"listPets createPet createPets updatePet deletePet getPet listOrders placeOrder getOrder deliverOrder cancelOrder getInventory "+
					"listCategories deleteCategory putCategory listChanges")
			p.try("Store-listOrders", "401")
			p.run(waitFor("#operations-Store-listOrders .live-response", `element => element.textContent.startsWith("Press Authorize ")`))
			p.authorize("\u200bBearer "+key+" ", "Store-listOrders")
			p.try("Pets-createPet", "201", bodyField, `{"name":"Rex","categoryId":9223372036854775807,"status":"available"}`)
			p.run(waitFor(addOperation+" .live-response", `element => element.textContent.includes('"categoryId": 9223372036854775807,')`))
			for _, text := range []string{
				"this operation requires an API key with the scope",                       // in a shared response
				"the body must be one JSON object", "The seconds to wait before a retry.", // in a response of the operation itself
			} {
				responses := addOperation + " .responses-table:not(.live-responses-table)"
				p.run(waitFor(responses, fmt.Sprintf(`element => element.textContent.includes(%q)`, text)))
			}
			p.enter(addOperation+" "+bodyField, "")
			p.run(click(addOperation+" .execute"), waitFor(addOperation+" .body-param", `element =>
				getComputedStyle(element, "::after").content === '"The body must not be empty."'`))
			p.openAndClickExecute("Pets-listPets")
			p.execute("Pets-listPets", "200")
			for _, c := range [][2]string{{"available,none", "?status=available,none&limit=20"}, {"", "?limit=20"}} {
				p.run(waitFor(listOperation+` [data-param-name="status"] select`, fmt.Sprintf(`element => {
					for (const option of element.options) option.selected = %q.split(",").includes(option.value);
					return element.dispatchEvent(new Event("change", { bubbles: true }));
				}`, c[0])), waitFor(listOperation, fmt.Sprintf(`element => {
					element.querySelector(".execute").click(); // again and again: the page has the value later
					return element.querySelector(".request-url")?.innerText.endsWith(%q);
				}`, c[1])))
			}
			p.enter(listOperation+` [data-param-name="limit"] input`, "101")
			p.run(waitFor(listOperation, `element => {
				element.querySelector(".execute").click(); // again and again: the page has the value 350 ms after it was entered
				const cell = element.querySelector('[data-param-name="limit"] .parameters-col_description');
				return cell.dataset.error === "Value must be at most 100" && getComputedStyle(cell, "::after").content.includes(cell.dataset.error);
			}`))
			p.wantText(`getComputedStyle(document.querySelector("#operations-Pets-getPet .opblock-summary-path__deprecated")).textDecorationLine`,
				"line-through")
			p.try("Pets-getPet", "200", petField, "1")
			p.try("Store-placeOrder", "201", bodyField, `{"petId":1}`)
			p.execute("Store-placeOrder", "409")
			p.wantNoExampleOfAnID()
			p.wantNoProblems()
		})
	}
}

// TestPageFitsTheScreenInABrowser tries the examples on screens of a phone, a tablet and a
// desktop computer.
func TestPageFitsTheScreenInABrowser(t *testing.T) {
	dir := t.TempDir()
	harness.MustRun(t, dir, "seed")
	s := harness.Start(t, dir)
	p := openPage(t, s.URL)
	p.authorize(s.Key, "Pets-listPets")
	for _, width := range []int64{390, 768, 1440} {
		p.run(chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
		p.load()
		p.wantFit(width)
		p.wantOnScreen(listOperation)
		p.try("Pets-listPets", "200")
		p.try("Pets-createPet", "201")
		p.wantNoTextBelowCopyButton(addOperation)
		p.try("Pets-updatePet", "200", petField, "1", bodyField, `{"name":"Max"}`)
		p.try("Store-getOrder", "200", `[data-param-name="orderId"] input`, "1")
		p.wantFit(width)
		p.wantGaps()
		p.run(click(authorizeButton), chromedp.WaitVisible("dialog .btn-done"))
		p.wantGaps()
		p.run(click("dialog .btn-done"), chromedp.WaitNotPresent("dialog"))
	}
	p.wantNoProblems()
}

// wantNoExampleOfAnID opens the operations that change a record. They must not have an id that the user has not entered: an
// animal that is removed is gone. The correction must not set all members.
func (p *page) wantNoExampleOfAnID() {
	p.t.Helper()
	for _, operation := range []string{"Pets-updatePet", "Pets-deletePet", "Store-deliverOrder", "Store-cancelOrder"} {
		block := "#operations-" + operation
		id := block + ` [data-param-name$="Id"] input`
		p.run(click(block+` .opblock-summary-control`), chromedp.WaitVisible(id))
		p.wantText(`document.querySelector('`+id+`').value`, "")
		p.run(click(block+" .execute"), waitFor(id, `element => element.matches(".invalid")`))
	}
	p.wantText(`JSON.stringify(JSON.parse(document.querySelector("`+correctOperation+" "+bodyField+`").value))`, `{"name":"Rex"}`)
}

// servedDirectly runs petstore serve.
func servedDirectly(t *testing.T) (url, key string) {
	s := harness.Start(t, t.TempDir())
	return s.URL, s.Key
}

// servedByProxy runs a proxy before the server. The proxy removes a prefix that the server does not know.
// The page must not send its requests to server.production_url.
func servedByProxy(t *testing.T) (address, key string) {
	s := harness.Start(t, t.TempDir(),
		"--set", "server.production_url=https://pets.example", "--set", "server.staging_url=https://staging.pets.example")
	target, err := url.Parse(s.URL)
	testkit.Check(t, err)
	proxy := httptest.NewServer(http.StripPrefix("/pet/shop", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	return proxy.URL + "/pet/shop", s.Key
}

// mountAt mounts Swagger UI in a group of another Gin engine, and the API in the group /teams/shop/v1. A
// middleware signs in a user of the host.
func mountAt(docsPath string) func(t *testing.T) (url, key string) {
	return func(t *testing.T) (url, key string) {
		const token = "token-of-ann"
		engine := gin.New()
		engine.Use(func(c *gin.Context) { c.Header("Content-Security-Policy", "default-src 'none'") }) // the policy of the host's own pages
		service, err := petstore.New(t.Context(), sqlite.New(harness.StorePath(t.TempDir())), petstore.Options{
			API: rest.Options{Authenticate: func(c *gin.Context) (string, error) { return c.GetString("user"), nil }},
		})
		testkit.Check(t, err)
		t.Cleanup(func() { _ = service.Close() })
		testkit.Check(t, service.Mount(engine.Group("/teams/shop/v1"), func(c *gin.Context) {
			if c.GetHeader("Authorization") != "Bearer "+token {
				c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "sign in first"})
			}
			c.Set("user", "ann")
		}))
		group := engine.Group(docsPath)
		swagger.RedirectRoot(group)
		testkit.Check(t, swagger.Mount(group, service))
		host := httptest.NewServer(engine)
		t.Cleanup(host.Close)
		return host.URL + docsPath, token
	}
}

// TestPageIsAccessibleByKeyboardInABrowser authorizes, adds, lists, corrects and removes with the keyboard
// alone. axe-core checks each view.
func TestPageIsAccessibleByKeyboardInABrowser(t *testing.T) {
	dir := t.TempDir()
	testkit.Check(t, os.CopyFS(dir, os.DirFS("testdata/axe")))
	harness.Shell(t, dir, "npm ci")
	axe := harness.ReadFile(t, filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			s := harness.Start(t, t.TempDir())
			p := openPage(t, s.URL)
			params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, params)
			testkit.Check(t, err)
			p.wantAccessible(axe, "page")

			p.tabTo(authorizeButton)
			p.run(chromedp.KeyEvent(kb.Enter), waitForFocus(keyField))
			p.wantFocusInDialog()
			p.wantText(`document.querySelector("`+keyField+`").labels[0].textContent`, "API key")
			p.run(chromedp.KeyEvent(kb.Escape), waitForFocus(authorizeButton))

			p.run(chromedp.KeyEvent(kb.Enter), waitForFocus(keyField), chromedp.KeyEvent(strings.Repeat("W", len(s.Key))))
			p.run(waitFor(keyField, `element => element.value.length === 58 && element.scrollWidth <= element.clientWidth`)) // the whole key
			p.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`dialog [role="alert"]`))
			p.wantAccessible(axe, "dialog")
			p.run(chromedp.MouseClickXY(5, 5), chromedp.WaitNotPresent("dialog"))

			p.tabTo(authorizeButton)
			p.run(chromedp.KeyEvent(kb.Enter), waitForFocus(keyField), chromedp.KeyEvent(s.Key+kb.Enter))
			p.run(waitForFocus(addOperation + " .execute")) // the page opens it, because the store is empty
			p.wantAccessible(axe, "open operation")
			p.run(chromedp.KeyEvent(kb.Enter), waitFor(addOperation+` .live-responses-table`, `element => element.innerText.includes("201")`))
			p.wantAccessible(axe, "response")

			p.tabTo(listOperation+" .opblock-summary-control", chromedp.KeyModifiers(chromedp.ModifierShift))
			p.run(chromedp.KeyEvent(kb.Enter))
			p.executeByKeyboard(listOperation, "200", `"Rex"`)
			p.tabTo(correctOperation + " .opblock-summary-control")
			p.run(chromedp.KeyEvent(kb.Enter))
			p.run(chromedp.WaitEnabled(correctOperation + " " + bodyField))
			p.tabTo(correctOperation + " " + bodyField)
			p.run(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(`{"name":"Max"}`))
			p.tabTo(correctOperation + " " + petField)
			p.run(chromedp.KeyEvent("1"))
			p.executeByKeyboard(correctOperation, "200", `"Max"`)
			p.tabTo(removeOperation + " .opblock-summary-control")
			p.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitEnabled(removeOperation+" "+petField))
			p.tabTo(removeOperation + " " + petField)
			p.run(chromedp.KeyEvent("1"))
			p.executeByKeyboard(removeOperation, "204", "")
			p.wantAccessible(axe, "removed")
			p.wantNoProblems()
		})
	}
}

// TestOperationThatIsClosedGetsNoFocusInABrowser enters the API key, so that the page opens an operation. It
// closes the operation before Execute is enabled. Then it opens another operation.
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
	p.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady("#closed"))
	p.run(click(listOperation+" .opblock-summary-control"), chromedp.WaitEnabled(listOperation+" .execute"))
	if evaluate(p, chromedp.Evaluate[bool](`new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() =>
		resolve(document.activeElement.matches(".execute")))))`, chromedp.EvalAwaitPromise)) {
		t.Error("Execute got the focus")
	}
	p.wantNoProblems()
}

// executeByKeyboard executes an open operation. The response must have a status and contain a text.
func (p *page) executeByKeyboard(operation, status, text string) {
	p.t.Helper()
	p.run(chromedp.WaitEnabled(operation + " .execute")) // otherwise Tab would skip the button
	p.tabTo(operation + " .execute")
	p.run(chromedp.KeyEvent(kb.Enter), waitFor(operation+" .live-responses-table", fmt.Sprintf(`element =>
		element.querySelector("tbody .response-col_status").innerText.startsWith(%q) && element.innerText.includes(%q)`, status, text)))
}

// tabTo presses Tab until an element has the focus. The focus must be visible at each element.
func (p *page) tabTo(selector string, options ...chromedp.KeyOption) {
	p.t.Helper()
	for range 100 {
		p.run(chromedp.KeyEvent(kb.Tab, options...))
		invisible := evaluate(p, chromedp.Evaluate[string](`(element =>
			element === document.body || getComputedStyle(element).outlineStyle !== "none" ? "" : element.outerHTML)(document.activeElement)`))
		if invisible != "" {
			p.t.Errorf("the focus is not visible on %s", invisible)
		}
		if evaluate(p, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
			return
		}
	}
	p.t.Fatalf("Tab does not reach %s", selector)
}

// waitForFocus waits until an element has the focus.
func waitForFocus(selector string) chromedp.Action[chromedp.Void] {
	return waitFor(selector, `element => element === document.activeElement`)
}

// wantFocusInDialog expects that Tab reaches no element of the page behind the dialog.
func (p *page) wantFocusInDialog() {
	p.t.Helper()
	for range 10 {
		p.run(chromedp.KeyEvent(kb.Tab))
		outside := evaluate(p, chromedp.Evaluate[string](`document.activeElement.closest("dialog, body").matches("dialog") ||
			document.activeElement === document.body ? "" : document.activeElement.outerHTML`))
		if outside != "" {
			p.t.Errorf("got the focus on %s behind the dialog", outside)
		}
	}
}

// wantAccessible expects that axe-core finds no serious accessibility problem on the page as it is. axe is
// the script of axe-core.
func (p *page) wantAccessible(axe, view string) {
	p.t.Helper()
	p.run(waitFor("body", `() => document.getAnimations().length === 0`)) // otherwise colors are still changing
	found := evaluate(p, chromedp.Evaluate[string](axe+`;
		axe.run().then(({ violations, passes }) => JSON.stringify([passes.length, violations.flatMap(({ id, impact, nodes }) =>
			impact === "serious" || impact === "critical" ? nodes.map(node => id + ": " + node.html + ": " + node.failureSummary) : [])]))`,
		chromedp.EvalAwaitPromise))
	var passes int
	var violations []string
	if err := json.Unmarshal([]byte(found), &[]any{&passes, &violations}); err != nil || passes < 10 {
		p.t.Fatalf("%s: got %d passed rules of axe-core and error %v", view, passes, err)
	}
	for _, violation := range violations {
		p.t.Errorf("%s: %s", view, violation)
	}
}
