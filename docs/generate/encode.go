package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// document is the order in which the parts are read.
type document struct {
	OpenAPI    any `json:"openapi"`
	Info       any `json:"info"`
	Servers    any `json:"servers"`
	Tags       any `json:"tags"`
	Security   any `json:"security"`
	Paths      any `json:"paths"`
	Components any `json:"components"`
}

// servers are the published ones (service specification, "What the service does"), with
// the defaults of the published contract.
func servers(basePath string) openapi3.Servers {
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

// encode returns the document as it is committed, once it is valid OpenAPI.
func encode(doc *openapi3.T) ([]byte, error) {
	doc.Servers = servers(doc.Servers[0].URL)
	data, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if err := validate(data); err != nil {
		return nil, err
	}
	// kin-openapi escapes < and > for HTML; decoding gives them back.
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

// validate reads the document anew, so that every reference is followed as a
// reader would.
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
