package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/groupcommit"
)

var (
	errOwn    = errors.New("the function failed")
	errTaken  = errors.New("another write has inserted the row")
	errExited = errors.New("the goroutine of the caller ended")
)

// A write is a call of groupcommit.Queue.Do.
type write struct {
	process *process
	plan    struct {
		alters   bool // whether the rows are alterations, and not additions
		keys     []int
		collects bool // whether the rows are inserted with the commit, together with those of other writes
		claims   bool // whether it inserts the rows only if none of them exists
		ignores  bool // whether it ignores the error of a statement
		queues   bool // whether it queues the statements that insert
		end      string
	}
	times struct{ called, canceled, started, returned time.Duration }
	err   error // the error of Do, or its panic
	runs  int   // how often the function ran

	// The result of the last run of the function.
	in       *tx
	inserted []int // the keys that were inserted without an error
	earlier  bool  // whether it has found a row of another write, and succeeded without inserting
	failure  error
}

func (w *write) String() string { return fmt.Sprintf("%+v %+v: %v", w.plan, w.times, w.err) }

func newWrite(p *process, d draws, alters bool, key int) *write {
	w := &write{process: p}
	w.plan.alters, w.plan.collects, w.plan.claims = alters, d.chance(0.5), d.chance(0.3)
	w.plan.ignores, w.plan.queues = d.chance(0.1), d.chance(0.5)
	w.plan.end = []string{"fails", "panics", "exits", "succeeds"}[min(d.IntN(20), 3)]
	if w.plan.claims || w.plan.collects && d.chance(0.1) { // without a claim, the write fails if there is a row
		key = d.IntN(3)
	}
	for i := range d.IntN(4) {
		w.plan.keys = append(w.plan.keys, key+i)
	}
	return w
}

// do calls Do. The context may end during the call, or before.
func (w *write) do(d draws) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.times.called = now()
	if d.chance(0.3) {
		after := time.Duration(max(0, d.ExpFloat64()-0.1) * float64(20*fast))
		w.times.canceled = now() + after
		if after == 0 {
			cancel()
		}
		defer time.AfterFunc(after, cancel).Stop()
	} else if d.chance(0.1) {
		w.process.onReturn(func() { cancel(); w.times.canceled = now() })
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			w.err = panicked.(error)
		}
		w.process.mu.Lock()
		w.times.returned = now()
		w.process.mu.Unlock()
		w.process.returned()
	}()
	w.err = errExited // replaced if the call returns or panics
	w.err = w.process.queue.Do(ctx, w.run)
}

// onReturn calls fn when the next write or check returns. At that moment a queued call may become the leader.
func (p *process) onReturn(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returns = append(p.returns, fn)
}

func (p *process) returned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fn := range p.returns {
		fn()
	}
	p.returns = nil
}

// repositories insert rows, and collect rows and the numbers of the store, in the same way as package repository.
type repositories struct {
	*groupcommit.Tx
	process       *process
	before, after engine.State // as they were before the transaction, and as they are after it
	collected     []any        // rows
}

func (p *process) newRepositories() *repositories { return &repositories{process: p} }

func (r *repositories) Ahead([]*write) ([]engine.Query, func()) { return nil, func() {} }

func (r *repositories) Begun(t *groupcommit.Tx) {
	r.process.begun = append(r.process.begun, now())
	r.Tx, r.before, r.after = t, t.State(), t.State()
}

// Commit inserts the collected rows and commits the transaction.
func (r *repositories) Commit(commit func() error) error {
	if len(r.collected) > 0 {
		if err := r.Queue("INSERT", r.collected...); err != nil {
			return engine.NotCommittedError{Err: err}
		}
	}
	if r.after != r.before {
		if err := r.Queue("UPDATE", r.after); err != nil {
			return engine.NotCommittedError{Err: err}
		}
	}
	return r.process.numbers.Commit(r.before, r.after, commit)
}

// insert inserts or collects a row of a write.
func (r *repositories) insert(ctx context.Context, w *write, key int) (err error) {
	after := r.after
	after.Position++
	if w.plan.alters {
		after.Altered = after.Position
	}
	inserted := row{key: key, by: w, position: after.Position}
	switch {
	case w.plan.collects:
		r.collected = append(r.collected, inserted)
	case w.plan.queues:
		err = r.Queue("INSERT", inserted)
	default:
		_, err = r.ExecContext(ctx, "INSERT", inserted)
	}
	if err == nil {
		r.Wrote()
		r.after = after
	}
	return err
}

