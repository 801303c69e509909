package main

import "fmt"

// A scenario compares two servers.
type scenario struct {
	name        string
	group       group
	ours, other server
	// bodyPath is the path of the response of ours whose body a reference sends.
	bodyPath string
	// halfRate sends requests at a constant rate, half of the highest that the server
	// reached, and compares the 99th percentiles of the latency instead of the rates.
	halfRate       bool
	required, goal float64 // least ratios, 0 for none
}

// A server is what to start and what to send it.
type server struct {
	name        string
	program     string   // of petstore; empty for the one that is measured
	reference   string   // the argument of "bench reference"; empty for petstore
	settings    []string // of petstore, KEY=VALUE
	connections int      // to its store for reading, of the gorm reference for all; 0 for the default
	pets        int      // in its store, 0 for no store
	writes      bool     // it gets a store of its own
	postgres    bool     // its store is a PostgreSQL database
	away        bool     // and behind a proxy, at the distance of another machine
	replicas    int      // further processes of petstore on its store
	request     request
}

// A group is what the ratios of some scenarios are relative to.
type group string

const (
	toGin    group = "bare Gin sending the same bytes"
	toGORM   group = "Gin and GORM on the same store, one transaction per POST, no cache"
	toItself group = "petstore without metrics and access log"
	toSQLite group = "petstore on SQLite"
	toOne    group = "one process of petstore on the same PostgreSQL"
)

const (
	small       = 100_000
	smallest    = 1_000
	pageSize    = 20
	cachedPages = 4_000
)

// scenarios returns all scenarios. big is the number of pets in the big store, 0
// leaves out what needs it.
func scenarios(big int) []scenario {
	hot, cached := request{path: listPath}, randomPage(pageSize, cachedPages)
	post, keyed, mix := request{posts: 100}, request{posts: 100, keys: true}, request{posts: 5}

	list := scenario{
		name: "list, cached page", group: toGin, required: 0.90, goal: 0.97,
		ours: petstore(small, hot), other: bareGinServer(hot), bodyPath: listPath,
	}
	durable := scenario{
		name: "POST, durable", group: toGORM, required: 8, goal: 11,
		ours: petstore(small, post).writing(), other: gormServer(post, 1),
	}
	all := []scenario{
		list,
		{
			name: "list, cached page, metrics and access log on", group: toGin,
			ours: withMetricsAndLog(small, hot), other: bareGinServer(hot), bodyPath: listPath,
		},
		{
			name: "list, random cached pages", group: toGin, required: 0.85, goal: 0.95,
			ours: petstore(small, cached), other: bareGinServer(cached), bodyPath: listPath + "?limit=20&after=40000",
		},
		{
			name: "net/http sending the cached page", group: toGin,
			ours: server{name: "net/http", reference: "nethttp", request: hot}, other: bareGinServer(hot),
		},
		durable,
		{
			name: "POST with Idempotency-Key", group: toGORM, required: 5, goal: 8,
			ours: petstore(small, keyed).writing(), other: gormServer(keyed, 1),
		},
		{
			name: "95 % list, 5 % POST", group: toGORM,
			ours: petstore(small, mix).writing(), other: gormServer(mix, 4),
		},
		{
			name: "list, cached page, cost of metrics and access log", group: toItself, required: 0.9,
			ours: withMetricsAndLog(small, hot), other: petstore(small, hot),
		},
		list.atHalfRate(),
		durable.atHalfRate(),
	}
	all = append(all, postgresScenarios()...)
	if big == 0 {
		return all
	}
	anyPage, anyPet := randomPage(1, big-pageSize), randomID(big)
	pets := thousands(float64(big)) + " pets"
	uncached := scenario{
		name: "list, page not cached, " + pets, group: toGin, required: 0.20, goal: 0.25,
		ours: petstore(big, anyPage), other: bareGinServer(anyPage), bodyPath: fmt.Sprintf("%s?limit=20&after=%d", listPath, big/2),
	}
	return append(
		all,
		uncached,
		scenario{
			name: "by id, not cached, " + pets, group: toGin, required: 0.40, goal: 0.55,
			ours: petstore(big, anyPet), other: bareGinServer(anyPet), bodyPath: fmt.Sprintf("%s/%d", listPath, big/2),
		},
		uncached.atHalfRate(),
	)
}

// atHalfRate returns the scenario with halfRate set. Its name begins with "p99".
func (s scenario) atHalfRate() scenario {
	s.name, s.halfRate, s.required, s.goal = "p99 at half rate: "+s.name, true, 0, 0
	return s
}

// petstore is the measured program without metrics and access log, which the
// references do not have either.
func petstore(pets int, r request) server {
	return server{name: "petstore", pets: pets, request: r, settings: []string{"log.level=warn", "admin.address="}}
}

// withMetricsAndLog is the measured program with its default settings. The access
// log goes to a file.
func withMetricsAndLog(pets int, r request) server {
	return server{name: "petstore, metrics and access log on", pets: pets, request: r}
}

func (s server) writing() server {
	s.writes = true
	return s
}

func bareGinServer(r request) server { return server{name: "bare Gin", reference: "gin", request: r} }

func gormServer(r request, connections int) server {
	return server{name: "Gin and GORM", reference: "gorm", connections: connections, pets: small, writes: true, request: r}
}
