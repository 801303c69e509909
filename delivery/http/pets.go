package http

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

type newPet struct {
	// The animal's name: not blank, no control characters.
	Name *string `json:"name" validate:"required,petname" minLength:"1" maxLength:"200" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID *int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status; left out, the animal has none.
	Status *domain.PetStatus `json:"status" validate:"omitempty,petstatus" enums:"available,pending,sold" example:"available"`
} // @name NewPet

type pet struct {
	// Unique identifier, assigned by the service on creation.
	ID int64 `json:"id" validate:"required" format:"int64" example:"2"`
	// The animal's name.
	Name string `json:"name" validate:"required" minLength:"1" maxLength:"200" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status; absent when the animal has none.
	Status domain.PetStatus `json:"status,omitzero" enums:"available,pending,sold" example:"available"`
} // @name Pet

func petOf(p domain.Pet) pet {
	return pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

type listPetsQuery struct {
	pageQuery
	// Only animals with this status.
	Status domain.PetStatus `form:"status" validate:"omitempty,petstatus" enums:"available,pending,sold"`
}

func (q listPetsQuery) behind(after int64) string {
	filters := ""
	if q.Status != "" {
		filters = "&status=" + string(q.Status)
	}
	return q.normal(filters, after)
}

// listPets answers a page of the catalogue.
//
//	@Summary		List animals
//	@Description	The animals of the catalogue in the order in which they were added. While there are more, the header Link leads to the next page.
//	@ID				listPets
//	@Tags			Pets
//	@Param			query	query	listPetsQuery	false	"page and filter"
//	@Success		200		{array}	pet				"A page of animals"
//	@Router			/pets [get]
func (a *API) listPets(c *gin.Context) error {
	return a.servePage(c, "pets", func(raw string) (parsedQuery, error) {
		q, err := bindQuery[listPetsQuery](raw)
		return parsedQuery{q.behind(q.After), func() (*encodedPage, error) {
			page, err := a.pets.List(c.Request.Context(), domain.PetQuery{PageRequest: q.request(), Status: q.Status})
			if err != nil {
				return nil, err
			}
			return encodePage(page, petOf, func(last domain.Pet) string { return q.behind(last.ID) })
		}}, err
	})
}

// createPet adds an animal.
//
//	@Summary		Add an animal
//	@Description	When the answer comes, the animal is on disk. A repetition with the same Idempotency-Key adds nothing and gets the first answer again.
//	@ID				createPet
//	@Tags			Pets
//	@Param			Idempotency-Key	header		string		false	"Marks the repetitions of one request, for 24 hours"	minlength(1)	maxlength(255)
//	@Param			pet				body		newPet		true	"The animal"
//	@Success		201				{object}	pet			"The created animal"
//	@Header			201				{string}	Location	"The animal's address, relative to that of the request"
//	@Router			/pets [post]
func (a *API) createPet(c *gin.Context) error {
	body, err := bindBody[newPet](c)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	wanted := domain.NewPet{Name: *body.Name, CategoryID: *body.CategoryID}
	if body.Status != nil {
		wanted.Status = *body.Status
	}
	added, replayed, err := a.pets.Create(c.Request.Context(), wanted, key)
	if err != nil {
		return err
	}
	return writeCreated(c, "./pets/"+strconv.FormatInt(added.ID, 10), petOf(added), replayed)
}

// getPet answers one animal.
//
//	@Summary		Get an animal
//	@Description	To be removed on 5 December 2030, as the headers Deprecation and Sunset tell; from then on it answers 410. Use the list of animals with a status.
//	@ID				getPet
//	@Tags			Pets
//	@Param			petId	path		int64		true	"Identifier of the animal to return"	format(int64)
//	@Success		200		{object}	pet			"The animal"
//	@Failure		404		{object}	errorBody	"pet_not_found"
//	@Deprecated
//	@Router			/pets/{petId} [get]
func (a *API) getPet(c *gin.Context) error {
	id, ok := parseInt64(c.Param("petId"))
	if !ok {
		return notFoundByID("pet", domain.CodePetNotFound)
	}
	found, err := a.pets.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return writeRecord(c, http.StatusOK, petOf(found))
}
