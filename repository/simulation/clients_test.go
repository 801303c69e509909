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

	"example.com/petstore/internal/batch"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/sharedquery"
)

var (
	errOwn    = errors.New("the function failed")
	errTaken  = errors.New("another write has inserted the row")
	errExited = errors.New("the goroutine of the caller ended")
)

// A write is a call of groupcommit.Queue.Do or Create.
type write struct {
	process *process
	plan    struct {
		kind    int // the kind of the rows
		keys    []int
		creates bool // whether it calls Create
		claims  bool // whether it inserts the rows only if none of them exists
		ignores bool // whether it ignores the error of a statement
		end     string
	}
	times struct{ called, canceled, started, returned time.Duration }
	err   error // the error of Do or Create, or its panic
	runs  int   // how often the function or the creation ran

	// The result of the last run of the function or of the creation.
	in       *tx
	inserted []int // the keys that were inserted without an error
	earlier  bool  // whether the creation has found a row of another write
	failure  error
}

func (w *write) String() string { return fmt.Sprintf("%+v %+v: %v", w.plan, w.times, w.err) }

func newWrite(p *process, d draws, kind, key int) *write {
	w := &write{process: p}
	w.plan.kind, w.plan.creates, w.plan.claims, w.plan.ignores = kind, d.chance(0.5), d.chance(0.3), d.chance(0.1)
	w.plan.end = []string{"fails", "panics", "exits", "succeeds"}[min(d.IntN(20), 3)]
	if w.plan.claims || w.plan.creates && d.chance(0.1) { // the creation fails if there is a row
		key = d.IntN(3)
	}
	for i := range d.IntN(4) {
		w.plan.keys = append(w.plan.keys, key+i)
	}
	return w
}

// do calls Do or Create. The context may end during the call, or before.
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
		defer w.process.mu.Unlock()
		w.times.returned = now()
		for _, fn := range w.process.returns {
			fn()
		}
		w.process.returns = nil
	}()
	w.err = errExited // replaced if the call returns or panics
	if w.plan.creates {
		w.err = w.process.queue.Create(ctx, w)
	} else {
		w.err = w.process.queue.Do(ctx, w.run)
	}
}

// onReturn calls fn when the next call returns. At that moment a queued call may become the leader.
func (p *process) onReturn(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returns = append(p.returns, fn)
}

// repositories insert rows in the same way as package repository.
type repositories struct{ *groupcommit.Tx }

func (p *process) newRepositories(t *groupcommit.Tx) repositories {
	p.begun = append(p.begun, now())
	return repositories{t}
}

// mark records that a row of a kind was inserted.
func (r repositories) mark(kind int) {
	[]func(int64){r.MarkAdded, r.MarkChanged, r.MarkKeysChanged}[kind](1)
}

// begin begins a run of the function or of the creation. The caller must call ended with the error of the
// run, also after a panic or runtime.Goexit.
func (w *write) begin(r repositories) (ended func(error)) {
	w.in, w.inserted, w.earlier = r.Tx.Tx.(*tx), nil, false
	w.runs++
	w.times.started = cmp.Or(w.times.started, now())
	return func(err error) {
		if w.failure = err; err != nil {
			w.inserted = nil
		}
	}
}

// create runs creations. One statement looks for the rows of the creations that claim, and one inserts all
// rows.
func (r repositories) create(ctx context.Context, writes []*write) (err error) {
	for _, w := range writes {
		ended := w.begin(r)
		defer func() { ended(err) }()
	}
	if _, err := r.ExecContext(ctx, "SELECT"); err != nil {
		return err
	}
	var rows []any
	taken := map[int]bool{}
	for _, w := range writes {
		w.earlier = w.plan.claims && slices.ContainsFunc(w.plan.keys, func(key int) bool { return w.in.has(key) || taken[key] })
		if w.earlier {
			continue
		}
		for _, key := range w.plan.keys {
			taken[key] = true
			rows = append(rows, row{key: key, by: w})
			r.mark(w.plan.kind)
		}
		w.inserted = w.plan.keys
	}
	_, err = r.ExecContext(ctx, "INSERT", rows...)
	return err
}

