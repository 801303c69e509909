package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"example.com/till/petstore"
)

// connect returns a client that sends the key with every request.
func connect(url, key string) (*petstore.ClientWithResponses, error) {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	return petstore.NewClientWithResponses(url+"/v1", petstore.WithRequestEditorFn(authorize))
}

// addPet may be called again after any failure: the same once adds one animal.
func addPet(ctx context.Context, api *petstore.ClientWithResponses, once string, pet petstore.NewPet) (*petstore.Pet, error) {
	answer, err := api.CreatePetWithResponse(ctx, &petstore.CreatePetParams{IdempotencyKey: &once}, pet)
	if err != nil {
		return nil, err
	}
	if answer.JSON201 == nil {
		return nil, refusal(answer.Body)
	}
	return answer.JSON201, nil
}

// refusal is what any answer tells that is not the one wished for.
func refusal(body []byte) error {
	var told petstore.Error
	if err := json.Unmarshal(body, &told); err != nil {
		return err
	}
	return told
}

// allPets follows the header Link from page to page.
func allPets(ctx context.Context, api *petstore.ClientWithResponses, query petstore.ListPetsParams) ([]petstore.Pet, error) {
	var pets []petstore.Pet
	for link := ""; ; {
		page, err := api.ListPetsWithResponse(ctx, &query, follow(link))
		if err != nil {
			return nil, err
		}
		if page.JSON200 == nil {
			return nil, refusal(page.Body)
		}
		pets = append(pets, *page.JSON200...)
		if page.Headers200.Link == nil {
			return pets, nil
		}
		link = *page.Headers200.Link
	}
}

// follow sends a request to where a Link such as <?after=20>; rel="next" leads.
func follow(link string) petstore.RequestEditorFn {
	return func(_ context.Context, request *http.Request) (err error) {
		reference, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		request.URL, err = request.URL.Parse(reference)
		return err
	}
}
