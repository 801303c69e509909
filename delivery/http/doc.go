// Package http is the store over HTTP and JSON: routes on Gin that bind and
// validate a request, call a use case and write its answer. Importers call it rest.
package http

//	@title			Petstore
//	@version		1.0.0
//	@description	The catalogue of an animal store and the sale of its animals.
//	@description
//	@description	Every operation wants an API key. Whoever runs the service issues one with `petstore keys create --name NAME`; press **Authorize** and paste it as it is.
//	@license.name	MIT
//	@BasePath		/v1
//	@tag.name			Pets
//	@tag.description	The catalogue of animals.
//	@tag.name			Store
//	@tag.description	The sale of animals.
