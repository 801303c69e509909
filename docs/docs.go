// Package docs has the OpenAPI document of the API. The command docs/generate writes it from the annotations of the
// handlers.
package docs

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.json
var openAPI []byte

// Options are the properties of a deployment in the document. A zero field leaves the value of the published document.
type Options struct {
	Title       string
	Description string // in CommonMark
	Contact     *Contact
	// SecurityScheme is how requests are authenticated: a Security Scheme Object (OpenAPI 3.0.3,
	// section 4.7.27), such as {"type": "apiKey", "in": "cookie", "name": "session"}.
	SecurityScheme map[string]any
	// ProductionURL is the URL of the API without the last segment of its path, such as https://pets.example for
	// https://pets.example/v1. If it is set, it is the first server of the document, before the relative address of
	// the API.
	ProductionURL string
	// StagingURL is the URL of the API of the staging service, like ProductionURL. If it is empty, the document has
	// no staging server.
	StagingURL string
}

// A Contact says whom to ask about the API.
type Contact struct {
	Name  string `json:"name,omitempty"`
	URL   string `json:"url,omitempty"`
	Email string `json:"email,omitempty"`
}

// Document returns the OpenAPI document of a deployment as JSON, and its title. address is the address of the API,
// relative to the URL of the document (RFC 3986, section 5), such as v1 or ../v1.
func Document(o Options, address string) (title string, _ []byte, err error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return "", nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	d.Info.Title, d.Info.Description = cmp.Or(o.Title, d.Info.Title), cmp.Or(o.Description, d.Info.Description)
	d.Info.Contact = cmp.Or(o.Contact, d.Info.Contact)
	if d.Info.Contact != nil && *d.Info.Contact == (Contact{}) {
		d.Info.Contact = nil
	}
	if o.SecurityScheme != nil {
		d.Security = []map[string][]string{{hostScheme: {}}}
		scheme, err := json.Marshal(o.SecurityScheme)
		if err != nil {
			return "", nil, fmt.Errorf("docs: Options.SecurityScheme: %w", err)
		}
		d.Components["securitySchemes"] = map[string]json.RawMessage{hostScheme: scheme}
	}
	d.Servers = servers(o, address)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return "", nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return d.Info.Title, out.Bytes(), nil
}

// servers returns the servers of a deployment. A server with an absolute URL has the same variables as in the
// published document. The server with the relative address has no variable, because generators of clients do not accept
// a relative address as the default of a variable.
func servers(o Options, address string) (all []server) {
	name := "/" + path.Base(address)
	if name == "/." || name == "/.." {
		name = ""
	}
	add := func(description, variableName, url string) {
		if url != "" {
			all = append(all, server{description, "{" + variableName + "}" + name, map[string]variable{variableName: {strings.TrimSuffix(url, "/")}}})
		}
	}
	add("Production", "base_url", o.ProductionURL)
	all = append(all, server{Description: "This server", URL: address})
	add("Staging", "staging_url", o.StagingURL)
	return all
}

// YAML converts a JSON document to YAML. The members stay in the same order.
func YAML(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("convert the OpenAPI document: %w", err)
	}
	var toBlockStyle func(*yaml.Node)
	toBlockStyle = func(n *yaml.Node) {
		n.Style = 0
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

// hostScheme is the name of Options.SecurityScheme in the document.
const hostScheme = "host"

// A document is the OpenAPI document. Its fields, and the fields of its parts, are in the order of openapi.json.
type document struct {
	OpenAPI    json.RawMessage                       `json:"openapi"`
	Info       info                                  `json:"info"`
	Servers    []server                              `json:"servers"`
	Tags       []tag                                 `json:"tags"`
	Security   []map[string][]string                 `json:"security"`
	Paths      map[string]json.RawMessage            `json:"paths"`
	Components map[string]map[string]json.RawMessage `json:"components"`
}

type tag struct {
	Description string `json:"description"`
	Name        string `json:"name"`
}

type info struct {
	Contact     *Contact        `json:"contact,omitempty"`
	Description string          `json:"description"`
	License     json.RawMessage `json:"license"`
	Title       string          `json:"title"`
	Version     json.RawMessage `json:"version"`
}

type server struct {
	Description string              `json:"description"`
	URL         string              `json:"url"`
	Variables   map[string]variable `json:"variables,omitempty"`
}

type variable struct {
	Default string `json:"default"`
}
