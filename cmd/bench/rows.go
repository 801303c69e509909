package main

import (
	"fmt"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

const (
	listPath = "/v1/pets"
	newPet   = `{"name":"Rex","categoryId":@C,"status":"available"}` // @C is replaced by a category of two digits

	onSQLite    = "sqlite"
	onPostgres  = "postgres"
	farPostgres = "postgres-0.65ms" // a round trip takes this time longer, as to another zone of a cloud

	pets    = 20_000 // the number of pets in each store
	clients = 64     // the number of clients that send at the same time
)

// connections is the number of connections of petstore that read, and the number of connections of the
// references.
var connections = map[string]int{onSQLite: 4, onPostgres: 16, farPostgres: 16}

// A row is one kind of request. It is sent in turn to each server of the row.
type row struct {
	name        string // the name of the benchmark
	request     request
	store       string        // onSQLite, onPostgres or farPostgres
	clients     int           // the number of clients, which send as fast as the server responds
	rate        vegeta.Rate   // if not zero, the clients send at this constant rate instead
	least       time.Duration // the least duration of a measurement
	connections int           // the number of connections of the references
	settings    []string      // settings of petstore, as KEY=VALUE
	servers     []program
}

// A request is what a client sends: GET path, or POST /v1/pets.
type request struct {
	path  string
	count int  // if not 0, a random number from 1 to count follows path
	posts int  // the percentage of requests that are POST
	keys  bool // each POST has an Idempotency-Key of its own

	categories int // the number of random categories of the animals in POSTs; 0 means one category
}

// A program is the program of a server.
type program struct {
	label    string
	petstore string   // the path of the program, or "" for a reference, which this program serves
	settings []string // settings of petstore, as KEY=VALUE
}

// rows returns the rows that the flags select, with their servers.
func (o options) rows() []row {
	rows := slices.DeleteFunc(allRows(), func(r row) bool { return !o.only.MatchString(r.name) })
	for i, r := range rows {
		// The references have neither metrics nor an access log.
		settings := append([]string{"log.level=warn", "admin.address="}, r.settings...)
		measured := program{label: "petstore", petstore: o.petstore, settings: settings}
		rows[i].servers = []program{{label: "gorm"}, measured}
		switch {
		case o.against != "":
			rows[i].servers = []program{{label: "against", petstore: o.against, settings: settings}, measured}
		case r.name == "ByID/store=sqlite/load=64":
			rows[i].servers = append(rows[i].servers, program{label: "gin"})
		case r.name == "List/store=sqlite/load=64":
			rows[i].servers = append(rows[i].servers, program{label: "petstore+metrics+log", petstore: o.petstore}, program{label: "gin"})
		}
	}
	return rows
}

func allRows() []row {
	list := row{name: "List", request: request{path: listPath}}
	byID := row{name: "ByID", request: request{path: listPath + "/", count: pets}}
	post := row{name: "Post", request: request{posts: 100}}
	withKey := row{name: "PostWithKey", request: request{posts: 100, keys: true}}
	ofMany := row{name: "PostOf50Categories", request: request{posts: 100, categories: 50}}
	mix := row{name: "Mix", request: request{path: listPath, posts: 5}}
	listUncached := row{name: "ListUncached", request: request{path: listPath + "?limit=20&after=", count: pets - 20}}
	byIDUncached := row{name: "ByIDUncached", request: byID.request}
	for _, r := range []*row{&listUncached, &byIDUncached} {
		r.settings = []string{"cache.max_bytes=100000"} // the cache has room for hardly any of the pages or records
	}
	var rows []row
	for _, store := range []string{onSQLite, onPostgres} {
		for _, r := range []row{list, listUncached, byID, byIDUncached, post, withKey, ofMany, mix} {
			rows = append(rows, r.with(store, "64", clients))
		}
		for _, r := range []row{list, listUncached, byID, byIDUncached, post} {
			rows = append(rows, r.with(store, "1", 1))
		}
		for _, r := range []row{list, byID, post} {
			for _, rate := range []int{100, 500, 2000} {
				r.rate = vegeta.Rate{Freq: rate, Per: time.Second}
				rows = append(rows, r.with(store, fmt.Sprintf("%drps", rate), clients))
			}
		}
	}
	for _, r := range []row{list, listUncached, byIDUncached, post} {
		rows = append(rows, r.with(farPostgres, "64", clients))
	}
	for _, r := range []row{byID, post} { // as in a quiet shop, whose connections are idle between two requests
		r.rate, r.least = vegeta.Rate{Freq: 1, Per: 2 * time.Second}, 8*time.Second
		rows = append(rows, r.with(farPostgres, "0.5rps", clients))
	}
	return rows
}

// with returns the row with a store and a load.
func (r row) with(store, load string, clients int) row {
	r.name += "/store=" + store + "/load=" + load
	r.store, r.clients, r.connections = store, clients, connections[store]
	if store == onSQLite && r.request.posts == 100 {
		r.connections = 1 // fastest for POSTs alone, because they do not wait for the lock of each other
	}
	r.settings = append([]string{fmt.Sprintf("database.max_open_conns=%d", connections[store])}, r.settings...)
	return r
}
