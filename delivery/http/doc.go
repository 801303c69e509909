// Package http is the HTTP API of the animal store. Its handlers bind and validate a request, call a use case and
// send the result as JSON. Import it as rest.
//
// New returns the API for the use cases of a store, Mount mounts it on a Gin engine. Package petstore does both for a
// program that embeds the API, see docs/embedding.md.
//
// The files:
//
//	api.go, routes.go                  the API and its options, its routes, mounting it, the headers of the deprecated getPet
//	middleware.go, requeststate.go     the middleware and the state of every request
//	auth.go, ratelimit.go              authentication, rate limit
//	body.go                            bodies, parameters, Idempotency-Key (see also internal/binding and internal/record)
//	pets.go, orders.go, categories.go  the operations
//	page.go, pagecache.go, query.go    lists and single records, their cache, the queries of lists
//	etag.go                            ETags, and the conditions that have them
//	changes.go, changestream.go        the changes, as pages and as a stream of events
//	errors.go                          errors as responses and in the log
//	accesslog.go, metrics.go           access log, traces, metrics
package http

//	@title			Petstore
//	@version		1.0.0
//	@description	The catalogue of an animal store and the orders for its animals.
//	@description
//	@description	1. Press **Authorize** and enter an API key. The operator of the service creates one with `petstore keys create --name NAME`.
//	@description	2. Open `POST /pets` and press **Execute**: the response is the animal, with its `id`.
//	@description	3. Enter this `id` as `petId` in `PATCH /pets/{petId}` to correct the animal.
//	@description	4. Write this `id` as `petId` into the request body of `POST /store/orders`, and press **Execute** twice: the animal is
//	@description	ordered once, the second response is an error.
//	@description
//	@description	- **Durability**: a 201 response is sent after the record has been written to disk.
//	@description	- **Retries**: send an `Idempotency-Key`, and a repeated request creates nothing and returns the first response.
//	@description	- **Pagination**: lists are ordered by ascending `id`, or newest first; the `Link` header has the address of the next page.
//	@description	- **Errors** are `{code, message, status}`: `code` is for programs, `message` for people. Quote the `X-Request-Id` of the
//	@description	response when you report a problem.
//	@contact.name	The operator who issued your API key
//	@license.name	MIT
//	@license.url	https://spdx.org/licenses/MIT.html
//	@tag.name			Pets
//	@tag.description	The catalogue. An animal is available, pending (ordered), sold, or has no status.
//	@tag.name			Store
//	@tag.description	Orders, and how many animals there are. An order reserves its animal until it is delivered, which sells it, or cancelled.
//	@tag.name			Categories
//	@tag.description	The categories of animals, their names, and how many animals they have.
//	@tag.name			Changes
//	@tag.description	All changes of animals, orders and the names of categories, in their order.
