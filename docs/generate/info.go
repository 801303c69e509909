package main

import (
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

// completeInfo adds what linters and readers want to know of a published
// document: the text of its licence, and whom to ask. Who runs the service is not
// known here, but every reader has a key from them.
func completeInfo(doc *openapi3.T) error {
	if l := doc.Info.License; l != nil && l.URL == "" {
		l.URL = "https://spdx.org/licenses/" + l.Name + ".html"
	}
	if c := doc.Info.Contact; c == nil || c.Name == "" {
		doc.Info.Contact = &openapi3.Contact{Name: "Whoever issued your API key"}
	}
	return nil
}

// describeReads says of a GET without a description of its own what it answers.
func describeReads(doc *openapi3.T) error {
	for route, op := range operations(doc) {
		ok := op.Responses.Value("200")
		if op.Description == "" && ok != nil && strings.HasPrefix(route, http.MethodGet) {
			op.Description = *ok.Value.Description + " as it is now."
		}
	}
	return nil
}

// describeRemoval adds the published date of removal to the description of a deprecated
// operation.
func describeRemoval(doc *openapi3.T) error {
	removal := "Deprecated. The operation is removed on " + domain.GetPetSunset.Format("2 January 2006") +
		" (see the headers Deprecation and Sunset); from then on the response is 410. "
	for _, op := range operations(doc) {
		if op.Deprecated {
			op.Description = removal + op.Description
		}
	}
	return nil
}
