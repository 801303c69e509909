package usecase

import (
	"cmp"
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// Categories implements the operations on the categories of animals and their names. An animal may have a category without a
// name.
type Categories struct {
	tx         port.Transactor
	categories port.CategoryReader
}

// NewCategories returns the Categories of a store.
func NewCategories(tx port.Transactor, categories port.CategoryReader) *Categories {
	return &Categories{tx, categories}
}

// List returns a page of the categories that have a name or an animal, or an ErrInvalid (invalid_parameter). The
// limit is 20 when zero.
func (c *Categories) List(ctx context.Context, q domain.CategoryQuery) (domain.Page[domain.CategoryInventory], error) {
	q.Limit = cmp.Or(q.Limit, domain.DefaultLimit)
	if err := q.Validate(); err != nil {
		return domain.Page[domain.CategoryInventory]{}, err
	}
	return c.categories.List(ctx, q)
}

// Put names a category. When Put returns, the name is durable. If the category has the name already, Put changes nothing, and
// returns false. Put returns an ErrInvalid (validation_failed).
func (c *Categories) Put(ctx context.Context, category domain.Category) (named domain.CategoryInventory, changed bool, err error) {
	if err := category.Validate(); err != nil {
		return domain.CategoryInventory{}, false, err
	}
	err = c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
		named, changed, err = put(ctx, r, category)
		return err
	})
	return named, changed && err == nil, err
}

// put names a category, or removes its name if category has none.
func put(ctx context.Context, r port.Repositories, category domain.Category) (named domain.CategoryInventory, changed bool, err error) {
	named, err = r.Categories.Find(ctx, category.ID)
	before := named.Category
	named.Category = category
	switch {
	case err != nil || before == category:
		return named, false, err
	case category.Name == "":
		return named, true, r.Categories.RemoveName(ctx, before)
	}
	return named, true, r.Categories.SetName(ctx, category)
}

// PutAll names categories in one transaction, and removes the name of each category whose Name is empty. It returns how many
// names have changed, or an ErrInvalid (validation_failed).
func (c *Categories) PutAll(ctx context.Context, categories []domain.Category) (changed int64, err error) {
	for _, category := range categories {
		if category.Name == "" {
			continue
		}
		if err := category.Validate(); err != nil {
			return 0, err
		}
	}
	err = c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		changed = 0
		for _, category := range categories {
			_, differs, err := put(ctx, r, category)
			if err != nil {
				return err
			}
			if differs {
				changed++
			}
		}
		return nil
	})
	return changed, err
}

// Delete removes the name of a category. When Delete returns, the removal is durable. The animals of the category stay as they
// are. Delete returns an ErrNotFound (category_not_found) if the category has no name.
func (c *Categories) Delete(ctx context.Context, id int64) error {
	return c.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		category, err := r.Categories.Find(ctx, id)
		if err != nil {
			return err
		}
		if category.Name == "" {
			return domain.CategoryNotFound(id)
		}
		return r.Categories.RemoveName(ctx, category.Category)
	})
}
