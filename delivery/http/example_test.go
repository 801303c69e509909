package http_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// mountStore mounts a store on a group of a team's engine.
func mountStore(group *gin.RouterGroup, store *repository.Store, options ...rest.Option) error {
	api, err := rest.New(rest.Services{
		Pets:   usecase.NewPets(store, store.Pets(), time.Now),
		Orders: usecase.NewOrders(store, store.Orders(), time.Now),
		Keys:   usecase.NewKeys(store, store.Keys(), time.Now),
	}, append(options, rest.WithPageCache(store.Versions, 16<<20))...)
	if err != nil {
		return err
	}
	return api.Register(group)
}

// A team mounts the store in its own engine, under a prefix, behind its own middleware.
func Example() {
	folder, err := os.MkdirTemp("", "petstore")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	store, err := repository.Open(ctx, repository.Options{DSN: filepath.Join(folder, "pets.db"), Migrate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	key, err := usecase.NewKeys(store, store.Keys(), time.Now).Create(ctx, "till 1", 0)
	if err != nil {
		fmt.Println(err)
		return
	}

	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Team", "animals") })
	if err := mountStore(engine.Group("/shop/v1"), store); err != nil {
		fmt.Println(err)
		return
	}

	request := httptest.NewRequest(http.MethodPost, "/shop/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":7}`))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	show(engine, request)
	// Output:
	// 201 animals ./pets/1
	// {"id":1,"name":"Rex","categoryId":7}
}

// A team's own sessions take the place of API keys: whoever the authenticator names
// is the caller, in the log and of an idempotency key.
func ExampleWithAuthenticator() {
	folder, err := os.MkdirTemp("", "petstore")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	store, err := repository.Open(context.Background(), repository.Options{DSN: filepath.Join(folder, "pets.db"), Migrate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	users := map[string]string{"a secret session": "user 42"} // a team's own sessions
	authenticate := func(r *http.Request) (string, error) {
		cookie, err := r.Cookie("session")
		if err != nil || users[cookie.Value] == "" {
			return "", domain.MissingAPIKey()
		}
		return users[cookie.Value], nil
	}
	engine := gin.New()
	if err := mountStore(engine.Group("/v1"), store, rest.WithAuthenticator(authenticate)); err != nil {
		fmt.Println(err)
		return
	}

	request := httptest.NewRequest(http.MethodGet, "/v1/pets", http.NoBody)
	show(engine, request)
	request.AddCookie(&http.Cookie{Name: "session", Value: "a secret session"})
	show(engine, request)
	// Output:
	// 401
	// {"code":"missing_api_key","message":"an API key is required: send the header Authorization: Bearer <API_KEY>","status":401}
	// 200
	// []
}

// show prints an answer.
func show(engine http.Handler, request *http.Request) {
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, request)
	answer := recorder.Result()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.TrimSpace(fmt.Sprintln(answer.StatusCode, answer.Header.Get("X-Team"), answer.Header.Get("Location"))))
	fmt.Println(string(body))
}