// run is the function of the transaction.
func (w *write) run(ctx context.Context, r repositories) (err error) {
	ended := w.begin(r)
	defer func() { ended(err) }()
	if w.plan.claims {
		if _, err := r.ExecContext(ctx, "SELECT"); err != nil {
			return err
		}
		if slices.ContainsFunc(w.plan.keys, w.in.has) {
			return errTaken
		}
	}
	for _, key := range w.plan.keys {
		if _, err := r.ExecContext(ctx, "INSERT", row{key: key, by: w}); err != nil {
			if w.plan.ignores {
				break
			}
			return err
		}
		r.mark(w.plan.kind)
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
	duplicate := w.plan.creates && !w.plan.claims && errors.Is(w.err, errDuplicate)
	// A transaction with the function may have begun before the queue noticed that the context had ended.
	begun := slices.ContainsFunc(p.begun, func(at time.Duration) bool { return at >= times.called && at <= times.canceled })
	canceled := errors.Is(w.err, context.Canceled) && times.started == 0 && times.canceled > 0
	closed := errors.Is(w.err, batch.ErrClosed) && times.started == 0 && times.called >= p.closed
	rolledBack := errors.Is(w.err, groupcommit.ErrRolledBack) || errors.Is(w.err, errEnded)
	ignored := w.plan.ignores && p.remote && w.failure == nil
	return map[string]bool{
		"some rows are committed":                rows != 0 && rows != len(w.inserted),
		"success without the rows":               w.err == nil && (rows != len(w.inserted) || w.failure != nil),
		"failure with the rows":                  w.err != nil && !isUnknown && !exited && rows > 0,
		"unknown outcome of another transaction": isUnknown && unknown.tx != w.in,
		"unexpected error of the queue":          ofQueue && !isUnknown && !isFault && !canceled && !closed && !rolledBack,
		"unexpected error of the function": w.err != nil && !ofQueue && !ignored && !exited && !exits &&
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

// An entry is a cache entry: the number of rows that were read.
type entry struct {
	rows    int
	version uint64
	cached  bool
}

// read reads the rows of a kind through the cache, as the documentation of freshness says. It reports a
// violation if it misses a row for which one of these cases holds when the read begins:
//
//   - The call that inserted the row is a call of this process, and had returned.
//   - An earlier read of this process had returned the row. On SQLite this counts only for rows of this
//     process, on PostgreSQL only if maxAge is zero.
//   - The row was committed longer ago than maxAge.
func (p *process) read(d draws, kind int) {
	start, maxAge := now(), time.Duration(d.IntN(2))*slow/2
	p.mu.Lock()
	seenBefore := p.seen[kind]
	p.mu.Unlock()
	timeout := time.Duration(d.ExpFloat64() * float64(slow))
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := p.versions.Refresh(ctx, maxAge)
	if took := now() - start; took > timeout || took > 0 && !p.remote {
		p.violated(fmt.Sprintf("Refresh returned after %v, with a timeout of %v", took, timeout))
	}
	if err != nil {
		if closed := errors.Is(err, sharedquery.ErrClosed) && p.closed > 0; !closed && !errors.Is(err, failure) && ctx.Err() == nil {
			p.violated(fmt.Sprintf("Refresh returned %v", err))
		}
		return
	}
	if !p.remote {
		maxAge = p.versions.MaxAge(maxAge)
	}
	added, changed := p.versions.Lists()
	version := []uint64{added, changed, p.versions.Keys()}[kind]
	p.mu.Lock()
	found := p.cache[kind]
	p.mu.Unlock()
	other := d.chance(0.3) // read without the cache
	if other || !found.cached || found.version != version {
		d.sleep(fast)
		p.mu.Lock()
		found = entry{len(p.rows), version, !other}
		p.mu.Unlock()
		d.sleep(fast)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, row := range p.rows[found.rows:] {
		own := row.by.process == p
		told := own && row.by.times.returned > 0 && row.by.times.returned < start
		seen := found.rows+i < seenBefore && (own && !p.remote || p.remote && maxAge == 0)
		if row.by.plan.kind == kind && (told || seen || row.committed < start-maxAge) {
			p.violations = append(p.violations, fmt.Sprintf("a cached value without the row %d of %v", row.key, row.by))
		}
	}
	p.seen[kind] = max(p.seen[kind], found.rows)
	if found.cached {
		p.cache[kind] = found
	}
}
