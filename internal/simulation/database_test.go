package simulation

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/engine"
)

// A database is the database of the processes of a simulation.
type database struct {
	remote bool          // it behaves like PostgreSQL, otherwise like SQLite
	lock   chan struct{} // has an element while a transaction is open

	mu         sync.Mutex // never locked during a sleep: while another goroutine waits for it, the clock stands still
	rows       []row      // in the order in which they were committed
	commits    []*process // whose commit it was
	numbers    engine.State
	violations []string
}

// A row is a row with a unique key.
type row struct {
	key       int
	position  int64
	by        *write
	in        *tx
	committed time.Duration
}

// A fault is an error that is drawn.
type fault string

func (f fault) Error() string { return string(f) }

const (
	failure  fault = "the database failed"
	conflict fault = "deadlock"
)

// An unknownOutcome is the error of a commit that may be durable.
type unknownOutcome struct{ tx *tx }

func (unknownOutcome) Error() string { return "the connection was lost during the commit" }

var (
	errEnded     = errors.New("the database has rolled back the transaction")
	errDuplicate = errors.New("there is a row with this key")
)

// The mean times of a statement and of a slow statement, and the time after which a statement that hangs
// fails.
const (
	fast  = 200 * time.Microsecond
	slow  = 50 * time.Millisecond
	limit = time.Second
	// checkTimeout is how long a query for the numbers may take.
	checkTimeout = 2 * slow
)

// draws are the random numbers of one goroutine.
type draws struct {
	*rand.Rand
	faults float64 // the share of statements with a fault
}

func (d draws) chance(share float64) bool { return d.Float64() < share }

// fault returns the number of one of n faults, or -1 for no fault.
func (d draws) fault(n int) int {
	if !d.chance(d.faults) {
		return -1
	}
	return d.IntN(n)
}

