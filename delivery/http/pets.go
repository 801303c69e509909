package http

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

type newPet struct {
	// The animal's name, not blank and without control characters or noncharacters such as U+FFFF.
	Name *string `json:"name" validate:"required,petname" minLength:"1" maxLength:"200" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID *int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status. Without it the animal has no status.
	Status *domain.PetStatus `json:"status" validate:"omitempty,petstatus" enums:"available,pending,sold" example:"available"`
} // @name NewPet

// pet returns the animal of a valid newPet.
func (n newPet) pet() domain.NewPet {
	pet := domain.NewPet{Name: *n.Name, CategoryID: *n.CategoryID}
	if n.Status != nil {
		pet.Status = *n.Status
	}
	return pet
}

type pet struct {
	// Unique identifier, assigned by the service on creation.
	ID int64 `json:"id" validate:"required" format:"int64" example:"1"`
	// The animal's name.
	Name string `json:"name" validate:"required" minLength:"1" maxLength:"200" example:"Rex"`
	// Identifier of the category the animal belongs to.
	CategoryID int64 `json:"categoryId" validate:"required" format:"int64" example:"7"`
	// Availability status, absent if the animal has none.
	Status domain.PetStatus `json:"status,omitzero" enums:"available,pending,sold" example:"available"`
} // @name Pet

func petOf(p domain.Pet) pet {
	return pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

// listPetsQuery has the parameters of listPets.
type listPetsQuery struct {
	pageQuery
	// Return only animals with this status.
	Status domain.PetStatus `form:"status" validate:"omitempty,petstatus" enums:"available,pending,sold"`
}

// filters returns the filters in canonical form.
func (q listPetsQuery) filters() string {
	if q.Status == "" {
		return ""
	}
	return "&status=" + string(q.Status)
}

// listPets sends a page of the catalogue.
//
//	@Summary		List animals
//	@Description	Returns animals in ascending order of id. The Link header has the address of the next page; the last page has none.
//	@ID				listPets
//	@Tags			Pets
//	@Param			query	query	listPetsQuery	false	"page and filter"
//	@Success		200		{array}	pet				"A page of animals"
//	@Router			/pets [get]
func (a *API) listPets(c *gin.Context) error {
	return a.servePage(c, "pets", func(raw string) (parsedQuery, error) {
		q, err := bindQuery[listPetsQuery](raw)
		filters := q.filters()
		return parsedQuery{q.canonical(filters, q.After), func() (*encodedPage, error) {
			page, err := a.pets.List(c.Request.Context(), domain.PetQuery{PageRequest: q.pageRequest(), Status: q.Status})
			if err != nil {
				return nil, err
			}
			return encodePage(page, petOf, func(last domain.Pet) string { return q.canonical(filters, last.ID) })
		}}, err
	})
}

// createPet adds an animal.
//
//	@Summary		Add an animal
//	@Description	Adds an animal to the catalogue. The 201 response is sent after the animal has been written to disk. A repeated request with the same Idempotency-Key adds nothing and returns the first response.
//	@ID				createPet
//	@Tags			Pets
//	@Param			Idempotency-Key	header		string		false	"Identifies the retries of one request"	minlength(1)	maxlength(255)
//	@Param			pet				body		newPet		true	"The animal"
//	@Success		201				{object}	pet			"The created animal"
//	@Header			201				{string}	Location	"The URL of the animal, relative to that of the request"
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
	created, replayed, err := a.pets.Create(c.Request.Context(), body.pet(), key)
	if err != nil {
		return err
	}
	return writeCreated(c, "./pets/"+strconv.FormatInt(created.ID, 10), petOf(created), replayed)
}

// getPet sends one animal.
//
//	@Summary		Get an animal
//	@Description	List the animals with a status filter instead.
//	@ID				getPet
//	@Tags			Pets
//	@Param			petId	path		int64		true	"Identifier of the animal to return"	format(int64)
//	@Success		200		{object}	pet			"The animal"
//	@Failure		404		{object}	errorBody	"pet_not_found"
//	@Deprecated
//	@Router			/pets/{petId} [get]
func (a *API) getPet(c *gin.Context) error {
	id, err := pathID(c, "pet", domain.CodePetNotFound)
	if err != nil {
		return err
	}
	found, err := a.pets.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return writeRecord(c, http.StatusOK, petOf(found))
}
