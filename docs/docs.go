// Package docs holds the API's OpenAPI document, generated from the handlers'
// annotations by the command in docs/generate.
package docs

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/domain"
)

//go:embed openapi.json
var openAPI []byte

// Options say what the document tells about one deployment.
type Options struct {
	// ProductionURL is where clients reach the API, before /v1, such as
	// https://pets.example; empty is where they requested the document.
	ProductionURL string
	// StagingURL is where clients try things out; empty leaves that server out.
	StagingURL string
	// Sunset is the day on which GET /pets/{petId} is removed; zero is the
	// published one.
	Sunset time.Time
}

// Document returns the OpenAPI document of a deployment as JSON, as a function of the
// URL from which a client requested it, before /openapi.json. An empty URL stands for
// the published one. It fails only if the committed document is broken.
func Document(o Options) (func(baseURL string) []byte, error) {
	var d document
	if err := json.Unmarshal(withSunset(openAPI, o.Sunset), &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	production, staging := d.variable("base_url"), d.variable("staging_url")
	if production == nil || staging == nil {
		return nil, errors.New("read the OpenAPI document: base_url or staging_url is missing")
	}
	const unset = "{base_url}" // no other string of the document
	published := production.Default
	production.Default, staging.Default = unset, strings.TrimSuffix(o.StagingURL, "/")
	if o.StagingURL == "" {
		d.Servers = slices.DeleteFunc(d.Servers, func(s server) bool { return s.Variables["staging_url"] != nil })
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	before, after, _ := bytes.Cut(out.Bytes(), quote(unset))
	return func(baseURL string) []byte {
		url := cmp.Or(strings.TrimSuffix(o.ProductionURL, "/"), baseURL, published)
		return slices.Concat(before, quote(url), after)
	}, nil
}

// quote returns a text as JSON.
func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // which cannot fail for a string
	return quoted
}

// document and server have their parts in the order of the committed file.
type document struct {
	OpenAPI    json.RawMessage `json:"openapi"`
	Info       json.RawMessage `json:"info"`
	Servers    []server        `json:"servers"`
	Tags       json.RawMessage `json:"tags"`
	Security   json.RawMessage `json:"security"`
	Paths      json.RawMessage `json:"paths"`
	Components json.RawMessage `json:"components"`
}

type server struct {
	Description string               `json:"description"`
	URL         string               `json:"url"`
	Variables   map[string]*variable `json:"variables"`
}

type variable struct {
	Default     string `json:"default"`
	Description string `json:"description"`
}

// variable returns a variable of a server, or nil.
func (d document) variable(name string) *variable {
	for _, s := range d.Servers {
		if v := s.Variables[name]; v != nil {
			return v
		}
	}
	return nil
}

// withSunset moves the published date of removal wherever the document tells it.
// No form of a date has a character that means anything in JSON.
func withSunset(doc []byte, sunset time.Time) []byte {
	if sunset.IsZero() {
		return doc
	}
	for _, form := range []string{"2 January 2006", time.DateOnly, http.TimeFormat} {
		doc = bytes.ReplaceAll(doc, []byte(domain.GetPetSunset.Format(form)), []byte(sunset.UTC().Format(form)))
	}
	return doc
}
