// Package docs holds the API's OpenAPI document, generated from the handlers'
// annotations by the command in docs/generate.
package docs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

//go:embed openapi.json
var openAPI []byte

// Options say what the document tells about one deployment. The zero Options
// leave it as it is committed.
type Options struct {
	// ProductionURL and StagingURL are the addresses before /v1, such as
	// https://pets.example; empty is the folder that the document came from.
	ProductionURL string
	StagingURL    string
	// Sunset is the day on which GET /pets/{petId} is removed; zero is the
	// published one.
	Sunset time.Time
}

// Document returns the OpenAPI document of a deployment as JSON. The caller owns
// the bytes. It fails only if the committed document is broken.
func Document(o Options) ([]byte, error) {
	var d document
	if err := json.Unmarshal(withSunset(openAPI, o.Sunset), &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	d.setDefault("base_url", o.ProductionURL)
	d.setDefault("staging_url", o.StagingURL)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return out.Bytes(), nil
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
	Description string              `json:"description"`
	URL         string              `json:"url"`
	Variables   map[string]variable `json:"variables"`
}

type variable struct {
	Default     string `json:"default"`
	Description string `json:"description"`
}

func (d document) setDefault(name, url string) {
	if url == "" {
		return
	}
	for _, s := range d.Servers {
		if v, ok := s.Variables[name]; ok {
			v.Default = strings.TrimSuffix(url, "/")
			s.Variables[name] = v
		}
	}
}

// withSunset moves the published date of removal wherever the document tells it.
// No form of a date has a character that means anything in JSON.
func withSunset(doc []byte, sunset time.Time) []byte {
	if sunset.IsZero() {
		return doc
	}
	published := time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
	for _, form := range []string{"2 January 2006", time.DateOnly, http.TimeFormat} {
		doc = bytes.ReplaceAll(doc, []byte(published.Format(form)), []byte(sunset.UTC().Format(form)))
	}
	return doc
}
