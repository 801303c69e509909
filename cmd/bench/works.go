package main

import "fmt"

// A work is what two servers are compared by: the rate of ours to that of the other.
type work struct {
	name         string
	group        group
	ours, other  side
	same         string  // the path of petstore's answer whose bytes a reference writes
	atLeast, aim float64 // 0 where none is set
}

// A side is a server of a comparison and what wrk asks it.
type side struct {
	name      string
	reference string   // which one of bench reference, or empty for petstore
	settings  []string // petstore's, KEY=VALUE
	animals   int      // in its store, 0 for none
	writes    bool     // and so it has a store of its own
	ask       ask
}

// A group is what the ratios of a few works are to.
type group string

const (
	toGin    group = "a bare Gin handler that writes the same bytes"
	toGORM   group = "one commit for each insert through GORM, as durable"
	toItself group = "petstore itself, set up otherwise"
)

const (
	small     = 100_000
	tiny      = 1_000
	pageSize  = 20
	keptPages = 4_000
	cacheOff  = "cache.max_bytes=0"

	durablePOST = "durable POST"
)

// works are all comparisons; big is the number of animals in the big store, 0 for none.
func works(big int) []work {
	hot, kept := ask{path: "/v1/pets"}, randomPage(pageSize, keptPages)
	post, keyed, mix := writes(100, "none"), writes(100, "keys"), writes(5, "none")
	all := []work{
		{
			name: "list of 20, hot page", group: toGin, atLeast: 0.90, aim: 0.97,
			ours: petstore(small, hot), other: againstGin(hot), same: "/v1/pets",
		},
		{
			name: "list of 20, random ones of 4,000 hot pages", group: toGin, atLeast: 0.85, aim: 0.95,
			ours: petstore(small, kept), other: againstGin(kept), same: "/v1/pets?limit=20&after=40000",
		},
		{
			name: "net/http writing the list, for comparison", group: toGin,
			ours: side{name: "net/http", reference: "nethttp", ask: hot}, other: againstGin(hot),
		},
		{
			name: durablePOST, group: toGORM, atLeast: 8, aim: 11,
			ours: petstore(small, post).writing(), other: againstGORM(post),
		},
		{
			name: "durable POST with Idempotency-Key", group: toGORM, atLeast: 5, aim: 8,
			ours: petstore(small, keyed).writing(), other: againstGORM(keyed),
		},
		{
			name: "list of 20, hot page, to no page cache, for comparison", group: toItself,
			ours: petstore(small, hot), other: petstore(small, hot, cacheOff),
		},
		{
			name: "95 % list, 5 % POST, to no page cache", group: toItself, atLeast: 2.5, aim: 3.3,
			ours: petstore(small, mix).writing(), other: petstore(small, mix, cacheOff).writing(),
		},
		{
			name: "list with metrics and access log, to neither", group: toItself, atLeast: 0.9,
			ours:  side{name: "petstore, metrics and log on", animals: small, ask: hot},
			other: petstore(small, hot),
		},
	}
	if big == 0 {
		return all
	}
	anywhere, one := randomPage(1, big-pageSize), randomID(big)
	of := thousands(float64(big)) + " animals"
	return append(
		all,
		work{
			name: "list of 20, page not kept, " + of, group: toGin, atLeast: 0.20, aim: 0.25,
			ours: petstore(big, anywhere), other: againstGin(anywhere), same: fmt.Sprintf("/v1/pets?limit=20&after=%d", big/2),
		},
		work{
			name: "by id, not kept, " + of, group: toGin, atLeast: 0.40, aim: 0.55,
			ours: petstore(big, one), other: againstGin(one), same: fmt.Sprintf("/v1/pets/%d", big/2),
		},
		work{
			name: "list, no page kept, " + of + " to 1,000", group: toItself, atLeast: 0.9, aim: 1,
			ours: petstore(big, anywhere, cacheOff), other: petstore(tiny, randomPage(1, tiny-pageSize), cacheOff),
		},
	)
}

// petstore is the program as it is measured: without what the references do not
// do either. A work of its own tells what that costs.
func petstore(animals int, a ask, settings ...string) side {
	s := side{name: "petstore", animals: animals, ask: a, settings: append([]string{"log.level=warn", "admin.address="}, settings...)}
	for _, setting := range settings {
		s.name += ", " + setting
	}
	if animals != small {
		s.name += ", " + thousands(float64(animals)) + " animals"
	}
	return s
}

func (s side) writing() side {
	s.writes = true
	return s
}

func againstGin(a ask) side { return side{name: "bare Gin", reference: "gin", ask: a} }

func againstGORM(a ask) side {
	return side{name: "Gin and GORM", reference: "gorm", animals: small, writes: true, ask: a}
}
