// Package swagger serves Swagger UI and the OpenAPI document that it displays. The page
// loads nothing from other origins and works under any prefix.
package swagger

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Options are the options of Register. Document and NotFound are required.
type Options struct {
	// Document returns the OpenAPI document as JSON, in two parts, of which head is what
	// depends on baseURL: tail is compressed only if it differs from the last one. It is
	// called for each request, with the URL of the document without /openapi.json, or "" if
	// that is not known. The parts must not be modified after they were returned.
	//
	// If the first server of the document has a variable base_url, the page replaces it by
	// the URL of the folder that contains swagger/, and calls it "This server" if the default
	// was another. A member x-relative-url of the variable, such as "..", is another URL,
	// relative to that folder.
	Document func(baseURL string) (head, tail []byte)
	// TrustedProxies are the IP addresses and CIDR networks of the proxies whose headers
	// X-Forwarded-Proto and X-Forwarded-Host are used for baseURL.
	TrustedProxies []string
	// NotFound handles requests for files under swagger/ that do not exist.
	NotFound gin.HandlerFunc
}

// Register mounts the UI at swagger/index.html and the document at openapi.json, for GET
// and HEAD. It returns an error if an option is missing, a trusted proxy is neither an IP
// address nor a CIDR network, or a route conflicts with one of the host.
func Register(r gin.IRouter, o Options) (err error) {
	if o.Document == nil || o.NotFound == nil {
		return errors.New("swagger: set Options.Document and Options.NotFound")
	}
	proxies, err := parseProxies(o.TrustedProxies)
	if err != nil {
		return fmt.Errorf("swagger: Options.TrustedProxies: %w", err)
	}
	files, err := loadFiles()
	if err != nil {
		return fmt.Errorf("swagger: load the files of the page: %w", err)
	}
	defer func() {
		if conflict := recover(); conflict != nil { // Gin reports it in no other way
			err = fmt.Errorf("swagger: mount the documentation: %v", conflict)
		}
	}()
	var document lastDocument
	handleGet(r, "/openapi.json", func(c *gin.Context) {
		if len(proxies) > 0 {
			c.Writer.Header().Add("Vary", forwardedProto+", "+forwardedHost)
		}
		head, tail := o.Document(proxies.baseURL(c))
		document.serve(c, head, tail)
	})
	handleGet(r, "/swagger/*name", func(c *gin.Context) {
		name := c.Param("name")
		if name == "/" {
			redirect(c, "index.html")
			return
		}
		file, ok := files[name]
		if !ok {
			o.NotFound(c)
			return
		}
		file.serve(c)
	})
	return nil
}

// RedirectRoot redirects the path / of r to the UI. Register does not, because a host may
// have a page of its own there.
func RedirectRoot(r gin.IRouter) {
	handleGet(r, "/", func(c *gin.Context) { redirect(c, "swagger/index.html") })
}

// handleGet mounts a handler for GET and HEAD, and one for OPTIONS.
func handleGet(r gin.IRouter, path string, handler gin.HandlerFunc) {
	r.Match([]string{http.MethodGet, http.MethodHead}, path, handler)
	r.OPTIONS(path, func(c *gin.Context) {
		c.Header("Allow", "GET, HEAD, OPTIONS")
		c.Status(http.StatusNoContent)
	})
}

// redirect redirects to a relative URL, unlike http.Redirect, so that it is right behind a
// proxy that removes a prefix.
func redirect(c *gin.Context, location string) {
	c.Header("Location", location)
	c.Status(http.StatusFound)
}
