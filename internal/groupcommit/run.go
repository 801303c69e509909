package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
)

// ErrRolledBack is wrapped by the error of all callers of a transaction that the database has ended.
var ErrRolledBack = errors.New("the database rolled back the transaction")

var (
	errIgnoredError = errors.New("a transaction function ignored the error of a statement")
	errExited       = errors.New("a transaction function called runtime.Goexit")
)

// maxConflicts is how often transactions of a batch run again after a conflict.
const maxConflicts = 3

// run runs the calls of a batch, see batch.New. Its error is that the transaction did not begin.
func (q *Queue[R, C]) run(ctx context.Context, deadline time.Time, take func() []*call[R, C]) error {
	s := &schedule[R, C]{queue: q}
	beginning, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	tx, err := s.begin(beginning, q.calls.Peek())
	calls := take()
	if err != nil {
		return err
	}
	if ended := batch.Ended(ctx, deadline); ended != nil {
		end(ended, calls[0]) // the leader; the others have left the queue in time
		calls = calls[1:]
	}
	s.next = [][]*call[R, C]{calls}
	s.run(tx)
	return nil
}

// A schedule is what is left to do for a batch.
type schedule[R Repositories[C], C any] struct {
	queue        *Queue[R, C]
	next         [][]*call[R, C] // the calls of the current transaction and of those after it
	repositories R               // of the current transaction
	began        time.Time       // when the leader began to wait for the current transaction
	conflicts    int             // how many transactions ran again after a conflict
	failures     int             // how many transactions were rolled back because of a call
	exited       bool            // a call has called runtime.Goexit: the goroutine ends
}

// begin begins a transaction for calls.
func (s *schedule[R, C]) begin(ctx context.Context, calls []*call[R, C]) (engine.Tx, error) {
	s.began = time.Now() //nolint:forbidigo // a duration, only for Observe
	s.repositories = s.queue.options.New()
	var data []C
	for _, c := range calls {
		data = append(data, c.data...)
	}
	return s.queue.database.Begin(ctx, func() ([]engine.Query, func()) { return s.repositories.Ahead(data) })
}

// beginNext begins the next transaction. It returns nil if there is none.
func (s *schedule[R, C]) beginNext() engine.Tx {
	if len(s.next) == 0 {
		return nil
	}
	tx, err := s.begin(context.Background(), s.next[0])
	if err != nil {
		s.fail(err)
		return nil
	}
	return tx
}

// run runs the transactions. The first one has begun.
func (s *schedule[R, C]) run(tx engine.Tx) {
	defer func() {
		if s.exited {
			s.exited = false
			s.run(s.beginNext()) // before the goroutine ends
		}
	}()
	for ; tx != nil; tx = s.beginNext() {
		s.transact(tx)
	}
}

// transact runs one transaction: one function after the other.
func (s *schedule[R, C]) transact(begun engine.Tx) {
	defer func() { _ = begun.Rollback() }()
	tx, calls := &Tx{Tx: begun}, s.next[0]
	s.repositories.Begun(tx)
	for _, c := range calls {
		tx.wrote = false
		s.invoke(c)
		if !s.check(tx, c) {
			return
		}
	}
	err := s.repositories.Commit(begun.Commit)
	if observe := s.queue.options.Observe; observe != nil && len(calls) > 0 {
		observe(len(calls), time.Since(s.began))
	}
	if rejected, ok := errors.AsType[engine.NotCommittedError](err); ok && s.reject(rejected.Err) {
		return
	}
	s.next = s.next[1:]
	end(err, calls...)
}

// reject decides what follows from the error of a statement that ran with the commit. It is not known which call it
// belongs to, so each call runs alone later. A call that is alone has the error. reject returns false for an error that
// the database itself caused: it is the error of all calls.
func (s *schedule[R, C]) reject(err error) bool {
	calls := s.next[0]
	switch failure := s.queue.database.Failure(err); {
	case failure == engine.FailureConflict && s.conflicts < maxConflicts:
		s.conflicts++
	case failure != "":
		return false
	case len(calls) == 1:
		calls[0].err = cmp.Or(calls[0].err, err)
		s.next = s.next[1:]
		end(nil, calls...)
	default:
		s.failures++
		s.next = slices.Concat(slices.Collect(slices.Chunk(calls, 1)), s.next[1:])
	}
	return true
}

// invoke runs one function. Its context makes the queue reject nested calls.
func (s *schedule[R, C]) invoke(c *call[R, C]) {
	var err error
	returned := false
	defer func() {
		var panicked *Panic
		value := recover()
		if value == nil && !returned {
			value, s.exited = errExited, true
		}
		if value != nil {
			panicked = &Panic{value, debug.Stack()}
		}
		c.err, c.panicked = err, panicked
		if s.exited {
			s.takeOut(c)
		}
	}()
	err = c.fn(context.WithValue(context.WithoutCancel(c.ctx), s.queue, true), s.repositories)
	returned = true
}

// check decides what follows from a call. It returns true if the transaction continues.
func (s *schedule[R, C]) check(tx *Tx, c *call[R, C]) bool {
	failure, rolledBack := s.queue.database.Failure(c.err), tx.Active()
	conflict := failure == engine.FailureConflict
	switch {
	case conflict && s.conflicts < maxConflicts:
		s.conflicts++
		return false
	case conflict, failure != "" && (tx.Failed() || rolledBack != nil):
		s.fail(fmt.Errorf("%w: %w", ErrRolledBack, c.err))
		return false
	case rolledBack != nil: // the error of the call does not concern the others: it is only named
		s.fail(fmt.Errorf("%w: %w, after %s", ErrRolledBack, rolledBack, fmt.Sprint(c.err)))
		return false
	}
	if tx.Failed() && !c.failed() {
		c.err = errIgnoredError
	}
	if !c.failed() || !tx.wrote && !tx.Failed() {
		return true
	}
	s.takeOut(c)
	return false
}

// takeOut removes a call that has failed from the current transaction, which is rolled back. If the call is alone, it
// has its result. Otherwise it runs alone later.
func (s *schedule[R, C]) takeOut(c *call[R, C]) {
	calls, later := s.next[0], s.next[1:]
	if len(calls) == 1 {
		s.next = later
		end(nil, c)
		return
	}
	others := slices.DeleteFunc(calls, func(other *call[R, C]) bool { return other == c })
	together := 1
	if s.failures++; s.failures == 1 {
		together = len(others)
	}
	s.next = slices.Concat(slices.Collect(slices.Chunk(others, together)), later, [][]*call[R, C]{{c}})
}

// fail ends all calls that have no result yet with an error.
func (s *schedule[R, C]) fail(err error) {
	for _, calls := range s.next {
		end(err, calls...)
	}
	s.next = nil
}
