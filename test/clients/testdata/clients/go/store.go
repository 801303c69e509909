package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

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

// addPet adds an animal. While the service is not available, it repeats the request until ctx ends: requests with the same
// idempotencyKey add one animal. So addPet may also be called again after any error.
func addPet(ctx context.Context, api *petstore.ClientWithResponses, idempotencyKey string, pet petstore.NewPet) (*petstore.Pet, error) {
	for {
		response, err := api.CreatePetWithResponse(ctx, &petstore.CreatePetParams{IdempotencyKey: &idempotencyKey}, pet)
		switch {
		case err != nil:
			return nil, err
		case response.JSON201 != nil:
			return response.JSON201, nil
		case response.StatusCode() != http.StatusServiceUnavailable: // a proxy may send it without JSON
			return nil, errorOf(response.Body)
		}
		time.Sleep(time.Second)
	}
}

// correctPet corrects an animal with the patch that change returns for it. If the animal was changed meanwhile, it
// begins again.
func correctPet(
	ctx context.Context, api *petstore.ClientWithResponses, id int64, change func(petstore.Pet) petstore.PetPatch,
) (*petstore.Pet, error) {
	for {
		found, err := api.UpdatePetWithResponse(ctx, id, nil, petstore.PetPatch{}) // changes nothing
		if err != nil {
			return nil, err
		}
		if found.JSON200 == nil {
			return nil, errorOf(found.Body)
		}
		unchanged := &petstore.UpdatePetParams{IfMatch: found.Headers200.ETag}
		switch corrected, err := api.UpdatePetWithResponse(ctx, id, unchanged, change(*found.JSON200)); {
		case err != nil:
			return nil, err
		case corrected.JSON200 != nil:
			return corrected.JSON200, nil
		case corrected.JSON412 == nil:
			return nil, errorOf(corrected.Body)
		}
	}
}

// removePet removes an animal. It may be called again after any error.
func removePet(ctx context.Context, api *petstore.ClientWithResponses, id int64) error {
	response, err := api.DeletePetWithResponse(ctx, id, nil)
	if err != nil || response.StatusCode() == http.StatusNoContent || response.JSON404 != nil && response.JSON404.Code == "pet_not_found" {
		return err
	}
	return errorOf(response.Body)
}

// errorOf returns the error in the body of an error response.
func errorOf(body []byte) error {
	var apiError petstore.Error
	if err := json.Unmarshal(body, &apiError); err != nil {
		return err
	}
	return apiError
}

// allPets reads all pages by following the header Link.
func allPets(ctx context.Context, api *petstore.ClientWithResponses, query petstore.ListPetsParams) ([]petstore.Pet, error) {
	var pets []petstore.Pet
	for link := ""; ; {
		page, err := api.ListPetsWithResponse(ctx, &query, follow(link))
		if err != nil {
			return nil, err
		}
		if page.JSON200 == nil {
			return nil, errorOf(page.Body)
		}
		pets = append(pets, *page.JSON200...)
		if page.Headers200.Link == nil {
			return pets, nil
		}
		link = *page.Headers200.Link
	}
}

// follow sends a request to the target of a Link header such as <?after=20>; rel="next".
func follow(link string) petstore.RequestEditorFn {
	return func(_ context.Context, request *http.Request) (err error) {
		reference, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		request.URL, err = request.URL.Parse(reference)
		return err
	}
}

// A Copy is a copy of the catalogue. An update makes it exact.
type Copy struct {
	Pets     map[int64]petstore.Pet
	position int64 // 0 before the animals are read
}

// update applies the changes since the last update. The first update reads all animals. So does an
// update whose changes are not kept any more.
func (c *Copy) update(ctx context.Context, api *petstore.ClientWithResponses) error {
	for {
		if c.position == 0 {
			if err := c.read(ctx, api); err != nil {
				return err
			}
		}
		page, err := api.ListChangesWithResponse(ctx, &petstore.ListChangesParams{After: &c.position, Limit: new(100)})
		switch {
		case err != nil:
			return err
		case page.JSON410 != nil:
			c.position = 0
			time.Sleep(time.Second) // in case it happens again
			continue
		case page.JSON200 == nil:
			return errorOf(page.Body)
		}
		for _, change := range *page.JSON200 {
			switch {
			case change.Type == "pet.removed":
				delete(c.Pets, change.Pet.Id)
			case change.Pet != nil:
				c.Pets[change.Pet.Id] = *change.Pet
			}
			c.position = change.Seq
		}
		if len(*page.JSON200) == 0 {
			return nil
		}
	}
}

// read reads the position of the last change, and then all animals.
func (c *Copy) read(ctx context.Context, api *petstore.ClientWithResponses) error {
	first, err := api.ListPetsWithResponse(ctx, &petstore.ListPetsParams{Limit: new(1)})
	if err != nil {
		return err
	}
	if first.JSON200 == nil {
		return errorOf(first.Body)
	}
	if first.Headers200.ChangesPosition == nil {
		return errors.New("the page is stale: try again later")
	}
	pets, err := allPets(ctx, api, petstore.ListPetsParams{Limit: new(100)})
	if err != nil {
		return err
	}
	c.Pets = map[int64]petstore.Pet{}
	for _, pet := range pets {
		c.Pets[pet.Id] = pet
	}
	c.position = *first.Headers200.ChangesPosition
	return nil
}

// followChanges calls fn with each change after a position as soon as it is made, until the stream ends or fn returns an
// error. It returns the position of the last change that fn has handled: follow the changes after it again.
func followChanges(
	ctx context.Context, api *petstore.ClientWithResponses, after int64, fn func(petstore.Change) error,
) (position int64, err error) {
	response, err := api.ListChanges(ctx, &petstore.ListChangesParams{After: &after}, func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "text/event-stream")
		return nil
	})
	if err != nil {
		return after, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(response.Body)
		return after, cmp.Or(err, errorOf(body))
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var change petstore.Change
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			return after, err
		}
		if err := fn(change); err != nil {
			return after, err
		}
		after = change.Seq
	}
	return after, lines.Err()
}
