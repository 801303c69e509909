// Package docs has the OpenAPI document of the API, which docs/generate generates from the
// annotations of the handlers.
package docs

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.json
var openAPI []byte

// Options are the properties of a deployment that the document contains. A zero value is that of the
// published document.
type Options struct {
	Title       string
	Description string // in CommonMark
	Contact     *Contact
	// SecurityScheme is how requests are authenticated: a Security Scheme Object (OpenAPI 3.0.3,
	// section 4.7.27), such as {"type": "apiKey", "in": "cookie", "name": "session"}.
	SecurityScheme map[string]any
	// ProductionURL is the URL of the API without the last segment of its path, such as
	// https://pets.example for https://pets.example/v1. If it is empty, the document has the URL from which it was requested, as "This server".
	ProductionURL string
	// StagingURL is the same of the staging service. If it is empty, the
	// document has no staging server.
	StagingURL string
	// TrustedProxies are the IP addresses and CIDR networks of the proxies whose headers
	// X-Forwarded-Proto and X-Forwarded-Host are used for the URL of the request.
	TrustedProxies []string
}

// A Contact is whom to ask about the API.
type Contact struct {
	Name  string `json:"name,omitempty"`
	URL   string `json:"url,omitempty"`
	Email string `json:"email,omitempty"`
}

// Document returns the OpenAPI document of a deployment, as a function that returns its
// JSON for the URL from which it is requested, without /openapi.json. For an empty URL the
// document has the published one. The JSON is in two parts: head is a new slice at each call,
// tail is the same for all URLs and must not be modified.
//
// The API has the last segment name, such as v1, in a folder relative to that of the document: empty
// for the same, .. for /shop/v1 and /shop/docs/openapi.json. An empty name is the folder itself.
func Document(o Options, folder, name string) (func(baseURL string) (head, tail []byte), error) {
	return inFormat(o, folder, name, func(text []byte) ([]byte, error) { return text, nil })
}

// YAML returns the same document as Document, in YAML.
func YAML(o Options, folder, name string) (func(baseURL string) (head, tail []byte), error) {
	return inFormat(o, folder, name, toYAML)
}

// placeholder is in the place of the URL of a request. No other string of the document is equal to it.
const placeholder = "{requested_url}"

// inFormat returns the document of Document in the format to which convert converts JSON.
func inFormat(o Options, folder, name string, convert func(text []byte) ([]byte, error)) (func(baseURL string) (head, tail []byte), error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	published, err := d.deploy(o, folder, name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	text, err := convert(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("convert the OpenAPI document: %w", err)
	}
	before, tail, _ := bytes.Cut(text, quote(placeholder))
	return func(baseURL string) (head, _ []byte) {
		requested := cmp.Or(strings.TrimSuffix(o.ProductionURL, "/"), resolve(baseURL, folder), published)
		return slices.Concat(before, quote(requested)), tail
	}, nil
}

// deploy sets the properties of a deployment, with placeholder as its URL. It returns the published one.
func (d *document) deploy(o Options, folder, name string) (published string, err error) {
	d.Info.Title, d.Info.Description = cmp.Or(o.Title, d.Info.Title), cmp.Or(o.Description, d.Info.Description)
	d.Info.Contact = cmp.Or(o.Contact, d.Info.Contact)
	if o.SecurityScheme != nil {
		d.Security = []map[string][]string{{hostScheme: {}}}
		schemes, err := json.Marshal(map[string]any{hostScheme: o.SecurityScheme})
		if err != nil {
			return "", fmt.Errorf("docs: Options.SecurityScheme: %w", err)
		}
		d.Components["securitySchemes"] = schemes
	}
	production, staging := d.variable("base_url"), d.variable("staging_url")
	if production == nil || staging == nil {
		return "", errors.New("read the OpenAPI document: base_url or staging_url is missing")
	}
	if o.ProductionURL == "" {
		d.Servers[0].Description = "This server"
	}
	for i, s := range d.Servers {
		d.Servers[i].URL = strings.TrimSuffix(strings.TrimSuffix(s.URL, "v1")+name, "/")
	}
	production.RelativeURL = folder
	published = production.Default
	production.Default, staging.Default = placeholder, strings.TrimSuffix(o.StagingURL, "/")
	if o.StagingURL == "" {
		d.Servers = slices.DeleteFunc(d.Servers, func(s server) bool { return s.Variables["staging_url"] != nil })
	}
	return published, nil
}

// toYAML converts JSON to YAML, with the members in the same order. The placeholder remains in
// double quotes: a JSON string is one of YAML.
func toYAML(text []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	var toBlockStyle func(*yaml.Node)
	toBlockStyle = func(n *yaml.Node) {
		if n.Value != placeholder {
			n.Style = 0
		}
		for _, child := range n.Content {
			toBlockStyle(child)
		}
	}
	toBlockStyle(&root)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&root)
	return out.Bytes(), err
}

// resolve returns the URL of a folder relative to a base URL, without its last slash. It returns "" if
// base is not a URL.
func resolve(base, folder string) string {
	if folder == "" || base == "" {
		return base
	}
	joined, _ := url.JoinPath(base, folder) // is empty if there is an error
	return strings.TrimSuffix(joined, "/")
}

// quote returns a JSON string.
func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // returns no error for a string
	return quoted
}

// hostScheme is the name of Options.SecurityScheme in the document.
const hostScheme = "host"

// document and its parts have their members in the order of openapi.json.
type document struct {
	OpenAPI    json.RawMessage            `json:"openapi"`
	Info       info                       `json:"info"`
	Servers    []server                   `json:"servers"`
	Tags       json.RawMessage            `json:"tags"`
	Security   []map[string][]string      `json:"security"`
	Paths      json.RawMessage            `json:"paths"`
	Components map[string]json.RawMessage `json:"components"`
}

type info struct {
	Contact     *Contact        `json:"contact"`
	Description string          `json:"description"`
	License     json.RawMessage `json:"license"`
	Title       string          `json:"title"`
	Version     json.RawMessage `json:"version"`
}

type server struct {
	Description string               `json:"description"`
	URL         string               `json:"url"`
	Variables   map[string]*variable `json:"variables"`
}

type variable struct {
	Default     string `json:"default"`
	Description string `json:"description"`
	// RelativeURL is Default relative to the folder of the document, for Swagger UI, which
	// may be served under a prefix that the service does not know. Empty is that folder.
	RelativeURL string `json:"x-relative-url,omitempty"`
}

// variable returns the variable of a server, or nil if there is none.
func (d document) variable(name string) *variable {
	for _, s := range d.Servers {
		if v := s.Variables[name]; v != nil {
			return v
		}
	}
	return nil
}
