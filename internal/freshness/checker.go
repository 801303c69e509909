// Package freshness tells caches which commits there were. A cache calls Checker.Now, and then reads the store. Before
// it uses the entry, it calls Now again, and compares both values (domain.Numbers.Validates).
package freshness

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
)

// A Checker knows the latest numbers of a store. It is safe for concurrent use. Close must be called.
type Checker struct {
	database engine.Database
	remote   bool // see engine.Database.IsRemote
	checks   *batch.Group[struct{}]
	checked  atomic.Pointer[time.Time] // when the last check that succeeded began, nil before the first
	patient  bool                      // see New
	failed   atomic.Pointer[failure]   // the last check, nil if it succeeded
	checking atomic.Bool               // whether background has a goroutine
	ended    sync.WaitGroup            // waits for that goroutine

	mu     sync.Mutex // locked while latest is replaced
	latest atomic.Pointer[domain.Numbers]
}

// A failure is a check that failed at a time.
type failure struct {
	err error
	at  time.Time
}

// failureAge is how long after a check that failed Now does not wait for another one.
const failureAge = 2 * time.Second

// New returns the Checker of a database. timeout is how long a call of Now may take. If patient is false, callers do not
// wait for a database that hangs: after a check has failed, Now returns its error, and checks in the background.
func New(database engine.Database, timeout time.Duration, patient bool) *Checker {
	c := &Checker{database: database, remote: database.IsRemote(), patient: patient}
	c.latest.Store(&domain.Numbers{})
	c.checks = batch.New(batch.Options{Leave: true, Timeout: timeout}, func(ctx context.Context, deadline time.Time, take func() []struct{}) error {
		take()
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		return c.check(ctx)
	})
	return c
}

// Close ends the use of the database. Later calls of Now that need it return an error.
func (c *Checker) Close() {
	c.checks.Close()
	c.ended.Wait()
}

// Age returns how long ago the last check that succeeded began. The numbers include all commits before it, except those
// that Poll may miss (see engine.Database.IsRemote). Before a check has succeeded, Age returns the longest Duration.
func (c *Checker) Age() time.Duration {
	last := c.checked.Load()
	if last == nil {
		return math.MaxInt64
	}
	return time.Since(*last)
}

// Now returns numbers that include all commits of this process, and all commits of other processes before the call; unless
// the database is remote, all that are at least two PollIntervals old. After an error, such as the end of ctx, it returns
// the last numbers that are known.
func (c *Checker) Now(ctx context.Context) (domain.Numbers, error) {
	var err error
	if c.remote || c.Age() >= engine.PollInterval {
		if err = c.Failed(); err != nil {
			c.background()
		} else {
			err = c.wait(ctx)
		}
	}
	return *c.latest.Load(), err
}

// Failed returns the error for which callers must not wait again, or nil.
func (c *Checker) Failed() error {
	if last := c.failed.Load(); !c.patient && last != nil && time.Since(last.at) < failureAge {
		return last.err
	}
	return nil
}

// background checks in a goroutine, unless one does so already.
func (c *Checker) background() {
	if c.checking.CompareAndSwap(false, true) {
		c.ended.Go(func() {
			defer c.checking.Store(false)
			_ = c.wait(context.Background()) // the next call of Now returns the error
		})
	}
}

// wait waits for a check that begins after the call.
func (c *Checker) wait(ctx context.Context) error {
	return c.checks.Do(ctx, struct{}{})
}

// check asks the database for the commits since the last check.
func (c *Checker) check(ctx context.Context) error {
	start := time.Now() //nolint:forbidigo // compared with an age
	found, others, err := c.database.Poll(ctx)
	if err != nil {
		c.failed.Store(&failure{err, time.Now()}) //nolint:forbidigo // compared with an age
		return err
	}
	c.failed.Store(nil)
	c.replace(func(latest *domain.Numbers) {
		if others {
			latest.Generation++
		}
		if c.remote { // after a failover to an older state, the numbers may be smaller
			latest.Position, latest.Altered = found.Position, found.Altered
		} else { // meanwhile a commit of this process may have ended
			raise(latest, found)
		}
	})
	c.checked.Store(&start)
	return nil
}

// Commit calls commit, which commits a transaction of this process. The numbers are before at its begin, and after with its
// changes. Calls must not overlap. If the database is remote, the next check finds the changes.
//
// It is not known when the changes become visible. So until commit returns, no page is used that they may alter. If commit
// fails, they may be durable all the same: then no page is used that was read before.
func (c *Checker) Commit(before, after engine.State, commit func() error) error {
	if c.remote || after.Position == before.Position && after.Altered == before.Altered {
		return commit()
	}
	c.replace(func(latest *domain.Numbers) {
		latest.Adding, latest.Altering = true, after.Altered != before.Altered
	})
	failed := true
	defer func() {
		c.replace(func(latest *domain.Numbers) {
			latest.Adding, latest.Altering = false, false
			if failed {
				latest.Generation++
				return
			}
			raise(latest, after) // meanwhile a check may have found the commit of another process
		})
		if failed {
			c.checked.Store(nil)
		}
	}()
	err := commit()
	failed = err != nil
	return err
}

// raise raises the numbers to those that were found, unless they are greater.
func raise(latest *domain.Numbers, found engine.State) {
	latest.Position, latest.Altered = max(latest.Position, found.Position), max(latest.Altered, found.Altered)
}

func (c *Checker) replace(change func(*domain.Numbers)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest := *c.latest.Load()
	change(&latest)
	c.latest.Store(&latest)
}
