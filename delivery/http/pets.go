package http

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
)

// listPetsQuery has the parameters of listPets.
type listPetsQuery struct {
	pageQuery
	// Return only animals with this status.
	Status domain.PetStatus `form:"status" validate:"omitempty,petstatus"`
	// Return only animals of this category.
	CategoryID *int64 `form:"categoryId" format:"int64"`
}

// statusesOf returns the status of a query, nil for none.
func statusesOf[S ~string](status S) []S {
	if status == "" {
		return nil
	}
	return []S{status}
}

// filters returns the filters in canonical form.
func (q listPetsQuery) filters() (filters string) {
	if q.Status != "" {
		filters = "&status=" + string(q.Status)
	}
	if q.CategoryID != nil {
		filters += "&categoryId=" + strconv.FormatInt(*q.CategoryID, 10)
	}
	return filters
}

// listPets sends a page of the catalogue.
//
//	@Summary		List animals
//	@Description	Returns animals in ascending order of id. The Link header has the address of the next page; the last page has none.
//	@ID				listPets
//	@Tags			Pets
//	@Param			query	query	listPetsQuery	false	"page and filter"
//	@Success		200		{array}	record.Pet				"A page of animals. Send the `id` of one that is available as `petId` to placeOrder. If there is none, add one with createPet."
//	@Success		304		"Not modified"
//	@Failure		400	{object}	errorBody	"invalid_parameter"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/pets [get]
func (a *API) listPets(c *gin.Context) error {
	return a.servePage(c, "pets", func(raw string) (parsedQuery, error) {
		q, err := binding.Query[listPetsQuery](raw)
		filters := q.filters()
		return parsedQuery{q.canonical(filters, q.After), func() (*encodedPage, error) {
			page, err := a.pets.List(c.Request.Context(), domain.PetQuery{PageRequest: q.pageRequest(), Statuses: statusesOf(q.Status), CategoryID: q.CategoryID})
			if err != nil {
				return nil, err
			}
			return encodePage(page, record.PetOf, func(last domain.Pet) string { return q.canonical(filters, last.ID) })
		}}, err
	})
}

// createPet adds an animal.
//
//	@Summary		Add an animal
//	@Description	Adds an animal to the catalogue. The 201 response is sent after the animal has been written to disk. A repeated request with the same Idempotency-Key adds nothing and returns the first response.
//	@ID				createPet
//	@Tags			Pets
//	@Param			Idempotency-Key	header		string		false	"Identifies the retries of one request"
//	@Param			pet				body		record.NewPet		true	"The animal"
//	@Success		201				{object}	record.Pet			"The created animal. Send its `id` as `petId` to placeOrder."
//	@Failure		400	{object}	errorBody	"invalid_json, validation_failed, unknown_parameter, invalid_idempotency_key"
//	@Failure		409	{object}	errorBody	"idempotency_in_progress"
//	@Failure		401,403,408,413,415,422,429,500,503	{object}	errorBody
//	@Router			/pets [post]
func (a *API) createPet(c *gin.Context) error {
	body, err := bindBody[record.NewPet](c)
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
	return writeCreated(c, "./pets/"+strconv.FormatInt(created.ID, 10), record.PetOf(created), replayed)
}

// getPet sends one animal.
//
//	@Summary		Get an animal
//	@Description	Deprecated. The operation is removed on 5 December 2030 (see the headers Deprecation and Sunset); from then on the response is 410. Use listPets with `limit=1` and `after` one below the id instead: without this animal it returns the next one.
//	@ID				getPet
//	@Tags			Pets
//	@Param			petId	path		int64		true	"Identifier of the animal to return"	format(int64)
//	@Success		200		{object}	record.Pet			"The animal"
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
			Message: "this operation was removed on " + domain.GetPetSunset.Format(time.DateOnly) + ": list the pets with limit=1 and after one below the id",
		}
	}
	id, err := pathID(c, "pet", domain.CodePetNotFound)
	if err != nil {
		return err
	}
	found, err := a.pets.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return writeRecord(c, http.StatusOK, record.PetOf(found))
}
