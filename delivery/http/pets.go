package http

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

// listPetsQuery has the parameters of listPets.
type listPetsQuery struct {
	pageQuery
	// Return only animals with one of these statuses, `none` is an animal without one. Separate several by commas, or repeat the parameter.
	Status []string `form:"status" validate:"omitempty,unique,dive,petfilter" enums:"available,pending,sold,none"`
	// Return only animals whose name contains this text, whatever the case. A page with fewer than `limit` animals, or
	// none, may have a Link: the search goes on there.
	Q string `form:"q" validate:"omitempty,petname" minLength:"1" maxLength:"200"`
	// Return only animals of this category.
	CategoryID *int64 `form:"categoryId" format:"int64"`
	// Return the animals with these ids, 1 to 100, separated as statuses are. They are one page: `limit` and `after` have no effect.
	ID []int64 `form:"id" validate:"omitempty,max=100,unique,dive,min=1" format:"int64"`
}

func (q listPetsQuery) key() string { return q.next(q.pageRequest().After) }

// pageRequest returns the page of a query. The page of a query with ids has all animals with these ids.
func (q listPetsQuery) pageRequest() domain.PageRequest {
	if len(q.ID) > 0 {
		q.pageQuery = pageQuery{Limit: int64(len(q.ID)), Sort: q.Sort}
	}
	return q.pageQuery.pageRequest()
}

func (q listPetsQuery) next(after int64) string {
	q.Limit = int64(q.pageRequest().Limit)
	filters := parameter("status", q.Status...) + parameter("categoryId", optional(q.CategoryID)...) + parameter("id", q.ID...)
	if q.Q != "" {
		filters += "&q=" + url.QueryEscape(q.Q)
	}
	return q.canonical(filters, after)
}

// petQuery returns the query of the use case.
func (q listPetsQuery) petQuery() domain.PetQuery {
	query := domain.PetQuery{PageRequest: q.pageRequest(), CategoryID: q.CategoryID, IDs: q.ID, Text: q.Q}
	for _, status := range q.Status {
		query.Statuses = append(query.Statuses, domain.PetStatus(strings.TrimPrefix(status, binding.NoStatus)))
	}
	return query
}

// listPets sends a page of the catalogue.
//
//	@Summary		List animals
//	@Description	Returns animals in ascending order of id, with `sort=-id` newest first. The Link header has the address of the next page; the
//	@Description	last page has none.
//	@ID				listPets
//	@Tags			Pets
//	@Param			query	query	listPetsQuery	false	"page and filters"
//	@Success		200		{array}	record.Pet				"A page of animals. Send the `id` of one that is available as `petId` to `POST /store/orders`."
//	@Success		304		"Page not modified"
//	@Failure		400	{object}	errorBody	"invalid_parameter"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/pets [get]
func (a *API) listPets(c *gin.Context) error {
	return serveQuery(a, c, "pets", func(ctx context.Context, q listPetsQuery) (*encodedPage, error) {
		page, err := a.pets.List(ctx, q.petQuery())
		if err != nil {
			return nil, err
		}
		return encodePage(page, record.PetOf, q)
	})
}

// createPet adds an animal.
//
//	@Summary		Add an animal
//	@Description	Adds an animal to the catalogue. The 201 response is sent after the animal has been written to disk. A repeated request with
//	@Description	the same Idempotency-Key adds nothing and returns the first response. Members that an animal does not have are ignored, unless
//	@Description	their names are nearly right. A null as `status` is as if left out.
//	@ID				createPet
//	@Tags			Pets
//	@Param			Idempotency-Key	header		string		false	"Identifies the retries of one request"
//	@Param			pet				body		record.NewPet		true	"The animal"
//	@Success		201				{object}	record.Pet			"The created animal. Send its `id` as `petId` to `POST /store/orders`."
//	@Failure		400	{object}	errorBody	"invalid_json, validation_failed, unknown_parameter, invalid_idempotency_key"
//	@Failure		401,403,408,413,415,422,429,500,503	{object}	errorBody
//	@Router			/pets [post]
func (a *API) createPet(c *gin.Context) error {
	body, err := bindBody(c, binding.JSON[record.NewPet])
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	created, replayed, err := a.pets.Create(c.Request.Context(), body.Pet(), key)
	if err != nil {
		return err
	}
	setReplayed(c, replayed)
	c.Header("Location", "./pets/"+strconv.FormatInt(created.ID, 10))
	logRecord(c, !replayed, created.ID)
	return writePet(c, http.StatusCreated, created)
}

