package main

import (
	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

// completeInfo adds the URL of the licence and a contact, which linters require. The
// operator of the service is not known here, but has issued the key of every client.
func completeInfo(doc *openapi3.T) error {
	if l := doc.Info.License; l != nil && l.URL == "" {
		l.URL = "https://spdx.org/licenses/" + l.Name + ".html"
	}
	if c := doc.Info.Contact; c == nil || c.Name == "" {
		doc.Info.Contact = &openapi3.Contact{Name: "The operator who issued your API key"}
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
