package modeltest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// An operation is a request of a caller to a process, and what the model does.
type operation struct {
	process, caller    int // caller is the index of its API key
	method, path, body string
	idempotencyKey     string
	invalid            bool                              // whether its values are
	apply              func(m *model, id int64) response // id is that of a new record
}

func (o operation) String() string {
	return strings.TrimSpace(fmt.Sprintf("process %d, caller %d: %s %s %s %s", o.process, o.caller, o.method, o.path, o.body, o.idempotencyKey))
}

var draws = map[string]func(*rapid.T, *model) operation{
	"add pet": drawAddPet, "get pet": drawGetPet, "list pets": drawListPets,
	"place order": drawPlaceOrder, "get order": drawGetOrder, "end order": drawEndOrder, "list orders": drawListOrders,
}

// drawOperation draws an operation on records of m, or on ones that do not exist.
func drawOperation(t *rapid.T, m *model, processes int) operation {
	o := draws[rapid.SampledFrom(slices.Sorted(maps.Keys(draws))).Draw(t, "operation")](t, m)
	o.process, o.caller = drawIndex(t, "process", processes), drawIndex(t, "caller", len(m.keys))
	return o
}

func drawAddPet(t *rapid.T, _ *model) operation {
	pet := domain.NewPet{
		Name:       rapid.SampledFrom([]string{"Rex", "Tom", "é\"\\<>&\u2028", ""}).Draw(t, "name"),
		CategoryID: rapid.SampledFrom([]int64{0, 7, -1 << 63, 1<<63 - 1}).Draw(t, "category"),
		Status:     drawPetStatus(t),
	}
	body := map[string]any{"name": pet.Name, "categoryId": pet.CategoryID}
	if pet.Status != "" {
		body["status"] = pet.Status
	}
	return operation{
		method: http.MethodPost, path: "/v1/pets", body: encode(body), idempotencyKey: drawIdempotencyKey(t), invalid: pet.Name == "",
		apply: func(m *model, id int64) response { return m.addPet(pet, id) },
	}
}

func drawGetPet(t *rapid.T, m *model) operation {
	id := drawPetID(t, m)
	return operation{
		method: http.MethodGet, path: fmt.Sprint("/v1/pets/", id),
		apply: func(m *model, _ int64) response { return m.getPet(id) },
	}
}

func drawListPets(t *rapid.T, _ *model) operation {
	return listPets(drawPetStatus(t), rapid.IntRange(0, 3).Draw(t, "limit"), rapid.Int64Range(0, 3).Draw(t, "after"))
}

func listPets(status domain.PetStatus, limit int, after int64) operation {
	path := fmt.Sprintf("/v1/pets?limit=%d&after=%d", limit, after)
	if status != "" {
		path += "&status=" + string(status)
	}
	return operation{method: http.MethodGet, path: path, apply: func(m *model, _ int64) response {
		return page(m.pets, limit, func(p domain.Pet) bool { return p.ID > after && (status == "" || p.Status == status) }, petJSON)
	}}
}

func drawPlaceOrder(t *rapid.T, m *model) operation {
	petID := drawPetID(t, m)
	return operation{
		method: http.MethodPost, path: "/v1/store/orders", body: encode(map[string]any{"petId": petID}), idempotencyKey: drawIdempotencyKey(t),
		apply: func(m *model, id int64) response { return m.placeOrder(petID, id) },
	}
}

func drawGetOrder(t *rapid.T, m *model) operation {
	id := drawOrderID(t, m)
	return operation{
		method: http.MethodGet, path: fmt.Sprint("/v1/store/orders/", id),
		apply: func(m *model, _ int64) response { return m.getOrder(id) },
	}
}

func drawEndOrder(t *rapid.T, m *model) operation {
	id := drawOrderID(t, m)
	verb, to, petTo := "deliver", domain.OrderDelivered, domain.PetSold
	if rapid.Bool().Draw(t, "cancel") {
		verb, to, petTo = "cancel", domain.OrderCancelled, domain.PetAvailable
	}
	return operation{
		method: http.MethodPost, path: fmt.Sprintf("/v1/store/orders/%d/%s", id, verb),
		apply: func(m *model, _ int64) response { return m.endOrder(id, to, petTo) },
	}
}

func drawListOrders(t *rapid.T, m *model) operation {
	limit, petID := rapid.IntRange(1, 3).Draw(t, "limit"), drawPetID(t, m)
	return operation{
		method: http.MethodGet, path: fmt.Sprintf("/v1/store/orders?limit=%d&petId=%d", limit, petID),
		apply: func(m *model, _ int64) response {
			return page(m.orders, limit, func(o domain.Order) bool { return o.PetID == petID }, orderJSON)
		},
	}
}

func drawPetStatus(t *rapid.T) domain.PetStatus {
	return rapid.SampledFrom([]domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold}).Draw(t, "status")
}

func drawIdempotencyKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "Idempotency-Key")
}

// drawPetID draws the id of an animal, or one that does not exist.
func drawPetID(t *rapid.T, m *model) int64 {
	i := drawIndex(t, "pet", len(m.pets)+1)
	if i < len(m.pets) {
		return m.pets[i].ID
	}
	return 1 << 40
}

// drawOrderID draws the id of an order, or one that does not exist.
func drawOrderID(t *rapid.T, m *model) int64 {
	i := drawIndex(t, "order", len(m.orders)+1)
	if i < len(m.orders) {
		return m.orders[i].ID
	}
	return 1 << 40
}

func drawIndex(t *rapid.T, name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }

// drawDuration draws one of the durations about which the service makes a difference.
func drawDuration(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Millisecond, port.IdempotencyTTL - time.Millisecond, port.IdempotencyTTL}).Draw(t, "duration")
}
