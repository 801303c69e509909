package repository

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// The writer's measures.
const (
	// queueSize is how many acts may wait; one more is refused.
	queueSize = 1024
	// maxBatch is how many acts share a commit at most.
	maxBatch = 256
	// yields is how often the scheduler may run others before a batch is cut.
	yields = 8
	// patience is how long a batch waits for as many acts as the last one had.
	patience = time.Millisecond
	// maxIdleWAL is how large the WAL stays, in bytes, when a long reader of another
	// process has let it grow.
	maxIdleWAL = 16 << 20
	// lockWait is how long SQLite waits for another process's lock before the writer
	// looks around, and lockPatience how long it goes on doing so. What others commit
	// is noticed within three times lockWait (see watch), and 100 ms are promised.
	lockWait     = 30 * time.Millisecond
	lockPatience = 5 * time.Second
)

var (
	errQueueFull = errors.New("too many writes wait")
	errClosed    = errors.New("the store is closed")
	errNested    = errors.New("a transaction was begun within a transaction")
	errEnded     = errors.New("an act ended the goroutine of the writer")
	errLost      = errors.New("SQLite undid the transaction")
	errSpoiled   = errors.New("an act failed in the middle of its changes")
)

// A writer makes the acts of many callers durable with one commit. One goroutine
// takes all that wait, runs them in one transaction, commits, and only then answers
// any of them: one fsync serves them all, and nobody is told before the disk has it.
type writer struct {
	db       *gorm.DB // of conn
	conn     *sql.Conn
	place    place
	versions *versions
	observe  func(acts int, took time.Duration)

	queue   chan *job
	quit    chan struct{}
	closing sync.Once
	stopped chan struct{}
	pulse   *pulse
	batch   []*job // this one, or the last
	timer   *time.Timer
}

// newWriter starts a writer on a connection that is its own. Close it.
func newWriter(db *gorm.DB, conn *sql.Conn, at place, v *versions, observe func(acts int, took time.Duration)) (*writer, error) {
	w := &writer{
		db: db, conn: conn, place: at, versions: v, observe: observe,
		queue: make(chan *job, queueSize), quit: make(chan struct{}), stopped: make(chan struct{}), pulse: newPulse(),
		timer: time.NewTimer(patience),
	}
	for pragma, value := range map[string]int64{"busy_timeout": lockWait.Milliseconds(), "journal_size_limit": maxIdleWAL} {
		if err := db.Exec(fmt.Sprintf("PRAGMA %s = %d", pragma, value)).Error; err != nil {
			return nil, err
		}
	}
	if err := w.noticeOthers(db); err != nil {
		return nil, err
	}
	go w.run()
	go w.pulse.run(lockWait, w.watch(), w.stopped)
	return w, nil
}

// watch returns what is to be called in a steady beat: it raises the versions while
// the writer is held up, as by the disk, and cannot notice what others commit.
func (w *writer) watch() func() {
	const most = 2 // beats without a look
	var seen uint64
	silent := 0
	return func() {
		if looks := w.versions.looks.Load(); looks != seen {
			seen, silent = looks, 0
		} else if silent++; silent >= most {
			w.versions.raise(everything)
		}
	}
}

// close ends the writer once all that waits is written.
func (w *writer) close() {
	w.closing.Do(func() { close(w.quit) })
	<-w.stopped
}

// do queues an act and returns when it is durable, or the error or panic that
// undid it. A caller whose ctx ends is let go as long as the act has not begun;
// then it is too late, because only the commit knows how it ends.
func (w *writer) do(ctx context.Context, act act) error {
	if ctx.Value(inAct{}) != nil {
		return errNested
	}
	if err := ctx.Err(); err != nil {
		return domain.Unavailable(err)
	}
	j := &job{ctx: ctx, act: act, done: make(chan struct{})}
	if err := w.enqueue(j); err != nil {
		return domain.Unavailable(err)
	}
	if err := w.await(ctx, j); err != nil {
		return domain.Unavailable(err)
	}
	return j.outcome()
}

// await returns when a job is done, or why its caller abandoned it. It looks at ctx
// from the next beat on.
func (w *writer) await(ctx context.Context, j *job) (err error) {
	select {
	case <-j.done: // nearly always
		return nil
	case <-w.pulse.wait():
	case <-w.stopped:
	}
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.stopped:
		err = errClosed
	}
	if j.abandon() {
		return err
	}
	<-j.done
	return nil
}

