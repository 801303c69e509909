// Package swagger serves Swagger UI and the OpenAPI document that it shows. It
// needs nothing from the network and works under any prefix.
package swagger

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Options are what Register serves. Document and NotFound must be set.
type Options struct {
	// Document returns the OpenAPI document as JSON for a client that requested it
	// from baseURL/openapi.json; an empty baseURL is one that is not known. It is called
	// for each request. Where the first server of the document has a variable base_url,
	// the page replaces its default by the URL of its own parent folder.
	Document func(baseURL string) []byte
	// TrustedProxies are the addresses and CIDRs of the proxies whose headers
	// X-Forwarded-Proto and X-Forwarded-Host are used for baseURL.
	TrustedProxies []string
	// NotFound answers the names under swagger/ that do not exist.
	NotFound gin.HandlerFunc
}

// Register mounts the UI at swagger/index.html and the document at openapi.json,
// for GET and HEAD. It fails when an option is missing or a trusted proxy is neither
// an address nor a CIDR.
func Register(r gin.IRouter, o Options) error {
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
	mount(r, "/openapi.json", func(c *gin.Context) {
		if len(proxies) > 0 {
			c.Writer.Header().Add("Vary", forwardedProto+", "+forwardedHost)
		}
		document := o.Document(proxies.baseURL(c))
		newFile("openapi.json", bytes.NewReader(document), int64(len(document))).serve(c)
	})
	mount(r, "/swagger/*name", func(c *gin.Context) {
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

// RedirectRoot leads from the address / of r to the UI. It is apart from
// Register because a host may have a page of its own there.
func RedirectRoot(r gin.IRouter) {
	mount(r, "/", func(c *gin.Context) { redirect(c, "swagger/index.html") })
}

// mount answers GET and HEAD, and tells so.
func mount(r gin.IRouter, path string, serve gin.HandlerFunc) {
	r.Match([]string{http.MethodGet, http.MethodHead}, path, serve)
	r.OPTIONS(path, func(c *gin.Context) {
		c.Header("Allow", "GET, HEAD, OPTIONS")
		c.Status(http.StatusNoContent)
	})
}

// redirect keeps the address relative, unlike http.Redirect, so that it is right
// behind a proxy that takes a prefix away.
func redirect(c *gin.Context, address string) {
	c.Header("Location", address)
	c.Status(http.StatusFound)
}