// has reports whether the transaction sees a row with a key, or has collected one.
func (r *repositories) has(key int) bool {
	return r.Tx.Tx.(*tx).has(key) || slices.ContainsFunc(r.collected, func(collected any) bool { return collected.(row).key == key })
}

// begin begins a run of the function. The caller must call ended with the error of the run, also after a panic or
// runtime.Goexit.
func (w *write) begin(r *repositories) (ended func(error)) {
	w.in, w.inserted, w.earlier = r.Tx.Tx.(*tx), nil, false
	w.runs++
	w.times.started = cmp.Or(w.times.started, now())
	return func(err error) {
		if w.failure = err; err != nil {
			w.inserted = nil
		}
	}
}

// run is the function of the transaction.
func (w *write) run(ctx context.Context, r *repositories) (err error) {
	ended := w.begin(r)
	defer func() { ended(err) }()
	if w.plan.claims {
		if _, err := r.ExecContext(ctx, "SELECT"); err != nil {
			return err
		}
		if slices.ContainsFunc(w.plan.keys, r.has) {
			if w.earlier = w.plan.collects; w.earlier {
				return nil
			}
			return errTaken
		}
	}
	for _, key := range w.plan.keys {
		if err := r.insert(ctx, w, key); err != nil {
			if w.plan.ignores {
				break
			}
			return err
		}
		w.inserted = append(w.inserted, key)
	}
	if w.plan.end == "succeeds" {
		return nil
	}
	err = errOwn
	switch w.plan.end {
	case "panics":
		panic(err)
	case "exits":
		w.process.exits = true
		runtime.Goexit()
	}
	return err
}

// checkWrites compares the results of the writes with the rows that are committed.
func (s *simulation) checkWrites() {
	rows, last := map[*write]int{}, map[*process]row{}
	for _, r := range s.rows {
		rows[r.by]++
		if r.by.err == nil && r.committed > r.by.times.returned {
			s.violated(fmt.Sprintf("success before the commit: %v", r.by))
		}
		p := r.by.process
		before, ok := last[p]
		if ok && r.by.times.called < before.by.times.called && r.in != before.in && r.by.runs == 1 {
			s.violated(fmt.Sprintf("out of order: %v\n%v", before.by, r.by))
		}
		last[p] = r
	}
	for _, writes := range s.clients {
		for _, w := range writes {
			for what, violated := range w.check(rows[w]) {
				if violated {
					s.violated(fmt.Sprintf("%s: %v", what, w))
				}
			}
		}
	}
	if len(s.lock) > 0 {
		s.violated("a transaction was left open")
	}
}

// maxConflicts is how often a batch runs again after a conflict. Otherwise a write runs at most twice together with
// others, and then alone.
const maxConflicts = 3

// check returns the rules for a write, and for each whether the write violates it. rows is the number of
// its rows that are committed.
func (w *write) check(rows int) map[string]bool {
	p, times := w.process, w.times
	_, ofQueue := errors.AsType[*groupcommit.Error](w.err)
	unknown, isUnknown := errors.AsType[unknownOutcome](w.err)
	f, isFault := errors.AsType[fault](w.err)
	ofFunction, taken := errors.Is(w.err, errOwn), errors.Is(w.err, errTaken) || w.err == nil && w.earlier
	_, isPanic := errors.AsType[*groupcommit.Panic](w.err)
	exited := errors.Is(w.err, errExited) // also the goroutine of a leader, if a function of another call exits
	exits := w.plan.end == "exits" && isPanic && strings.Contains(w.err.Error(), "called runtime.Goexit")
	duplicate := w.plan.collects && !w.plan.claims && errors.Is(w.err, errDuplicate)
	// A transaction with the function may have begun before the queue noticed that the context had ended.
	begun := slices.ContainsFunc(p.begun, func(at time.Duration) bool { return at >= times.called && at <= times.canceled })
	canceled := errors.Is(w.err, context.Canceled) && times.started == 0 && times.canceled > 0
	closed := errors.Is(w.err, batch.ErrClosed) && times.started == 0 && times.called >= p.closed
	rolledBack := errors.Is(w.err, groupcommit.ErrRolledBack) || errors.Is(w.err, errEnded)
	ignored := w.plan.ignores && p.remote && w.failure == nil
	queued := duplicate && w.failure == nil // the statement ran after the function
	return map[string]bool{
		"some rows are committed":                rows != 0 && rows != len(w.inserted),
		"success without the rows":               w.err == nil && (rows != len(w.inserted) || w.failure != nil),
		"failure with the rows":                  w.err != nil && !isUnknown && !exited && rows > 0,
		"unknown outcome of another transaction": isUnknown && unknown.tx != w.in,
		"unexpected error of the queue":          ofQueue && !isUnknown && !isFault && !canceled && !closed && !rolledBack,
		"unexpected error of the function": w.err != nil && !ofQueue && !ignored && !queued && !exited && !exits &&
			(!errors.Is(w.err, w.failure) || !ofFunction && !taken && !duplicate && (!isFault || f == conflict)),
		"ended goroutine without an exit":         exited && !p.exits,
		"too many runs":                           w.runs > 3+maxConflicts,
		"error of a function as one of the queue": ofQueue && (ofFunction || taken || duplicate),
		"taken by a row that is not committed": taken &&
			!slices.ContainsFunc(p.rows, func(r row) bool { return slices.Contains(w.plan.keys, r.key) && r.committed <= times.returned }),
		"returned late after its context ended": times.canceled > 0 && times.returned > times.canceled && !begun,
		"returned after Close":                  times.called < p.closed && times.returned > p.drained,
		"waited after Close":                    times.called > p.closed && times.returned != times.called,
	}
}

