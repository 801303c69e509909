package main

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// scripts are what wrk runs, each explained at its top.
//
//go:embed lua
var scripts embed.FS

// A request is what a client sends: GET path, or POST /v1/pets where posts is set.
type request struct {
	path  string
	first int // with count: path is followed by first + step × a random number below count
	step  int
	count int
	posts int  // percentage of the requests that are POST; the others are GET /v1/pets
	keys  bool // each POST has an Idempotency-Key of its own
}

const (
	listPath = "/v1/pets"
	newPet   = `{"name":"Rex","categoryId":7,"status":"available"}`
)

// randomPage requests the page after one of count ids that are step apart.
func randomPage(step, count int) request {
	return request{path: listPath + "?limit=20&after=", step: step, count: count}
}

func randomID(pets int) request {
	return request{path: listPath + "/", first: 1, step: 1, count: pets}
}

// script returns the script with which wrk sends the request and its arguments,
// or "" where wrk needs none.
func (r request) script() (name string, args []string) {
	switch {
	case r.posts > 0:
		return "write.lua", []string{strconv.Itoa(r.posts), strconv.FormatBool(r.keys), newPet}
	case r.count > 0:
		return "random.lua", []string{r.path, strconv.Itoa(r.first), strconv.Itoa(r.step), strconv.Itoa(r.count)}
	default:
		return "", nil
	}
}

// appendTo appends one HTTP/1.1 request with the given header lines to b. It sends what
// the scripts send, but for keys. It allocates nothing that a garbage collection would
// take CPU time from the server for.
func (r request) appendTo(b []byte, header string, random *rand.Rand) []byte {
	method, path, content := "GET ", r.path, "\r\n"
	switch {
	case r.posts > random.IntN(100):
		method, path, content = "POST ", listPath, newPetContent
	case r.posts > 0:
		path = listPath
	}
	b = append(append(b, method...), path...)
	if r.count > 0 {
		b = strconv.AppendInt(b, int64(r.first+r.step*random.IntN(r.count)), 10)
	}
	b = append(append(b, " HTTP/1.1\r\n"...), header...)
	return append(b, content...)
}

// newPetContent is newPet and the header lines that describe it.
var newPetContent = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(newPet), newPet)