func (w *writer) enqueue(j *job) error {
	select {
	case <-w.quit:
		return errClosed
	default:
	}
	select {
	case w.queue <- j:
		return nil
	default:
		return errQueueFull
	}
}

func (w *writer) run() {
	quit := false
	defer func() {
		if !quit { // an act has ended this goroutine (runtime.Goexit): a new one goes on
			go w.run()
			return
		}
		close(w.stopped)
	}()
	look := time.NewTicker(lockWait)
	defer look.Stop()
	for {
		select {
		case first := <-w.queue:
			w.commit(w.gather(first))
		case <-look.C:
			if w.noticeOthers(w.db) != nil {
				w.versions.raise(everything) // who cannot look must not trust what was read
			}
		case <-w.quit:
			for len(w.queue) > 0 {
				w.commit(w.gather(<-w.queue))
			}
			quit = true
			return
		}
	}
}

// gather takes what waits behind the first job. It lets others run before: with few
// cores those whom the last commit answered could not yet queue again, and batches of
// two would pay for the fsync of each. Then it waits for as many as came last time,
// which a lone caller need not.
func (w *writer) gather(first *job) []*job {
	expected := len(w.batch)
	w.batch = append(w.batch[:0], first)
	for range yields {
		runtime.Gosched()
		w.takeWaiting()
	}
	if len(w.batch) < expected {
		w.expect(expected)
		w.takeWaiting()
	}
	return w.batch
}

// takeWaiting adds to the batch what waits.
func (w *writer) takeWaiting() {
	for len(w.queue) > 0 && len(w.batch) < maxBatch {
		w.batch = append(w.batch, <-w.queue)
	}
}

// expect adds to the batch until it has so many jobs or patience ends.
func (w *writer) expect(jobs int) {
	w.timer.Reset(patience)
	defer w.timer.Stop()
	for len(w.batch) < jobs {
		select {
		case j := <-w.queue:
			w.batch = append(w.batch, j)
		case <-w.timer.C:
			return
		}
	}
}

// commit makes a batch durable, then answers its callers.
func (w *writer) commit(batch []*job) {
	err := domain.Unavailable(errEnded)
	defer func() { finish(batch, err) }()
	err = w.transact(batch)
}

// transact runs a batch as one transaction. Savepoints between the acts would cost a
// fifth of it, since SQLite copies the pages that change behind one; so there are
// none until an act leaves something behind that has to be undone.
func (w *writer) transact(batch []*job) error {
	err := w.attempt(batch, false)
	if errors.Is(err, errSpoiled) {
		err = w.attempt(batch, true)
	}
	return err
}

// attempt runs a batch in a transaction of its own and commits it.
func (w *writer) attempt(batch []*job, guarded bool) error {
	start := time.Now() //nolint:forbidigo // a duration, told to observe alone
	if err := w.place.check(); err != nil {
		return domain.Unavailable(err)
	}
	tx, err := w.begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	t := &transaction{DB: tx, conn: w.conn}
	t.within = repositories(session{db: tx}, &t.effects)
	if err := t.run(batch, guarded); err != nil {
		return domain.Unavailable(err)
	}
	// A commit to a file that is no longer there promises nothing.
	if err = cmp.Or(tx.Commit().Error, w.place.check()); err != nil {
		err = domain.Unavailable(err)
	}
	// Even a commit that failed may have been made, so the numbers rise in any case.
	w.versions.raise(t.effects)
	if w.observe != nil && t.acts > 0 {
		w.observe(t.acts, time.Since(start))
	}
	return err
}

// begin starts a transaction as the only writer of the file. It waits for other
// processes in short steps, between which their commits are noticed.
func (w *writer) begin() (*gorm.DB, error) {
	for waited := time.Duration(0); ; waited += lockWait {
		tx := w.db.Begin()
		if isBusy(tx.Error) && waited < lockPatience {
			_ = w.noticeOthers(w.db) // an error shows again, and is told, at the next attempt
			continue
		}
		if tx.Error != nil {
			return nil, tx.Error
		}
		if err := w.noticeOthers(tx); err != nil {
			tx.Rollback()
			return nil, err
		}
		return tx, nil
	}
}

// noticeOthers raises the versions when another connection has committed: that
// changes the data_version of this one, which its own commits do not.
func (w *writer) noticeOthers(db *gorm.DB) error {
	var version int64
	err := db.Statement.ConnPool.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version)
	if err == nil {
		w.versions.noticed(version)
	}
	return err
}

func isBusy(err error) bool {
	var engine sqlite3.Error
	return errors.As(err, &engine) && engine.Code == sqlite3.ErrBusy
}
