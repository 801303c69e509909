// Command till calls every operation with the generated client. It exits with 1 at the
// first response that it does not expect. The store must be empty.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oapi-codegen/nullable"

	"example.com/till/petstore"
)

func main() {
	url := os.Getenv("URL")
	api := must(connect(url, os.Getenv("KEY")))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var kept Copy
	must(0, kept.update(ctx, api))
	pets := addPets(ctx, api)
	listPets(ctx, api, pets)
	getPet(ctx, api, pets[0])
	orderPets(ctx, api, pets)
	listOrders(ctx, api, pets)
	correctPets(ctx, api, pets)
	callWithoutValidKey(ctx, url)
	addWhileUnavailable(ctx)
	follow5Changes(ctx, api, kept.position)
	for _, position := range []int64{kept.position, 1} { // the changes after 1 are not kept
		kept.position = position
		must(0, kept.update(ctx, api))
		want(asJSON(values(kept.Pets)), asJSON(must(allPets(ctx, api, petstore.ListPetsParams{}))))
	}
}

func asJSON(pets []petstore.Pet) string { return string(must(json.Marshal(pets))) }

// values returns the values of a map in the order of its keys.
func values(pets map[int64]petstore.Pet) (sorted []petstore.Pet) {
	for _, id := range slices.Sorted(maps.Keys(pets)) {
		sorted = append(sorted, pets[id])
	}
	return sorted
}

// addPets adds Rex, repeats that with the same idempotency key, and adds three more in one request.
func addPets(ctx context.Context, api *petstore.ClientWithResponses) []petstore.Pet {
	rex := petstore.NewPet{Name: "Rex", CategoryId: math.MaxInt64, Status: new(petstore.PetStatusAvailable)}
	pets := []petstore.Pet{*must(addPet(ctx, api, "rex-1", rex))}
	want(pets[0].Name, "Rex")
	want(pets[0].CategoryId, math.MaxInt64)
	want(*pets[0].Status, petstore.PetStatusAvailable)

	replayed := wantStatus(api.CreatePetWithResponse(ctx, &petstore.CreatePetParams{IdempotencyKey: new("rex-1")}, rex))(http.StatusCreated)
	want(replayed.JSON201.Id, pets[0].Id)
	want(*replayed.Headers201.IdempotencyReplayed, true)
	want(*replayed.Headers201.Location, "./pets/1")

	_, err := addPet(ctx, api, "rex-1", petstore.NewPet{Name: "Max", CategoryId: 7})
	wantCode(err, "idempotency_key_reused")
	_, err = addPet(ctx, api, "nameless", petstore.NewPet{CategoryId: 7})
	wantCode(err, "validation_failed")

	others := []petstore.NewPet{
		{Name: "Tom", CategoryId: 3, Status: new(petstore.PetStatusAvailable)},
		{Name: "Mia", CategoryId: math.MinInt64},
		{Name: "Ute", CategoryId: 0, Status: new(petstore.PetStatusSold)},
	}
	added := wantStatus(api.CreatePetsWithResponse(ctx, nil, others))(http.StatusCreated)
	for i, pet := range *added.JSON201 {
		want(pet.CategoryId, others[i].CategoryId)
		want(pet.Status == nil, others[i].Status == nil)
	}
	want(added.Headers201.IdempotencyReplayed == nil, true)
	return append(pets, *added.JSON201...)
}

func listPets(ctx context.Context, api *petstore.ClientWithResponses, pets []petstore.Pet) {
	want(names(must(allPets(ctx, api, petstore.ListPetsParams{Limit: new(3)}))), names(pets))
	available := &[]petstore.PetFilter{petstore.PetFilterAvailable, petstore.PetFilterNone}
	want(names(must(allPets(ctx, api, petstore.ListPetsParams{Limit: new(1), Status: available}))), "Rex Tom Mia ")
	ids := &[]int64{pets[0].Id, pets[3].Id, 99}
	want(names(must(allPets(ctx, api, petstore.ListPetsParams{Id: ids, Sort: new(petstore.Newest)}))), "Ute Rex ")
	afterTom := wantStatus(api.ListPetsWithResponse(ctx, &petstore.ListPetsParams{After: &pets[1].Id}))(http.StatusOK)
	want(names(*afterTom.JSON200), "Mia Ute ")

	cached := petstore.ListPetsParams{IfNoneMatch: afterTom.Headers200.ETag, After: &pets[1].Id}
	unchanged := wantStatus(api.ListPetsWithResponse(ctx, &cached))(http.StatusNotModified)
	want(unchanged.JSON200 == nil, true)
	want(*unchanged.Headers304.ETag, *cached.IfNoneMatch)

	_, err := allPets(ctx, api, petstore.ListPetsParams{Limit: new(101)})
	wantCode(err, "invalid_parameter")
}

