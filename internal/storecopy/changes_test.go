package storecopy_test

import (
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// withStore calls fn with an open store.
func withStore(t *testing.T, dsn string, fn func(*repository.Store)) {
	t.Helper()
	store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{})
	check(t, err)
	defer func() { check(t, store.Close()) }()
	fn(store)
}

// latest returns the position of the latest change.
func latest(t *testing.T, s *repository.Store) int64 {
	t.Helper()
	position, err := s.Changes().Latest(t.Context())
	check(t, err)
	return position
}

// wantExpired expects that no change after any of the positions can be read.
func wantExpired(t *testing.T, s *repository.Store, positions ...int64) {
	t.Helper()
	for _, after := range positions {
		_, err := s.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: 1})
		testkit.WantError(t, "a position of another store", err, domain.ErrExpired)
	}
}

// While nobody uses the source, its followers can follow the copy.
func TestFollowersContinueWithACopy(t *testing.T) {
	t.Parallel()
	from, between, to := newFile(t), server.NewDatabase(t), missingFile(t)
	var begin int64
	withStore(t, from, func(s *repository.Store) {
		begin = latest(t, s)
		check(t, s.InTx(domain.WithCaller(t.Context(), "user:ann"), storetest.Adding("Rex")))
	})
	for _, stores := range [][2]string{{from, between}, {between, to}} {
		_, err := copyStore(t, stores[0], stores[1], ignore)
		check(t, err)
	}
	for _, dsn := range []string{from, between, to} {
		withStore(t, dsn, func(s *repository.Store) {
			check(t, s.InTx(domain.WithCaller(t.Context(), "user:bob"), storetest.Adding("Tom")))
			page, err := s.Changes().List(t.Context(), domain.PageRequest{After: begin, Limit: 3})
			got := ""
			for _, change := range page.Items {
				got += change.Caller + " " + string(change.Records) + "\n"
			}
			testkit.Equal(t, "the changes", `user:ann {"pet":{"id":1,"name":"Rex","categoryId":0}}`+"\n"+
				`user:bob {"pet":{"id":2,"name":"Tom","categoryId":0}}`+"\n", got, err)
			testkit.Equal(t, "Latest", begin+2, latest(t, s))
			wantExpired(t, s, begin-1, begin+3)
			storetest.WantConsistent(t, s)
		})
	}
}

// The source lives on, and uses the positions after its latest change for other changes than its copy.
func TestSnapshotBeginsAtAPositionThatNobodyHasUsed(t *testing.T) {
	t.Parallel()
	source := newDatabase(t)
	withStore(t, source, func(s *repository.Store) {
		begin := latest(t, s)
		check(t, s.InTx(t.Context(), storetest.Adding("Rex")))
		for _, to := range []string{missingFile(t), server.NewDatabase(t)} {
			_, err := copySnapshot(t, source, to, ignore)
			check(t, err)
			check(t, s.InTx(t.Context(), storetest.Adding("Tom"))) // not in the copy
			last, inSource := latest(t, s), int64(0)
			withStore(t, to, func(s *repository.Store) {
				page, err := s.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
				if err != nil || len(page.Items) > 0 || page.Next != page.Latest || page.Latest <= last {
					t.Errorf("got %+v and %v, want no change, and a position after %d", page, err, last)
				}
				wantExpired(t, s, begin, last-1, last, last+1)
				check(t, s.InTx(t.Context(), storetest.Adding("Ada")))
				testkit.Equal(t, "Latest", page.Latest+1, latest(t, s))
				inSource = page.Latest
			})
			wantExpired(t, s, inSource)
		}
	})
}
