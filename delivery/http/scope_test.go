package http_test

import (
	"testing"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

func TestAuthenticatorMayAskForTheRequiredScope(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if rest.RequiredScope(c) == apikey.PetsWrite {
			return "seller", domain.Forbidden("a seller may not change the catalogue")
		}
		return "seller", nil
	}))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.expect(t, postPet(newRex), rejected(403, "forbidden", "a seller may not change the catalogue"))
	s.expect(t, request{method: "POST", path: "/v1/store/orders", body: `{"petId":1}`}, rejected(404, "pet_not_found"))
}