func getPet(ctx context.Context, api *petstore.ClientWithResponses, rex petstore.Pet) {
	found := wantStatus(api.GetPetWithResponse(ctx, rex.Id, nil))(http.StatusOK)
	want(found.JSON200.Name, rex.Name)
	want(found.JSON200.CategoryId, rex.CategoryId)
	want(*found.Headers200.Deprecation, "@1764892800")
	want(*found.Headers200.Sunset, "Thu, 05 Dec 2030 00:00:00 GMT")
	missing := wantStatus(api.GetPetWithResponse(ctx, math.MaxInt64, nil))(http.StatusNotFound)
	want(missing.JSON404.Code, "pet_not_found")
	want(missing.JSON404.Status, http.StatusNotFound)
}

// orderPets delivers an order of Rex and cancels an order of Tom.
func orderPets(ctx context.Context, api *petstore.ClientWithResponses, pets []petstore.Pet) {
	rex, tom := petstore.NewOrder{PetId: pets[0].Id}, petstore.NewOrder{PetId: pets[1].Id}
	params := &petstore.PlaceOrderParams{IdempotencyKey: new("sell-rex")}
	placed := wantStatus(api.PlaceOrderWithResponse(ctx, params, rex))(http.StatusCreated).JSON201
	want(placed.PetId, rex.PetId)
	want(placed.Status, petstore.Placed)
	want(time.Since(placed.CreatedAt).Abs() < time.Minute, true)
	replayed := wantStatus(api.PlaceOrderWithResponse(ctx, params, rex))(http.StatusCreated)
	want(replayed.JSON201.Id, placed.Id)
	want(*replayed.Headers201.IdempotencyReplayed, true)

	want(wantStatus(api.PlaceOrderWithResponse(ctx, nil, rex))(http.StatusConflict).JSON409.Code, "pet_not_available")
	want(wantStatus(api.PlaceOrderWithResponse(ctx, nil, petstore.NewOrder{PetId: 99}))(http.StatusNotFound).JSON404.Code, "pet_not_found")

	want(*wantStatus(api.GetOrderWithResponse(ctx, placed.Id, nil))(http.StatusOK).JSON200, *placed)
	want(wantStatus(api.GetOrderWithResponse(ctx, 99, nil))(http.StatusNotFound).JSON404.Code, "order_not_found")

	delivered := wantStatus(api.DeliverOrderWithResponse(ctx, placed.Id))(http.StatusOK).JSON200
	want(delivered.Status, petstore.Delivered)
	want(*wantStatus(api.DeliverOrderWithResponse(ctx, placed.Id))(http.StatusOK).JSON200, *delivered)
	want(wantStatus(api.CancelOrderWithResponse(ctx, placed.Id))(http.StatusConflict).JSON409.Code, "order_state_conflict")

	second := wantStatus(api.PlaceOrderWithResponse(ctx, nil, tom))(http.StatusCreated).JSON201
	cancelled := wantStatus(api.CancelOrderWithResponse(ctx, second.Id))(http.StatusOK).JSON200
	want(cancelled.Status, petstore.Cancelled)
	want(wantStatus(api.DeliverOrderWithResponse(ctx, second.Id))(http.StatusConflict).JSON409.Code, "order_state_conflict")
	want(names(must(allPets(ctx, api, petstore.ListPetsParams{Status: &[]petstore.PetFilter{petstore.PetFilterSold}}))), "Rex Ute ")
}

func listOrders(ctx context.Context, api *petstore.ClientWithResponses, pets []petstore.Pet) {
	all := wantStatus(api.ListOrdersWithResponse(ctx, nil))(http.StatusOK)
	want(len(*all.JSON200), 2)
	params := petstore.ListOrdersParams{PetId: &pets[0].Id, Status: &[]petstore.OrderStatus{petstore.Delivered}}
	found := wantStatus(api.ListOrdersWithResponse(ctx, &params))(http.StatusOK)
	want(len(*found.JSON200), 1)
	want((*found.JSON200)[0], (*all.JSON200)[0])
	params.IfNoneMatch = found.Headers200.ETag
	wantStatus(api.ListOrdersWithResponse(ctx, &params))(http.StatusNotModified)

	first := wantStatus(api.ListOrdersWithResponse(ctx, &petstore.ListOrdersParams{Limit: new(1)}))(http.StatusOK)
	second := wantStatus(api.ListOrdersWithResponse(ctx, nil, follow(*first.Headers200.Link)))(http.StatusOK)
	want((*second.JSON200)[0], (*all.JSON200)[1])
	want(second.Headers200.Link == nil, true)
}

