// Package swagger serves Swagger UI and the OpenAPI document that it displays. The page
// loads nothing from other origins and works under any prefix.
package swagger

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
)

// A Service is the API that the document describes. petstore.Service implements it.
type Service interface {
	// BasePath returns the path under which the API is mounted, or "" if it is not.
	BasePath() string
	// Document returns the properties of the deployment.
	Document() docs.Options
}

// Mount mounts Swagger UI at swagger/index.html of a router and the OpenAPI document at
// openapi.json and openapi.yaml, for GET and HEAD. The document has the address of the service, which must be
// mounted on the same engine. Mount returns an error if it is not mounted, its address does not
// follow from that of the document, an option of the document is invalid, or a route conflicts
// with one of the host.
func Mount(r gin.IRouter, s Service) error {
	folder, name, err := relativePath(r.Group("").BasePath(), s.BasePath())
	if err != nil {
		return err
	}
	inJSON, err := docs.Document(s.Document(), folder, name)
	if err != nil {
		return err
	}
	inYAML, err := docs.YAML(s.Document(), folder, name)
	if err != nil {
		return err
	}
	return mount(r, inJSON, inYAML, s.Document().TrustedProxies)
}

// relativePath returns the folder of the API relative to a group, and its last segment, as for
// docs.Document. A prefix that a proxy removes is before both.
func relativePath(group, api string) (folder, name string, err error) {
	if api == "" {
		return "", "", errors.New("swagger: mount the API before its documentation")
	}
	if name = path.Base(api); name == "/" {
		name = ""
	}
	folder, err = filepath.Rel(group, path.Dir(api))
	switch {
	case err == nil && !strings.ContainsAny(folder+name, ":*"):
		if folder == "." {
			folder = ""
		}
		return folder, name, nil
	case path.Clean(group) == path.Clean(api): // below a parameter, whose value is not known
		return "", "", nil
	}
	return "", "", fmt.Errorf("swagger: %s has no address relative to %s: mount the documentation below the same parameters", api, group)
}

// A documentFunc returns a document in two parts, of which head is what depends on baseURL, the URL of the
// document without /openapi.json, or "" if that is not known. The parts must not be modified after
// they were returned.
type documentFunc = func(baseURL string) (head, tail []byte)

// mount mounts the page and a document as JSON and as YAML. Their functions are called for each
// request; tail is compressed only if it differs from the last one.
//
// If the first server of the document has a variable base_url, the page replaces it by the URL of
// the folder that contains swagger/, and calls it "This server" if the default was another. A
// member x-relative-url of the variable, such as "..", is another URL, relative to that folder.
func mount(r gin.IRouter, inJSON, inYAML documentFunc, trustedProxies []string) (err error) {
	proxies, err := parseProxies(trustedProxies)
	if err != nil {
		return fmt.Errorf("swagger: the trusted proxies: %w", err)
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
	for extension, document := range map[string]documentFunc{"json": inJSON, "yaml": inYAML} {
		var last lastDocument
		handleGet(r, "/openapi."+extension, func(c *gin.Context) {
			if len(proxies) > 0 {
				c.Writer.Header().Add("Vary", forwardedProto+", "+forwardedHost)
			}
			head, tail := document(proxies.baseURL(c))
			last.serve(c, "application/"+extension, head, tail)
		})
	}
	handleGet(r, "/swagger/*name", func(c *gin.Context) {
		name := c.Param("name")
		if name == "/" {
			redirect(c, "index.html")
			return
		}
		file, ok := files[name]
		if !ok {
			rest.NotFound(c)
			return
		}
		file.serve(c)
	})
	return nil
}

// RedirectRoot redirects the path / of r to the UI. Mount does not, because a host may
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
