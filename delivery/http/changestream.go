package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"example.com/petstore/domain"
	"example.com/petstore/internal/record"
)

const (
	eventStream = "text/event-stream"
	// streamPollInterval is how often streams look for changes.
	streamPollInterval = 20 * time.Millisecond
	// streamCheckInterval is how often the authorization of a stream is checked. A revoked key must stop working within a
	// second: the interval and the maximum age of a cached key together are shorter.
	streamCheckInterval = 500 * time.Millisecond
	// streamIdleChecks is the number of checks without an event after which a stream sends a comment.
	streamIdleChecks = 30
	// streamTimeout is the timeout of a read of changes, and of a write to a client.
	streamTimeout = 5 * time.Second
	// streamPage is the number of changes that are sent at once.
	streamPage = 100
	// A stream that is more than streamBacklog changes behind the latest one sends its pages at a limited rate, so
	// that it leaves the processor to other requests. All such streams of a caller together send streamPages pages
	// a second.
	streamBacklog = 1000
	streamPages   = 100
)

// changeStreams are the open streams of changes. While there is one, a goroutine polls the numbers of the store.
// Streams at the same position share a read.
type changeStreams struct {
	changes   Changes
	numbers   func(context.Context) (domain.Numbers, error)
	perCaller int
	check     time.Duration      // streamCheckInterval
	timeout   time.Duration      // streamTimeout
	backlogs  *callerBuckets     // limit the pages that streams with a backlog send, per caller
	reads     singleflight.Group // shared reads of *changeEvents, by commits and position

	mu        sync.Mutex
	open      map[*changeStream]bool
	committed chan struct{} // closed when there may be more changes
	commits   uint64        // how often committed was closed
	stop      func()        // ends the goroutine that polls
}

// A changeStream is an open stream of changes to one caller.
type changeStream struct {
	caller   string
	backlog  *rate.Limiter     // the limit that all streams of the caller share
	reserved *rate.Reservation // the last reservation of turn, or nil
	position int64             // the position up to which changes have been sent, or 0 at first
}

// changeEvents are changes, encoded as server-sent events.
type changeEvents struct {
	text   []byte
	last   int64 // the Next of the page, see domain.ChangePage
	behind int64 // the number of changes that follow
}

func newChangeStreams(s *Service, o *Options) *changeStreams {
	return &changeStreams{
		changes: s.Changes, numbers: s.Numbers, perCaller: cmp.Or(o.ChangeStreams, 10), check: streamCheckInterval, timeout: streamTimeout,
		backlogs: newCallerBuckets(streamPages, 1), open: map[*changeStream]bool{},
	}
}

// streamChanges sends the changes after a position as server-sent events (HTML, section 9.2). The stream ends when
//
//   - the client disconnects, or does not accept an event in time,
//   - the caller may not read changes any more,
//   - the server shuts down, or the store fails.
//
// The client then connects again, and gets the changes that follow, or an error response.
func (a *API) streamChanges(c *gin.Context, after int64) error {
	stream := a.streams.add(stateOf(c).caller)
	if stream == nil {
		c.Header("Retry-After", "1")
		a.countByCaller(a.metrics.rateLimited, c)
		return &domain.Error{
			Kind: errRateLimited, Code: codeRateLimited,
			Message: "this caller has " + strconv.Itoa(a.streams.perCaller) + " open streams of changes, which is the limit: close one",
		}
	}
	defer a.streams.remove(stream)
	events, err := a.streams.read(after)
	if err != nil {
		return err
	}
	c.Header("Content-Type", eventStream)
	c.Header("X-Accel-Buffering", "no") // so that nginx sends each event at once
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	state := stateOf(c)
	state.stream = true
	defer func() { // otherwise a client that does not read would delay the end of the response
		_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(a.streams.timeout))
	}()
	check := time.NewTicker(a.streams.check)
	defer check.Stop()
	shutdown, _ := c.Request.Context().Value(shutdownKey{}).(<-chan struct{})
	idle, ready := 0, stream.turn(events)
	for err = a.streams.send(c, slices.Concat(events.text, comment(events.last))); err == nil; {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-shutdown:
			return nil
		case <-check.C:
			if !a.stillAllowed(c, stream.caller) {
				return nil
			}
			if idle++; idle == streamIdleChecks {
				idle, err = 0, a.streams.send(c, comment(events.last))
			}
		case <-ready:
			ready = a.streams.next(stream, events.last) // called before the read, so that no commit is missed
			events, err = a.streams.read(events.last)
			if err == nil && len(events.text) > 0 {
				idle, ready, err = 0, stream.turn(events), a.streams.send(c, events.text)
			}
		}
	}
	if c.Request.Context().Err() == nil || errors.Is(err, os.ErrDeadlineExceeded) { // a disconnect is not logged
		a.log.Warn("a stream of changes ended", zap.String("request_id", state.id[0]), zap.Error(err))
	}
	return nil // the response has begun, so it cannot become an error response
}

// comment returns a part of a stream that has a comment and no event. Its id is a position: a client that connects again
// continues after it.
func comment(position int64) []byte { return fmt.Appendf(nil, ":\nid: %d\n\n", position) }

// send sends a part of a stream. It returns an error if the client does not accept it in time.
func (s *changeStreams) send(c *gin.Context, text []byte) error {
	control := http.NewResponseController(c.Writer)
	_ = control.SetWriteDeadline(time.Now().Add(s.timeout))
	if _, err := c.Writer.Write(text); err != nil {
		return err
	}
	err := control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // with a deadline, HTTP/2 would end a stream without events
	return err
}