// correctPets corrects Mia while another client does, removes Tom, and counts the animals.
func correctPets(ctx context.Context, api *petstore.ClientWithResponses, pets []petstore.Pet) {
	mia, attempts := pets[2], 0
	corrected := must(correctPet(ctx, api, mia.Id, func(pet petstore.Pet) petstore.PetPatch {
		if attempts++; attempts == 1 {
			sold := petstore.PetPatch{Status: nullable.NewNullableWithValue(petstore.PetStatusSold)}
			wantStatus(api.UpdatePetWithResponse(ctx, mia.Id, nil, sold))(http.StatusOK)
		}
		return petstore.PetPatch{Name: new(pet.Name + " II")}
	}))
	want(attempts, 2)
	want(corrected.Name, "Mia II")
	want(*corrected.Status, petstore.PetStatusSold)
	withoutStatus := petstore.PetPatch{Status: nullable.NewNullNullable[petstore.PetStatus]()}
	want(wantStatus(api.UpdatePetWithResponse(ctx, mia.Id, nil, withoutStatus))(http.StatusOK).JSON200.Status == nil, true)

	tom := pets[1].Id
	must(0, removePet(ctx, api, tom))
	must(0, removePet(ctx, api, tom))
	wantCode(removePet(ctx, api, pets[0].Id), "pet_ordered")
	_, err := correctPet(ctx, api, tom, func(petstore.Pet) petstore.PetPatch { return petstore.PetPatch{} })
	wantCode(err, "pet_not_found")
	want(*wantStatus(api.GetInventoryWithResponse(ctx, nil))(http.StatusOK).JSON200, petstore.Inventory{None: 1, Sold: 2, Total: 3})

	const dogs = 7
	wantStatus(api.PutCategoryWithResponse(ctx, dogs, petstore.CategoryName{Name: "Dogs"}))(http.StatusOK)
	after := int64(dogs - 1)
	listed := *wantStatus(api.ListCategoriesWithResponse(ctx, &petstore.ListCategoriesParams{After: &after}))(http.StatusOK).JSON200
	want(*listed[0].Name, "Dogs")
	want(listed[0].Total, 0)
	wantStatus(api.DeleteCategoryWithResponse(ctx, dogs))(http.StatusNoContent)
}

// callWithoutValidKey sends requests without an API key and with an invalid one.
func callWithoutValidKey(ctx context.Context, url string) {
	withoutKey := must(petstore.NewClientWithResponses(url + "/v1"))
	missing := wantStatus(withoutKey.ListPetsWithResponse(ctx, nil))(http.StatusUnauthorized)
	want(missing.JSON401.Code, "missing_api_key")
	want(*missing.Headers401.WWWAuthenticate, `Bearer realm="petstore"`)
	withInvalidKey := must(connect(url, "petstore_none"))
	invalid := wantStatus(withInvalidKey.CreatePetWithResponse(ctx, nil, petstore.NewPet{Name: "Rex", CategoryId: 7}))(http.StatusUnauthorized)
	want(invalid.JSON401.Code, "invalid_api_key")
}

// names returns the names of the pets, each followed by a space.
func names(pets []petstore.Pet) (names string) {
	for _, pet := range pets {
		names += pet.Name + " "
	}
	return names
}

// addWhileUnavailable adds an animal to a service that is not available for the first request.
func addWhileUnavailable(ctx context.Context) {
	var keys []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":"unavailable","message":"try again","status":503}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":7,"name":"Rex","categoryId":1}`)
	}))
	defer service.Close()
	want(must(addPet(ctx, must(connect(service.URL, "")), "rex", petstore.NewPet{Name: "Rex", CategoryId: 1})).Id, 7)
	want(strings.Join(keys, " "), "rex rex")
}

// follow5Changes follows the first five changes after a position, and begins again after the third.
func follow5Changes(ctx context.Context, api *petstore.ClientWithResponses, position int64) {
	var followed []petstore.Change
	enough := errors.New("enough")
	for _, stop := range []int{3, 5} {
		var err error
		position, err = followChanges(ctx, api, position, func(change petstore.Change) error {
			if len(followed) == stop {
				return enough
			}
			followed = append(followed, change)
			return nil
		})
		want(errors.Is(err, enough), true)
		want(position, followed[stop-1].Seq)
	}
	page := wantStatus(api.ListChangesWithResponse(ctx, &petstore.ListChangesParams{After: new(followed[0].Seq - 1), Limit: new(5)}))(http.StatusOK)
	want(string(must(json.Marshal(followed))), string(must(json.Marshal(*page.JSON200))))
	_, err := followChanges(ctx, api, 1, nil)
	wantCode(err, "changes_expired")
}
