package main

import (
	"fmt"
	"slices"
)

// readers is how many connections petstore has for reading on PostgreSQL: enough for a core
// also at the distance.
const readers = 16

// postgresScenarios returns the scenarios on PostgreSQL, without the proxy and with it.
func postgresScenarios() []scenario {
	return slices.Concat(postgresScenariosAt(false), onlyDirectPostgres(), postgresScenariosAt(true))
}

func postgresScenariosAt(away bool) []scenario {
	hot, anyPet := request{path: listPath}, randomID(small)
	post, keyed := request{posts: 100}, request{posts: 100, keys: true}
	durable, list := onPostgres(post, away), onPostgres(hot, away)
	pool := readers // with which the reference is faster than with one for each request
	if away {
		pool = connections
	}
	gorm := func(r request) server {
		s := gormServer(r, pool)
		s.postgres, s.away = true, away
		return s
	}
	all := []scenario{
		{name: "POST, durable", group: toGORM, required: 3, goal: 6, ours: durable, other: gorm(post)},
		{name: "POST with Idempotency-Key", group: toGORM, required: 3, goal: 6, ours: onPostgres(keyed, away), other: gorm(keyed)},
		{name: "list, cached page", group: toGin, ours: list, other: bareGinServer(hot), bodyPath: listPath},
		{name: "by id, not cached", group: toGin, ours: onPostgres(anyPet, away), other: bareGinServer(anyPet), bodyPath: listPath + "/7"},
		{name: "POST, durable, 2 processes", group: toOne, ours: durable.times(2), other: durable},
		{name: "POST, durable, 4 processes", group: toOne, ours: durable.times(4), other: durable},
		{name: "list, cached page, 2 processes", group: toOne, ours: list.times(2), other: list},
		{name: "list, cached page, 4 processes", group: toOne, ours: list.times(4), other: list},
	}
	for i := range all {
		all[i].name = postgresName(away) + all[i].name
	}
	return all
}

// onlyDirectPostgres returns the scenarios that are not repeated with the proxy.
func onlyDirectPostgres() []scenario {
	anyPage := randomPage(1, small-pageSize)
	post, keyed := request{posts: 100}, request{posts: 100, keys: true}
	sqlite := func(r request) server {
		s := petstore(small, r).writing()
		s.name = "petstore on SQLite"
		return s
	}
	uncached := onPostgres(anyPage, false)
	uncached.settings = append(uncached.settings, "cache.max_bytes=1000000") // holds few of the pages
	return []scenario{
		{name: "PostgreSQL: list, page not cached", group: toGin, ours: uncached, other: bareGinServer(anyPage), bodyPath: listPath + "?limit=20&after=50000"},
		{name: "PostgreSQL: POST, durable, to SQLite", group: toSQLite, required: 0.4, ours: onPostgres(post, false), other: sqlite(post)},
		{name: "PostgreSQL: POST with Idempotency-Key, to SQLite", group: toSQLite, required: 0.4, ours: onPostgres(keyed, false), other: sqlite(keyed)},
	}
}

// postgresName returns how the names of the scenarios begin.
func postgresName(away bool) string {
	if away {
		return fmt.Sprintf("PostgreSQL at %s: ", milliseconds(distance))
	}
	return "PostgreSQL: "
}

// onPostgres is the measured program on PostgreSQL, behind the proxy if away.
func onPostgres(r request, away bool) server {
	s := petstore(small, r)
	s.postgres, s.away, s.connections, s.writes = true, away, readers, r.posts > 0
	return s
}

// times returns the server with a number of processes on one store.
func (s server) times(processes int) server {
	s.name, s.replicas = fmt.Sprintf("petstore, %d processes", processes), processes-1
	return s
}
