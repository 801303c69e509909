package http

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

// listCategoriesQuery has the parameters of listCategories.
type listCategoriesQuery struct {
	// Maximum number of categories to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Return categories with an id greater than this one, which may be negative. Without it: from the least id.
	After *int64 `form:"after" format:"int64"`
}

func (q listCategoriesQuery) key() string {
	return limitParameter(q.Limit) + parameter("after", optional(q.After)...)
}

func (listCategoriesQuery) likelyKey(raw string) string { return withLimit(raw) }

func (q listCategoriesQuery) next(after int64) string {
	q.After = &after
	return q.key()
}

func (q listCategoriesQuery) pageRequest() domain.PageRequest {
	return domain.PageRequest{Limit: int(q.Limit)}
}

// listCategories sends a page of the categories.
//
//	@Summary		List categories
//	@Description	Returns the categories that have a name or an animal, in ascending order of id, with the numbers of their animals by status.
//	@Description	The Link header has the address of the next page; the last page has none.
//	@ID				listCategories
//	@Tags			Categories
//	@Param			query	query	listCategoriesQuery	false	"page"
//	@Success		200		{array}	record.Category		"A page of categories"
//	@Success		304		"Page not modified"
//	@Failure		400		{object}	errorBody	"invalid_parameter"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/categories [get]
func (a *API) listCategories(c *gin.Context) error {
	return serveQuery(a, c, "categories", func(ctx context.Context, q listCategoriesQuery) (*encodedPage, error) {
		page, err := a.categories.List(ctx, domain.CategoryQuery{After: q.After, Limit: int(q.Limit)})
		if err != nil {
			return nil, err
		}
		encoded, err := encodePage(page, record.CategoryOf, q)
		if err != nil {
			return nil, err
		}
		encoded.grows, encoded.exact, encoded.position = true, true, page.Position // each animal changes a count
		return encoded, nil
	})
}

// putCategory names a category.
//
//	@Summary		Name a category
//	@Description	Names a category, or replaces its name. Any 64-bit integer is a category. Several may have the same name. Repeating the
//	@Description	request changes nothing.
//	@ID				putCategory
//	@Tags			Categories
//	@Param			categoryId	path		int64				true	"Identifier of the category, which its animals have as `categoryId`"	format(int64)
//	@Param			name		body		record.CategoryName	true	"The name"
//	@Success		200			{object}	record.Category		"The category"
//	@Failure		400			{object}	errorBody	"invalid_json, invalid_name, unknown_parameter"
//	@Failure		404			{object}	errorBody	"category_not_found"
//	@Failure		401,403,408,413,415,429,500,503	{object}	errorBody
//	@Router			/categories/{categoryId} [put]
func (a *API) putCategory(c *gin.Context) error {
	body, err := bindBody(c, binding.JSON[record.CategoryName])
	if err != nil {
		return err
	}
	id, err := pathID(c, "category", domain.CodeCategoryNotFound)
	if err != nil {
		return err
	}
	named, changed, err := a.categories.Put(c.Request.Context(), domain.Category{ID: id, Name: *body.Name})
	if err != nil {
		return err
	}
	logRecord(c, changed, id)
	return writeRecord(c, http.StatusOK, record.CategoryOf(named))
}

// deleteCategory removes the name of a category.
//
//	@Summary		Remove the name of a category
//	@Description	Removes the name of a category. Its animals keep their `categoryId`.
//	@ID				deleteCategory
//	@Tags			Categories
//	@Param			categoryId	path	int64	true	"Identifier of the category"	format(int64)
//	@Success		204			"The name is removed"
//	@Failure		400			{object}	errorBody	"unknown_parameter"
//	@Failure		404			{object}	errorBody	"category_not_found"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/categories/{categoryId} [delete]
func (a *API) deleteCategory(c *gin.Context) error {
	id, err := pathID(c, "category", domain.CodeCategoryNotFound)
	if err != nil {
		return err
	}
	if err := a.categories.Delete(c.Request.Context(), id); err != nil {
		return err
	}
	logRecord(c, true, id)
	c.Status(http.StatusNoContent)
	return nil
}