// stillAllowed reports whether the caller of a stream may still read the changes.
func (a *API) stillAllowed(c *gin.Context, caller string) bool {
	request := c.Request
	defer func() { c.Request = request }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), a.streams.timeout)
	defer cancel()
	c.Request = request.WithContext(ctx)
	got, err := a.authenticator(c)
	return err == nil && got == caller
}

// add adds a stream, or returns nil if the caller may have no more.
func (s *changeStreams) add(caller string) *changeStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for stream := range s.open {
		if stream.caller == caller {
			n++
		}
	}
	if n >= s.perCaller {
		return nil
	}
	if len(s.open) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		s.stop, s.committed = cancel, make(chan struct{})
		go s.poll(ctx)
	}
	stream := &changeStream{caller: caller, backlog: s.backlogs.of(caller)}
	s.open[stream] = true
	return stream
}

// remove removes a stream. Its reserved turn goes to the other streams of the caller.
func (s *changeStreams) remove(stream *changeStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, stream)
	if stream.reserved != nil {
		stream.reserved.Cancel()
	}
	if len(s.open) == 0 {
		s.stop()
	}
}

// poll polls the numbers until ctx ends, and wakes the streams when there are changes or after an error.
func (s *changeStreams) poll(ctx context.Context) {
	ticker := time.NewTicker(streamPollInterval)
	defer ticker.Stop()
	for known := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		timed, cancel := context.WithTimeout(ctx, s.timeout)
		latest, err := s.numbers(timed)
		cancel()
		if latest.Position != known || err != nil { // after an error the streams read, and may end
			known = latest.Position
			s.wake(ctx)
		}
	}
}

// wake makes all streams read. It does nothing if ctx, the context of poll, has ended.
func (s *changeStreams) wake(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil {
		close(s.committed)
		s.committed = make(chan struct{})
		s.commits++
	}
}

// turn returns a channel that is closed when the stream may send the page that follows events. If the stream has a
// backlog, the channel is closed when the limit of the caller allows it, otherwise at once.
func (s *changeStream) turn(events *changeEvents) <-chan struct{} {
	turn := make(chan struct{})
	if events.behind <= streamBacklog {
		close(turn)
	} else {
		s.reserved = s.backlog.Reserve()
		time.AfterFunc(s.reserved.Delay(), func() { close(turn) })
	}
	return turn
}

// next records that a stream has sent the changes up to a position. It returns a channel that is closed when there may be
// more changes.
func (s *changeStreams) next(stream *changeStream, position int64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream.position = position
	return s.committed
}

// read reads the changes after a position. Concurrent calls with the same position share a read. No call shares a read
// that began before the last commit that poll has seen.
func (s *changeStreams) read(after int64) (*changeEvents, error) {
	s.mu.Lock()
	key := fmt.Sprint(s.commits, after)
	s.mu.Unlock()
	events, err, _ := s.reads.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout) // not the context of a request: several requests share the read
		defer cancel()
		page, err := s.changes.List(ctx, domain.PageRequest{After: after, Limit: streamPage})
		if err != nil {
			return (*changeEvents)(nil), err
		}
		return encodeEvents(page)
	})
	return events.(*changeEvents), err
}

// encodeEvents encodes a page of changes as server-sent events. An empty page has no text.
func encodeEvents(page domain.ChangePage) (*changeEvents, error) {
	events := &changeEvents{last: page.Next, behind: page.Latest - page.Next}
	for _, change := range page.Items {
		text := append(events.text, "id: "+strconv.FormatInt(change.Seq, 10)+"\nevent: "+string(change.Type)+"\ndata: "...)
		text, err := record.RecordedChangeOf(change).AppendJSON(text)
		if err != nil {
			return nil, err
		}
		events.text = append(text, "\n\n"...)
	}
	return events, nil
}

// shutdownKey is the context key of a channel that is closed when the server shuts down.
type shutdownKey struct{}

// EndStreams makes the streams of changes end when server.Shutdown is called. Otherwise Shutdown would wait for
// them. Call EndStreams before the server serves. It wraps server.BaseContext.
func EndStreams(server *http.Server) {
	shutdown := make(chan struct{})
	server.RegisterOnShutdown(sync.OnceFunc(func() { close(shutdown) }))
	base := server.BaseContext
	server.BaseContext = func(l net.Listener) context.Context {
		ctx := context.Background()
		if base != nil {
			ctx = base(l)
		}
		return context.WithValue(ctx, shutdownKey{}, (<-chan struct{})(shutdown))
	}
}

// slowest returns the number of open streams, and the lowest position of a stream that has sent changes, or 0 if there is
// none.
func (s *changeStreams) slowest() (streams int, position int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.open {
		if stream.position > 0 && (position == 0 || stream.position < position) {
			position = stream.position
		}
	}
	return len(s.open), position
}

// lag returns how many changes the slowest stream is behind the latest change, or 0 if that is not known.
func (s *changeStreams) lag() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a scrape must not wait longer
	defer cancel()
	_, position := s.slowest()
	if position == 0 {
		return 0
	}
	latest, _ := s.numbers(ctx) // after an error, the last known numbers
	return float64(max(0, latest.Position-position))
}
