// Package http is the input of the tests of the generator.
package http

import "example.com/store/domain"

// The general part.
//
//	@title			Store
//	@version		1.0.0
//	@license.name	MIT
//	@BasePath	/v1
//	@tag.name			Pets
//	@tag.description	Animals

type newPet struct {
	// Not blank.
	Name   string            `json:"name" validate:"required" minLength:"1" maxLength:"200"`
	Status *domain.PetStatus `json:"status" enums:"available,pending,sold" example:"available"`
} // @name NewPet

type pet struct {
	ID     int64  `json:"id" validate:"required" example:"7"`
	Name   string `json:"name" validate:"required" example:"Rex"`
	Status string `json:"status,omitzero" enums:"available,pending,sold"`
} // @name Pet

type errorBody struct {
	Code    string `json:"code" validate:"required"`
	Message string `json:"message" validate:"required"`
	Status  int    `json:"status" validate:"required"`
} // @name Error

type listPetsQuery struct {
	// How many.
	Limit  int64            `form:"limit" validate:"min=1,max=100" default:"20"`
	Status domain.PetStatus `form:"status" enums:"available,pending,sold"`
}

type api struct{}

// createPet adds an animal.
//
//	@ID			createPet
//	@Summary	Add an animal
//	@Description	It is durable
//	@Tags		Pets
//	@Param		Idempotency-Key	header		string		false	"Identifies retries"
//	@Param		pet				body		newPet		true	"The animal"
//	@Success	201				{object}	pet			"The animal"
//	@Header		201				{string}	Location	"Its URL: <./pets/1>"
//	@Failure	409				"pet_not_available"
//	@Header		409				{string}	X-Custom	"A header of an error response"
//	@Router		/pets [post]
func (api) createPet() {}

// getPet returns one animal.
//
//	@ID			getPet
//	@Summary	Get an animal
//	@Description	As it is now
//	@Tags		Pets
//	@Deprecated
//	@Param		petId	path		int64		true	"Its id"
//	@Success	200		{object}	pet			"The animal"
//	@Failure	404	{object}	errorBody	"pet_not_found"
//	@Router		/pets/{petId} [get]
func (api) getPet() {}

// listPets returns a page.
//
//	@ID			listPets
//	@Summary	List animals
//	@Description	In ascending order of id
//	@Tags		Pets
//	@Param		query	query	listPetsQuery	false	"page and filter"
//	@Success	200		{array}	pet				"A page"
//	@Router		/pets [get]
func (api) listPets() {}
