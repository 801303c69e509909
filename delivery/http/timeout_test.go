package http_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// createFunc is the catalogue with another way to add a pet.
type createFunc struct {
	rest.Pets
	create func(context.Context) (domain.Pet, error)
}

func (f createFunc) Create(ctx context.Context, _ domain.NewPet, _ domain.IdempotencyKey) (domain.Pet, bool, error) {
	pet, err := f.create(ctx)
	return pet, false, err
}

func withCreate(create func(context.Context) (domain.Pet, error)) func(*rest.Services) {
	return func(s *rest.Services) { s.Pets = createFunc{s.Pets, create} }
}

func TestDeadlineIsCountedFromTheBeginningOfTheRequest(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	authenticated, deadline := make(chan time.Time, 1), make(chan time.Time, 1)
	s := newTestServerWith(t, withCreate(func(ctx context.Context) (domain.Pet, error) {
		at, _ := ctx.Deadline()
		deadline <- at
		return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, nil
	}), rest.WithRequestTimeout(timeout), rest.WithAuthenticator(func(*gin.Context) (string, error) {
		authenticated <- time.Now()
		return "anybody", nil
	}))
	conn := s.dial(t, s.begin("Content-Length: 29", newRex[:10]))
	early := <-authenticated
	if _, err := conn.Write([]byte(newRex[10:])); err != nil {
		t.Fatal(err)
	}
	s.receive(t, conn, created(""))
	if at := <-deadline; at.After(early.Add(timeout)) {
		t.Errorf("the deadline is %s after the first half of the body, want at most %s", at.Sub(early), timeout)
	}
}

func TestBodyThatIsNotThereAtTheDeadlineIsATimeout(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	start := time.Now()
	stop, stopped := s.serve(t, s.engine(t, nil, defaultServices, rest.WithRequestTimeout(time.Second)), patient)
	half, chunked := s.dial(t, s.begin("Content-Length: 100", `{"name":`)), s.dial(t, s.begin("Transfer-Encoding: chunked", "8\r\n{\"name\":\r\n"))
	s.receive(t, half, refused(408, "request_timeout"))
	s.receive(t, chunked, refused(408, "request_timeout"))
	s.key = "unknown"
	s.receive(t, s.dial(t, s.begin("Content-Length: 100", `{"name":`)), refused(401, "invalid_api_key"))
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > patient.Read/2 {
		t.Errorf("the responses took %s: they came with the server's read timeout", took)
	}
}

// net/http reads on while a request is handled, to notice that the client disconnected.
func TestReadTimeoutEndsNoRequestThatWasRead(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	hasty := patient
	hasty.Read = 500 * time.Millisecond
	slow := func(ctx context.Context) (domain.Pet, error) {
		select {
		case <-ctx.Done():
			return domain.Pet{}, domain.Unavailable(ctx.Err())
		case <-time.After(hasty.Read * 3 / 2):
			return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, nil
		}
	}
	stop, stopped := s.serve(t, s.engine(t, nil, func(services *rest.Services) {
		pets := catalogue{Pets: services.Pets, get: func(ctx context.Context, _ int64) (domain.Pet, error) { return slow(ctx) }}
		services.Pets = createFunc{pets, slow}
	}), hasty)
	for range 2 { // on one connection
		s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7}`))
		s.expect(t, post(newRex), created(`{"id":1,"name":"Rex","categoryId":7}`))
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A host may read the body before us. From then on net/http reads to notice when the
// client disconnects, and cancels the contexts of the connection where that fails.
func TestDeadlineIsUnavailableWhenTheHostHasReadTheBody(t *testing.T) {
	t.Parallel()
	slowCreate := withCreate(func(ctx context.Context) (domain.Pet, error) {
		<-ctx.Done()
		return domain.Pet{}, domain.Unavailable(ctx.Err())
	})
	for name, test := range map[string]struct {
		alter      func(*rest.Services)
		connection string
	}{
		"while the key is looked up": {slowKeys, "close"},
		"while the pet is added":     {slowCreate, "keep-alive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t)
			engine := gin.New()
			engine.Use(func(c *gin.Context) {
				body, _ := io.ReadAll(c.Request.Body)
				c.Request.Body = io.NopCloser(bytes.NewReader(body))
			})
			if err := s.api(t, test.alter, rest.WithRequestTimeout(50*time.Millisecond)).Register(engine.Group("/v1")); err != nil {
				t.Fatal(err)
			}
			s.listen(t, engine)
			for range 8 {
				s.expect(t, post(newRex, "Connection: "+test.connection), refused(503, "unavailable"))
			}
		})
	}
}