// createPets adds several animals.
//
//	@Summary		Add many animals
//	@Description	Adds 1 to 100 animals in the order of the request, all or none. The 201 response is sent after all have been written to disk.
//	@Description	In an error, [0] is the first animal of the request and [1] the second.
//	@Description	A repeated request with the same Idempotency-Key adds nothing and returns the first response.
//	@ID				createPets
//	@Tags			Pets
//	@Param			Idempotency-Key	header		string		false	"Identifies the retries of one request"
//	@Param			pets			body		[]record.NewPet		true	"The animals"
//	@Success		201				{array}		record.Pet			"The created animals, in the order of the request"
//	@Failure		400	{object}	errorBody	"invalid_json, validation_failed, unknown_parameter, invalid_idempotency_key"
//	@Failure		401,403,408,413,415,422,429,500,503	{object}	errorBody
//	@Router			/pets/batch [post]
func (a *API) createPets(c *gin.Context) error {
	news, err := bindBody(c, binding.JSONArray[record.NewPet])
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	pets := make([]domain.NewPet, len(news))
	for i, pet := range news {
		pets[i] = pet.Pet()
	}
	created, replayed, err := a.pets.CreateAll(c.Request.Context(), pets, key)
	if err != nil {
		return err
	}
	body, err := record.EncodeAll(created, record.PetOf)
	if err != nil {
		return err
	}
	for _, pet := range created {
		logRecord(c, !replayed, pet.ID)
	}
	setReplayed(c, replayed)
	writeBody(c, http.StatusCreated, body)
	return nil
}

// getPet sends one animal.
//
//	@Summary		Get an animal
//	@Description	Deprecated. The operation is removed on 5 December 2030 (see the headers Deprecation and Sunset): from then on it responds with
//	@Description	the status 410. Use `GET /pets?id=` instead.
//	@ID				getPet
//	@Tags			Pets
//	@Param			petId	path		int64		true	"Identifier of the animal to return"	format(int64)
//	@Success		200		{object}	record.Pet			"The animal"
//	@Success		304		"Not modified"
//	@Failure		400		{object}	errorBody	"unknown_parameter"
//	@Failure		404		{object}	errorBody	"pet_not_found"
//	@Failure		410		{object}	errorBody	"operation_removed"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Deprecated
//	@Router			/pets/{petId} [get]
func (a *API) getPet(c *gin.Context) error {
	if !a.now().Before(domain.GetPetSunset) {
		return &domain.Error{
			Kind: domain.ErrExpired, Code: codeOperationRemoved,
			Message: "this operation was removed on " + domain.GetPetSunset.Format(time.DateOnly) + ": list the pets with the parameter id",
		}
	}
	return serveRecord(a, c, "pet", domain.CodePetNotFound, func(ctx context.Context, id int64) (domain.Page[domain.Pet], error) {
		return a.pets.List(ctx, domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}, IDs: []int64{id}})
	}, record.PetOf)
}

