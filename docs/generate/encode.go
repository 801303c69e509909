package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// document has the parts of the document in the order in which they are written.
type document struct {
	OpenAPI    any `json:"openapi"`
	Info       any `json:"info"`
	Servers    any `json:"servers"`
	Tags       any `json:"tags"`
	Security   any `json:"security"`
	Paths      any `json:"paths"`
	Components any `json:"components"`
}

// publishedServers returns the published servers (service specification, "What the service
// does"), with the defaults of the published contract.
func publishedServers(basePath string) openapi3.Servers {
	server := func(variable, description string) *openapi3.Server {
		return &openapi3.Server{
			URL: "{" + variable + "}" + basePath, Description: description,
			Variables: map[string]*openapi3.ServerVariable{variable: {
				Default:     "http://127.0.0.1:8080",
				Description: "Scheme, host and the path before the version.",
			}},
		}
	}
	return openapi3.Servers{server("base_url", "Production"), server("staging_url", "Staging")}
}

// encode returns the document as JSON, or an error if it is not valid OpenAPI.
func encode(doc *openapi3.T) ([]byte, error) {
	doc.Servers = publishedServers(doc.Servers[0].URL)
	data, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if err := validate(data); err != nil {
		return nil, err
	}
	// kin-openapi escapes < and > for HTML; decoding restores them.
	var ordered document
	if err := json.Unmarshal(data, &ordered); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(ordered); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// validate loads the document again, so that every reference is resolved.
func validate(data []byte) error {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return fmt.Errorf("load the document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return fmt.Errorf("validate the document: %w", err)
	}
	return nil
}
