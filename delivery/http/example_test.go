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
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

// newAPI returns the API on a store.
func newAPI(store *repository.Store, options ...rest.Option) (*rest.API, error) {
	return rest.New(rest.Services{
		Pets:   usecase.NewPets(store, store.Pets(), time.Now),
		Orders: usecase.NewOrders(store, store.Orders(), time.Now),
		Keys:   usecase.NewKeys(store, store.Keys(), time.Now),
	}, append(options, rest.WithPageCache(store.Versions, 16<<20))...)
}

// Mount the API on an engine of the host, under a prefix and after middleware.
func Example() {
	store, remove, err := openStore()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	key, err := usecase.NewKeys(store, store.Keys(), time.Now).Create(context.Background(), "example", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := newAPI(store)
	if err != nil {
		fmt.Println(err)
		return
	}

	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Team", "animals") })
	if err := api.Register(engine.Group("/shop/v1")); err != nil {
		fmt.Println(err)
		return
	}

	request := httptest.NewRequest(http.MethodPost, "/shop/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":7}`))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	printResponse(engine, request, "X-Team", "Location")
	// Output:
	// 201 animals ./pets/1
	// {"id":1,"name":"Rex","categoryId":7}
}

// mountDocs mounts the OpenAPI document and Swagger UI on a group.
func mountDocs(group *gin.RouterGroup) error {
	document, err := docs.Document(docs.Options{})
	if err != nil {
		return err
	}
	return swagger.Register(group, swagger.Options{Document: document, NotFound: rest.NotFound})
}

// The server in the document is the URL that the document was requested from.
func Example_documentation() {
	engine := gin.New()
	if err := mountDocs(engine.Group("/shop")); err != nil {
		fmt.Println(err)
		return
	}
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "https://pets.example/shop/openapi.json", http.NoBody))
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.Contains(line, "https://pets.example") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Output:
	// "default": "https://pets.example/shop",
}

// Replace API keys by sessions of the host. The Authenticator reads what the middleware of
// the host has stored in the context. The name that it returns is logged as the caller and
// scopes idempotency keys.
func ExampleWithAuthenticator() {
	store, remove, err := openStore()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	api, err := newAPI(store, rest.WithAuthenticator(func(c *gin.Context) (string, error) {
		user := c.GetString("user")
		if user == "" {
			return "", &domain.Error{Kind: domain.ErrUnauthenticated, Code: domain.CodeMissingAPIKey, Message: "sign in first"}
		}
		if user == "guest" && !rest.IsSafe(c.Request.Method) {
			return user, domain.Forbidden("guests may only read")
		}
		return user, nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}

	engine := gin.New()
	users := map[string]string{"a-secret-session": "user 42", "another-session": "guest"}
	engine.Use(func(c *gin.Context) { // sessions of the host
		session, _ := c.Cookie("session")
		c.Set("user", users[session])
	})
	if err := api.Register(engine.Group("/v1")); err != nil {
		fmt.Println(err)
		return
	}

	for _, session := range []string{"", "another-session", "a-secret-session"} {
		request := httptest.NewRequest(http.MethodPost, "/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":7}`))
		request.Header.Set("Content-Type", "application/json")
		request.AddCookie(&http.Cookie{Name: "session", Value: session})
		printResponse(engine, request)
	}
	// Output:
	// 401
	// {"code":"missing_api_key","message":"sign in first","status":401}
	// 403
	// {"code":"forbidden","message":"guests may only read","status":403}
	// 201
	// {"id":1,"name":"Rex","categoryId":7}
}

// Send the error format of the API for unknown paths and unsupported methods.
func ExampleAPI_DeprecationHeaders() {
	store, remove, err := openStore()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	api, err := newAPI(store)
	if err != nil {
		fmt.Println(err)
		return
	}

	engine := gin.New()
	group := engine.Group("/shop/v1")
	if err := api.Register(group); err != nil {
		fmt.Println(err)
		return
	}
	engine.HandleMethodNotAllowed = true
	engine.NoRoute(rest.NotFound)
	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)

	printResponse(engine, httptest.NewRequest(http.MethodDelete, "/shop/v1/pets/1", http.NoBody), "Allow", "Sunset")
	// Output:
	// 405 GET, HEAD, OPTIONS Thu, 05 Dec 2030 00:00:00 GMT
	// {"code":"method_not_allowed","message":"this path does not support the method DELETE, see the header Allow","status":405}
}

// openStore opens a store in a temporary directory. remove closes and deletes it.
func openStore() (store *repository.Store, remove func(), err error) {
	dir, err := os.MkdirTemp("", "petstore")
	if err != nil {
		return nil, nil, err
	}
	store, err = repository.Open(context.Background(), sqlite.New(filepath.Join(dir, "pets.db")), repository.Options{Migrate: true})
	if err != nil {
		return nil, nil, err
	}
	return store, func() { store.Close(); os.RemoveAll(dir) }, nil
}

// printResponse prints the status, the given headers and the body of a response.
func printResponse(engine http.Handler, request *http.Request, headers ...string) {
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, request)
	response := recorder.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	line := []any{response.StatusCode}
	for _, header := range headers {
		line = append(line, response.Header.Get(header))
	}
	fmt.Println(line...)
	fmt.Println(string(body))
}
