// Package swagger serves Swagger UI and the OpenAPI document that it displays. The page
// loads nothing from other origins and works under any prefix.
package swagger

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/gin-gonic/gin"
	swaggerfiles "github.com/swaggo/files/v2"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
)

//go:embed page
var pageFS embed.FS

// A Service is the API that the document describes. petstore.Service implements it.
type Service interface {
	// BasePath returns the path under which the API is mounted, or "" if it is not.
	BasePath() string
	// Document returns the properties of the deployment.
	Document() docs.Options
}

// Mount mounts Swagger UI on a router at swagger/index.html, with a redirect from swagger, and the OpenAPI document
// at openapi.json and openapi.yaml, for GET and HEAD. The service must be mounted on the same engine before,
// because the document has the address of the API, relative to the address of the document.
//
// Mount returns an error if the service is not mounted, if there is no relative address, if an option of the document is
// invalid, or if a route conflicts with a route of the host.
func Mount(r gin.IRouter, s Service) (err error) {
	address, err := relativeAddress(r.Group("").BasePath(), s.BasePath())
	if err != nil {
		return err
	}
	title, document, err := docs.Document(s.Document(), address)
	if err != nil {
		return err
	}
	defer func() {
		if conflict := recover(); conflict != nil { // Gin panics if routes conflict
			err = fmt.Errorf("swagger: mount the documentation: %v", conflict)
		}
	}()
	inYAML, err := docs.YAML(document)
	if err != nil {
		return err
	}
	handle(r, "/openapi.json", newFile("openapi.json", bytes.NewReader(document)).serve)
	handle(r, "/openapi.yaml", newFile("openapi.yaml", bytes.NewReader(inYAML)).serve)
	handle(r, "/swagger/index.html", newFile("index.html", strings.NewReader(page(title))).serve)
	for name, folder := range map[string]fs.FS{
		"swagger-ui.css": swaggerfiles.FS, "swagger-ui-bundle.js": swaggerfiles.FS,
		"favicon-16x16.png": swaggerfiles.FS, "favicon-32x32.png": swaggerfiles.FS,
		"page/index.css": pageFS, "page/swagger-initializer.js": pageFS,
	} {
		file, err := folder.Open(name)
		if err != nil {
			return fmt.Errorf("swagger: open a file of the page: %w", err)
		}
		handle(r, "/swagger/"+path.Base(name), newFile(name, file.(content)).serve)
	}
	redirect(r, "/swagger", "swagger/index.html")
	redirect(r, "/swagger/", "index.html")
	return nil
}

// relativeAddress returns the address of an API, relative to a document in a group. A relative address is right
// even behind a proxy that removes a prefix.
func relativeAddress(group, api string) (string, error) {
	if api == "" {
		return "", errors.New("swagger: mount the API before its documentation")
	}
	folder, err := filepath.Rel(group, path.Dir(api))
	address := path.Join(filepath.ToSlash(folder), path.Base(api))
	switch {
	case path.Clean(group) == path.Clean(api) && strings.ContainsAny(path.Base(api), ":*"):
		return ".", nil // the last segment is a parameter, so the address cannot name it
	case err != nil || strings.ContainsAny(address, ":*"):
		return "", fmt.Errorf("swagger: %s has no address relative to %s: mount the documentation below the same parameters", api, group)
	}
	return (&url.URL{Path: address}).String(), nil
}

// RedirectRoot redirects the paths / and /docs of r to Swagger UI. Mount does not, because a host may have its own pages
// there.
func RedirectRoot(r gin.IRouter) {
	redirect(r, "/", "swagger/index.html")
	redirect(r, "/docs", "swagger/index.html")
}

// redirect redirects path to a relative URL, which is right even behind a proxy that removes a prefix.
// http.Redirect would make the URL absolute.
func redirect(r gin.IRouter, path, location string) {
	handle(r, path, func(c *gin.Context) {
		c.Header("Location", location)
		c.Status(http.StatusFound)
	})
}

// handle mounts a handler for GET and HEAD, and one for OPTIONS.
func handle(r gin.IRouter, path string, handler gin.HandlerFunc) {
	r.Match([]string{http.MethodGet, http.MethodHead}, path, handler)
	r.OPTIONS(path, rest.ServeOptions(http.MethodGet, http.MethodHead))
}
