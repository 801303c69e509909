// Package http is the store over HTTP and JSON: routes on Gin that bind and
// validate a request, call a use case and write its answer. Importers call it rest.
package http

//	@title			Petstore
//	@version		1.0.0
//	@description	The catalogue of an animal store and the sale of its animals.
//	@description
//	@description	Every operation wants an API key. Whoever runs the service issues one with `petstore keys create --name NAME`; press **Authorize** and paste it as it is. Then add an animal, order it, and see that nobody else can. The ids in the examples are of a store that `petstore seed` filled; elsewhere take those of your lists.
//	@description
//	@description	- **Nothing is lost**: an answer 201 comes when the record is on disk.
//	@description	- **Nothing is done twice**: send an `Idempotency-Key`, and a repeated request gets the first answer again.
//	@description	- **Lists** come in pages, oldest first; the header `Link` leads to the next one.
//	@description	- **Errors** are `{code, message, status}`: `code` for programs, `message` for people. Quote `X-Request-Id` when you ask for help.
//	@license.name	MIT
//	@BasePath		/v1
//	@tag.name			Pets
//	@tag.description	The catalogue: animals are available, pending (ordered), sold, or have no status.
//	@tag.name			Store
//	@tag.description	The sale: an order reserves an animal, then is delivered (sold) or cancelled (available again).