// An entry is a cache entry: the number of rows that were read, and the numbers of the store from before.
type entry struct {
	rows    int
	numbers domain.Numbers
	cached  bool
}

// A cache has an entry of one kind: one that grows has all rows, and another one all alterations.
type cache struct {
	grows bool
	entry entry
	seen  int // the greatest number of rows that a read has returned
}

// read reads the rows of a cache, as the documentation of freshness says. It reports a violation if it misses a row for
// which one of these cases holds when the read begins:
//
//   - The call that inserted the row is a call of this process, and had returned.
//   - An earlier read of this process had returned the row. On SQLite this counts only for rows of this process.
//   - The row was committed, on SQLite by another process more than two PollIntervals ago.
//   - The position that the read returns includes the row.
//
// If the numbers are not known, an entry that the last ones validate must have what was committed before their Age.
func (p *process) read(d draws, c *cache) {
	start, checked := now(), now()-p.numbers.Age()-p.interval()
	p.mu.Lock()
	seenBefore, positionBefore := c.seen, p.position
	p.mu.Unlock()
	timeout := d.duration(slow)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if d.chance(0.1) {
		p.onReturn(cancel)
	}
	latest, err := p.numbers.Now(ctx)
	if took := now() - start; took > 0 && !p.remote || took > timeout && !p.ledUntilNow(took-timeout) {
		p.violated(fmt.Sprintf("Now returned after %v, with a timeout of %v", took, timeout))
	}
	p.mu.Lock()
	found := c.entry
	p.mu.Unlock()
	valid := found.cached && latest.Validates(found.numbers, c.grows)
	if err != nil {
		closed := errors.Is(err, batch.ErrClosed) && p.closed > 0
		if !closed && !errors.Is(err, failure) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			p.violated(fmt.Sprintf("Now returned %v", err))
		}
		if valid {
			p.checkRows(c, found, func(_ int, r row) bool { return r.committed < checked })
		}
		return
	}
	other := d.chance(0.3) // read without the cache
	if other || !valid {
		d.sleep(fast)
		p.mu.Lock()
		found = entry{len(p.rows), latest, !other}
		p.mu.Unlock()
		d.sleep(fast)
	}
	p.checkRows(c, found, func(i int, r row) bool {
		own := r.by.process == p
		told := own && r.by.times.returned > 0 && r.by.times.returned < start
		seen := i < seenBefore && (own || p.remote)
		return told || seen || r.committed < start-2*p.interval() || r.position <= latest.Position
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if latest.Position < positionBefore {
		p.violations = append(p.violations, fmt.Sprintf("the position falls from %d to %d", positionBefore, latest.Position))
	}
	p.position, c.seen = max(p.position, latest.Position), max(c.seen, found.rows)
	if found.cached {
		c.entry = found
	}
}

// checkRows reports a violation for each row of a cache that is missing in an entry, although it must be there.
func (p *process) checkRows(c *cache, found entry, must func(i int, r row) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.rows[found.rows:] {
		if (c.grows || r.by.plan.alters) && must(found.rows+i, r) {
			p.violations = append(p.violations, fmt.Sprintf("a cached value without the row %d of %v", r.key, r.by))
		}
	}
}

// ledUntilNow reports whether a call of Now can return late: the leader waits for its query, up to checkTimeout.
func (p *process) ledUntilNow(late time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	led := p.polledAt == now() && late <= checkTimeout
	p.polledAt = 0 // there is one leader
	return led
}
