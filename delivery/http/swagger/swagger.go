// Package swagger serves Swagger UI and the OpenAPI document that it shows. It
// needs nothing from the network and works under any prefix.
package swagger

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Options are what Register serves. Both fields must be set.
type Options struct {
	// Document is the OpenAPI document as JSON; its title becomes the page's.
	Document []byte
	// NotFound answers the names under swagger/ that do not exist.
	NotFound gin.HandlerFunc
}

// Register mounts the UI at swagger/index.html and the document at openapi.json,
// for GET and HEAD. It fails when an option is missing or the document is no JSON.
func Register(r gin.IRouter, o Options) error {
	if o.NotFound == nil {
		return errors.New("swagger: Options.NotFound is missing")
	}
	title, err := titleOf(o.Document)
	if err != nil {
		return fmt.Errorf("swagger: read the OpenAPI document: %w", err)
	}
	files, err := loadFiles(title)
	if err != nil {
		return fmt.Errorf("swagger: load the files of the page: %w", err)
	}
	document, err := newText("openapi.json", o.Document)
	if err != nil {
		return err
	}
	mount(r, "/openapi.json", document.serve)
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

func titleOf(document []byte) (string, error) {
	var d struct {
		Info struct {
			Title string `json:"title"`
		} `json:"info"`
	}
	err := json.Unmarshal(document, &d)
	return d.Info.Title, err
}
