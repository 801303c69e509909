package modeltest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
)

// A model is what the service must do, in memory and for one request at a time. Records are
// in the order of their ids, API keys have their index plus one.
type model struct {
	now     time.Time
	pets    []domain.Pet
	orders  []domain.Order
	keys    []apikey.Key
	replays map[string]replay // by caller and idempotency key
}

// A replay is the response to the first request with an idempotency key.
type replay struct {
	request  string
	response response
	at       time.Time
}

func (m *model) clone() *model {
	return &model{m.now, slices.Clone(m.pets), slices.Clone(m.orders), slices.Clone(m.keys), maps.Clone(m.replays)}
}

// respond applies an operation and returns the response to it. A new record gets the id of
// the response that the service sent, if it increases the ids.
func (m *model) respond(o operation, id int64) response {
	key := m.keys[o.caller]
	if !key.Usable(m.now) {
		return failure(http.StatusUnauthorized, "invalid_api_key")
	}
	if key.ReadOnly && o.method != http.MethodGet {
		return failure(http.StatusForbidden, "forbidden")
	}
	if o.idempotencyKey == "" || o.invalid { // values are checked before the key
		return o.apply(m, id)
	}
	name, request := fmt.Sprint(o.caller, " ", o.idempotencyKey), fmt.Sprint(o.method, " ", o.path, " ", o.body)
	if earlier, found := m.replays[name]; found && m.now.Before(earlier.at.Add(port.IdempotencyTTL)) {
		if earlier.request != request {
			return failure(http.StatusUnprocessableEntity, "idempotency_key_reused")
		}
		return earlier.response
	}
	r := o.apply(m, id)
	if r.status == http.StatusCreated {
		m.replays[name] = replay{request, r, m.now}
	}
	return r
}

func (m *model) addPet(pet domain.NewPet, id int64) response {
	if pet.Name == "" {
		return failure(http.StatusBadRequest, domain.CodeValidationFailed)
	}
	if n := len(m.pets); n > 0 {
		id = max(id, m.pets[n-1].ID+1)
	}
	added := pet.WithID(id)
	m.pets = append(m.pets, added)
	return success(http.StatusCreated, petJSON(added))
}

func (m *model) getPet(id int64) response {
	if !m.now.Before(sunset) {
		return failure(http.StatusGone, "operation_removed")
	}
	pet := m.pet(id)
	if pet == nil {
		return failure(http.StatusNotFound, "pet_not_found")
	}
	return success(http.StatusOK, petJSON(*pet))
}

func (m *model) placeOrder(petID, id int64) response {
	pet := m.pet(petID)
	if pet == nil {
		return failure(http.StatusNotFound, "pet_not_found")
	}
	if pet.Status != "" && pet.Status != domain.PetAvailable {
		return failure(http.StatusConflict, "pet_not_available")
	}
	pet.Status = domain.PetPending
	if n := len(m.orders); n > 0 {
		id = max(id, m.orders[n-1].ID+1)
	}
	placed := domain.Order{ID: id, PetID: petID, Status: domain.OrderPlaced, CreatedAt: m.now, UpdatedAt: m.now}
	m.orders = append(m.orders, placed)
	return success(http.StatusCreated, orderJSON(placed))
}

// endOrder delivers or cancels an order.
func (m *model) endOrder(id int64, to domain.OrderStatus, petTo domain.PetStatus) response {
	order := m.order(id)
	if order == nil {
		return failure(http.StatusNotFound, "order_not_found")
	}
	if order.Status != domain.OrderPlaced && order.Status != to {
		return failure(http.StatusConflict, "order_state_conflict")
	}
	if order.Status == domain.OrderPlaced {
		order.Status, order.UpdatedAt = to, m.now
		m.pet(order.PetID).Status = petTo
	}
	return success(http.StatusOK, orderJSON(*order))
}

func (m *model) getOrder(id int64) response {
	order := m.order(id)
	if order == nil {
		return failure(http.StatusNotFound, "order_not_found")
	}
	return success(http.StatusOK, orderJSON(*order))
}

// pet returns the animal with an id, or nil.
func (m *model) pet(id int64) *domain.Pet {
	i, found := slices.BinarySearchFunc(m.pets, id, func(p domain.Pet, id int64) int { return cmp.Compare(p.ID, id) })
	if !found {
		return nil
	}
	return &m.pets[i]
}

// order returns the order with an id, or nil.
func (m *model) order(id int64) *domain.Order {
	i, found := slices.BinarySearchFunc(m.orders, id, func(o domain.Order, id int64) int { return cmp.Compare(o.ID, id) })
	if !found {
		return nil
	}
	return &m.orders[i]
}

// page returns the response to a request for up to limit of the selected records.
func page[T any](records []T, limit int, selected func(T) bool, toJSON func(T) map[string]any) response {
	if limit < 1 {
		return failure(http.StatusBadRequest, domain.CodeInvalidParameter)
	}
	found, more := []any{}, false
	for _, record := range records {
		if !selected(record) {
			continue
		}
		if more = len(found) == limit; more {
			break
		}
		found = append(found, toJSON(record))
	}
	r := success(http.StatusOK, found)
	r.more = more
	return r
}