// updatePet corrects an animal.
//
//	@Summary		Correct an animal
//	@Description	Changes the members that the request has (JSON Merge Patch): `name` and `categoryId` can be replaced, `status` can be replaced
//	@Description	or, with null, removed. The status of an animal that is ordered or sold by an order cannot be changed. With `If-Match` the
//	@Description	animal is changed only if it still has that ETag. Members that an animal does not have are ignored, unless their names are
//	@Description	nearly right.
//	@ID				updatePet
//	@Tags			Pets
//	@Param			petId		path		int64			true	"Identifier of the animal to correct"	format(int64)
//	@Param			If-Match	header		string			false	"The ETag of the animal, from POST, PATCH or `GET /pets?id=`"
//	@Param			patch		body		record.PetPatch	true	"The members to change"
//	@Success		200			{object}	record.Pet		"The animal as it is now"
//	@Failure		400			{object}	errorBody	"invalid_json, validation_failed, unknown_parameter"
//	@Failure		404			{object}	errorBody	"pet_not_found"
//	@Failure		409			{object}	errorBody	"pet_ordered"
//	@Failure		412			{object}	errorBody	"precondition_failed"
//	@Failure		401,403,408,413,415,429,500,503	{object}	errorBody
//	@Router			/pets/{petId} [patch]
func (a *API) updatePet(c *gin.Context) error {
	patch, err := bindBody(c, binding.JSON[record.PetPatch], mergePatch)
	if err != nil {
		return err
	}
	id, err := pathID(c, "pet", domain.CodePetNotFound)
	if err != nil {
		return err
	}
	updated, changed, err := a.pets.Update(c.Request.Context(), id, patch.Patch(), ifMatch(c))
	if err != nil {
		return err
	}
	logRecord(c, changed, updated.ID)
	return writePet(c, http.StatusOK, updated)
}

// deletePet removes an animal.
//
//	@Summary		Remove an animal
//	@Description	Removes an animal for good: no other one gets its id. An animal with an order that is placed or delivered cannot be removed;
//	@Description	cancelled orders remain. With `If-Match` the animal is removed only if it still has that ETag.
//	@ID				deletePet
//	@Tags			Pets
//	@Param			petId		path	int64	true	"Identifier of the animal to remove"	format(int64)
//	@Param			If-Match	header	string	false	"The ETag of the animal, from POST, PATCH or `GET /pets?id=`"
//	@Success		204			"The animal is removed"
//	@Failure		400			{object}	errorBody	"unknown_parameter"
//	@Failure		404			{object}	errorBody	"pet_not_found"
//	@Failure		409			{object}	errorBody	"pet_ordered"
//	@Failure		412			{object}	errorBody	"precondition_failed"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/pets/{petId} [delete]
func (a *API) deletePet(c *gin.Context) error {
	id, err := pathID(c, "pet", domain.CodePetNotFound)
	if err != nil {
		return err
	}
	if err := a.pets.Delete(c.Request.Context(), id, ifMatch(c)); err != nil {
		return err
	}
	logRecord(c, true, id)
	c.Status(http.StatusNoContent)
	return nil
}

// inventoryQuery has the parameters of getInventory.
type inventoryQuery struct {
	// Count only animals of this category.
	CategoryID *int64 `form:"categoryId" format:"int64"`
}

func (q inventoryQuery) key() string {
	return strings.TrimPrefix(parameter("categoryId", optional(q.CategoryID)...), "&")
}

func (inventoryQuery) likelyKey(raw string) string { return raw }

// getInventory sends the numbers of animals.
//
//	@Summary		Count the animals
//	@Description	Returns how many animals have each status, and how many there are.
//	@ID				getInventory
//	@Tags			Store
//	@Param			query	query		inventoryQuery	false	"filter"
//	@Success		200		{object}	record.Inventory	"The numbers of animals"
//	@Success		304		"Not modified"
//	@Failure		400		{object}	errorBody	"invalid_parameter"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/store/inventory [get]
func (a *API) getInventory(c *gin.Context) error {
	return serveQuery(a, c, "inventory", func(ctx context.Context, q inventoryQuery) (*encodedPage, error) {
		inventory, err := a.pets.Inventory(ctx, q.CategoryID)
		if err != nil {
			return nil, err
		}
		body, _ := record.InventoryOf(inventory).AppendJSON(nil) // the error is for invalid text, and an Inventory has no text
		page := newEncodedPage(body, "")
		page.grows, page.exact, page.position = true, true, inventory.Position
		return page, nil
	})
}

// writePet sends an animal that was created or changed, with its ETag.
func writePet(c *gin.Context, status int, pet domain.Pet) error {
	body, err := record.PetOf(pet).AppendJSON(make([]byte, 0, 2*record.Size))
	if err != nil {
		return err
	}
	c.Writer.Header()[headerETag] = []string{pageETag(body, "")}
	writeBody(c, status, body)
	return nil
}