// wait is sleep that also ends with ctx.
func (d draws) wait(ctx context.Context, mean time.Duration) error {
	select {
	case <-time.After(d.duration(mean)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d draws) duration(mean time.Duration) time.Duration {
	return time.Duration(d.ExpFloat64() * float64(mean))
}

// sleep sleeps for a random time of the simulation.
func (d draws) sleep(mean time.Duration) { time.Sleep(d.duration(mean)) }

func (p *process) Begin(ctx context.Context, _ func() ([]engine.Query, func())) (_ engine.Tx, err error) {
	p.checkOpen()
	p.busy.Store(true)
	defer func() { p.busy.Store(err == nil) }()
	mean := fast
	switch p.draws.fault(2) {
	case 0:
		return nil, failure
	case 1:
		mean = slow
	}
	if err := p.draws.wait(ctx, mean); err != nil {
		return nil, err
	}
	select {
	case p.lock <- struct{}{}:
	case <-time.After(limit):
		return nil, failure
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.look(true)
	p.tx = &tx{process: p, numbers: p.looked.numbers}
	return p.tx, nil
}

// A seen is what a process of SQLite has seen at a time. While it has the lock, nothing changes.
type seen struct {
	commits int
	numbers engine.State
	at      time.Duration
	locked  bool
}

// look records what the process sees now.
func (p *process) look(locked bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked = seen{len(p.commits), p.database.numbers, now(), locked}
}

func (p *process) IsRemote() bool { return p.remote }

// interval returns how long the numbers may rely on a result of Poll.
func (p *process) interval() time.Duration {
	if p.remote {
		return 0
	}
	return engine.PollInterval
}

func (p *process) Poll(ctx context.Context) (found engine.State, others bool, err error) {
	p.checkOpen()
	if !p.remote {
		found, others = p.pollLocally()
		return found, others, nil
	}
	defer p.returned()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.polledAt = now()
	}()
	if err := p.polls.wait(ctx, fast); err != nil {
		return found, false, err
	}
	rest := fast
	switch p.polls.fault(3) {
	case 0:
		return found, false, failure
	case 1:
		rest = slow
	case 2:
		select {
		case <-ctx.Done():
		case <-time.After(limit):
		}
		return found, false, failure
	}
	p.mu.Lock()
	found = p.database.numbers
	p.mu.Unlock()
	_ = p.polls.wait(ctx, rest) // the database has answered; the answer is on its way
	return found, false, nil
}

// pollLocally implements Poll as SQLite does. While the process uses the connection, it relies on what look has seen
// before.
func (p *process) pollLocally() (found engine.State, others bool) {
	if !p.busy.Load() {
		p.look(false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	of := func(by *process) bool { return by != p }
	others = slices.ContainsFunc(p.commits[p.polled:p.looked.commits], of) || !p.looked.locked && now()-p.looked.at >= engine.PollInterval
	p.polled = p.looked.commits
	return p.looked.numbers, others
}

func (p *process) checkOpen() {
	if p.drained > 0 {
		p.violated("the database is used after Close")
	}
}

func (p *process) Failure(err error) engine.Failure {
	f, ok := errors.AsType[fault](err)
	switch {
	case !ok:
		return ""
	case f == conflict:
		return engine.FailureConflict
	}
	return engine.FailureOther
}

// A tx implements engine.Tx.
type tx struct {
	engine.Tx // nil, because nothing calls its other methods
	*process

	numbers  engine.State // when the transaction began
	rows     []row
	after    *engine.State // nil if they are not updated
	queued   []statement   // what PostgreSQL runs later
	failed   bool          // a statement has failed, as on PostgreSQL
	inactive bool          // the database has rolled back the transaction by itself
	unlocked bool
	ended    bool
}

// A statement is a SELECT, an INSERT of rows, or an UPDATE of the numbers.
type statement struct {
	text string
	args []any
}

func (t *tx) State() engine.State { return t.numbers }

func (t *tx) Queue(text string, args ...any) error {
	if t.remote {
		t.queued = append(t.queued, statement{text, args})
		return nil
	}
	return t.exec(statement{text, args})
}

func (t *tx) Active() error {
	if t.inactive {
		return errEnded
	}
	return nil
}

func (t *tx) Failed() bool { return t.failed }

// ExecContext runs the queued statements, and then another one.
func (t *tx) ExecContext(_ context.Context, text string, args ...any) (sql.Result, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	return nil, t.exec(statement{text, args})
}

func (t *tx) flush() error {
	queued := t.queued
	t.queued = nil
	for _, s := range queued {
		if err := t.exec(s); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) exec(s statement) (err error) {
	defer func() { t.failed = t.failed || err != nil && t.remote }()
	t.draws.sleep(fast)
	if t.failed {
		t.violated("a statement in a transaction that has failed")
	}
	if t.inactive && (t.remote || s.text == "SELECT") {
		return errEnded
	}
	switch t.draws.fault(5) {
	case 0:
		return failure
	case 1:
		return conflict
	case 2:
		t.inactive, t.rows, t.after = true, nil, nil
		return failure
	case 3:
		t.draws.sleep(slow)
	case 4:
		if t.remote { // the connection is lost after the statement
			defer func() { t.inactive, t.rows, t.after = true, nil, nil }()
		}
	}
	before := t.rows
	for _, arg := range s.args {
		switch arg := arg.(type) {
		case engine.State:
			t.after = &arg
		case row:
			if t.has(arg.key) {
				t.rows = before
				return errDuplicate
			}
			t.rows = append(t.rows, arg)
		}
	}
	if t.inactive { // SQLite has rolled back the transaction, so the statement commits by itself
		t.apply()
	}
	return nil
}

// has reports whether the transaction sees a row with a key.
func (t *tx) has(key int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := func(r row) bool { return r.key == key }
	return slices.ContainsFunc(t.rows, is) || slices.ContainsFunc(t.database.rows, is)
}

func (t *tx) Commit() (err error) {
	defer func() { _ = t.Rollback() }()
	if err := t.flush(); err != nil {
		if t.inactive { // the connection is lost
			return failure
		}
		return engine.NotCommittedError{Err: err}
	}
	if t.failed && !t.inactive {
		t.violated("the commit of a transaction that has failed")
	}
	t.draws.sleep(fast)
	switch t.draws.fault(6) {
	case 0:
		return failure
	case 1:
		return conflict
	case 2:
		return unknownOutcome{t}
	case 3:
		err = unknownOutcome{t}
	case 4:
		t.draws.sleep(slow)
	case 5:
		t.draws.sleep(limit)
	}
	if t.inactive {
		return errEnded
	}
	t.apply()
	t.unlock() // SQLite also releases the lock before a checkpoint
	t.draws.sleep([]time.Duration{10 * fast, 4 * slow}[t.draws.IntN(10)/9])
	return err
}

// apply commits the rows.
func (t *tx) apply() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		r.in, r.committed = t, now()
		t.database.rows = append(t.database.rows, r)
	}
	if t.after != nil {
		t.database.numbers = *t.after
	}
	t.rows, t.after = nil, nil
	t.commits = append(t.commits, t.process)
}

func (t *tx) Rollback() error {
	if !t.ended {
		t.ended = true
		t.unlock()
		t.busy.Store(false)
	}
	return nil
}

func (t *tx) unlock() {
	if !t.unlocked {
		t.unlocked = true
		t.mu.Lock()
		t.looked.at, t.looked.locked = now(), false
		t.mu.Unlock()
		<-t.lock
	}
}

func (d *database) violated(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.violations = append(d.violations, what)
}
