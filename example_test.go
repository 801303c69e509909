package petstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

// Mount the API on an engine of the host, under a prefix and after middleware.
func Example() {
	service, remove := openService(petstore.Options{})
	defer remove()
	key, err := service.Keys().Create(context.Background(), "example", 0)
	if err != nil {
		fmt.Println(err)
		return
	}

	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Team", "animals") })
	if err := service.Mount(engine.Group("/shop/v1")); err != nil {
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

// The document has the title and the authentication of the host, and the address of the API relative
// to its own.
func Example_documentation() {
	service, remove := openService(petstore.Options{
		Authenticate: func(c *gin.Context) (string, error) { return c.Cookie("session") },
		Document: docs.Options{
			Title:          "Animals of the shop",
			SecurityScheme: map[string]any{"type": "apiKey", "in": "cookie", "name": "session"},
		},
	})
	defer remove()

	engine := gin.New()
	if err := service.Mount(engine.Group("/shop/v1")); err != nil {
		fmt.Println(err)
		return
	}
	if err := swagger.Mount(engine.Group("/shop/docs"), service); err != nil {
		fmt.Println(err)
		return
	}

	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "https://pets.example/shop/docs/openapi.json", http.NoBody))
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.Contains(line, `"title": "Animals`) || strings.Contains(line, `"url": ".`) || strings.Contains(line, "session") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Output:
	// "title": "Animals of the shop",
	// "url": "../v1"
	// "name": "session",
}

// Replace API keys by sessions of the host. Its middleware stores who the user is, and the
// Authenticator decides in the error format of the API. The name that it returns is logged as the
// caller and scopes idempotency keys.
func ExampleOptions_authenticate() {
	service, remove := openService(petstore.Options{Authenticate: authenticate})
	defer remove()

	users := map[string]string{"a-secret-session": "user 42", "another-session": "guest"}
	signIn := func(c *gin.Context) {
		session, _ := c.Cookie("session")
		c.Set("user", users[session])
	}
	engine := gin.New()
	if err := service.Mount(engine.Group("/v1"), signIn); err != nil {
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

// authenticate lets users of the host use the API, and guests only read.
func authenticate(c *gin.Context) (caller string, err error) {
	user := c.GetString("user")
	if user == "" {
		return "", domain.Unauthenticated("sign in first")
	}
	if user == "guest" && !rest.IsSafe(c.Request.Method) {
		return user, domain.Forbidden("guests may only read")
	}
	return user, nil
}

// Send the error format of the API for unknown paths and unsupported methods of the engine.
func ExampleService_API() {
	service, remove := openService(petstore.Options{})
	defer remove()

	engine := gin.New()
	if err := service.Mount(engine.Group("/shop/v1")); err != nil {
		fmt.Println(err)
		return
	}
	engine.HandleMethodNotAllowed = true
	engine.NoRoute(rest.NotFound)
	engine.NoMethod(service.API().MarkDeprecated, rest.MethodNotAllowed)

	printResponse(engine, httptest.NewRequest(http.MethodDelete, "/shop/v1/pets/1", http.NoBody), "Allow", "Sunset")
	// Output:
	// 405 GET, HEAD, OPTIONS Thu, 05 Dec 2030 00:00:00 GMT
	// {"code":"method_not_allowed","message":"this path does not support the method DELETE, see the header Allow","status":405}
}

// openService opens a service with a store in a temporary directory. remove closes and deletes it.
func openService(o petstore.Options) (service *petstore.Service, remove func()) {
	dir, err := os.MkdirTemp("", "petstore")
	if err != nil {
		panic(err)
	}
	o.Store = sqlite.New(filepath.Join(dir, "pets.db"))
	service, err = petstore.New(context.Background(), o)
	if err != nil {
		panic(err)
	}
	return service, func() { service.Close(); os.RemoveAll(dir) }
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
