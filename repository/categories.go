package repository

import (
	"context"
	"math"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
)

// categoryReader implements port.CategoryReader.
type categoryReader struct{ *readers }

func (c categoryReader) List(ctx context.Context, q domain.CategoryQuery) (page domain.Page[domain.CategoryInventory], err error) {
	behind, after := "id >= ?", int64(math.MinInt64)
	if q.After != nil {
		behind, after = "id > ?", *q.After
	}
	var rows []struct {
		Position int64
		Category categoryModel `gorm:"embedded"`
	}
	err = c.read(ctx, func(db *gorm.DB) error {
		selected := db.Model(&categoryModel{}).Where(behind, after).Order("id").Limit(q.Limit + 1)
		return db.Table("store").Select("store.position, page.*").Joins("LEFT JOIN (?) AS page ON 1 = 1", selected).Order("page.id").Find(&rows).Error
	})
	page.Items = make([]domain.CategoryInventory, 0, len(rows))
	for _, row := range rows {
		page.Position = row.Position
		if row.Category == (categoryModel{}) { // all columns are NULL: no category is selected
			continue
		}
		category, damage := row.Category.record()
		if damage != nil {
			return page, damage
		}
		category.Position = row.Position
		page.Items = append(page.Items, category)
	}
	if page.More = len(page.Items) > q.Limit; page.More {
		page.Items, page.Next = page.Items[:q.Limit], page.Items[q.Limit-1].ID
	}
	return page, err
}

func (c categoryReader) Count(ctx context.Context) (n int64, err error) {
	err = c.readAll(ctx, func(db *gorm.DB) error { return db.Model(&categoryModel{}).Count(&n).Error })
	return n, err
}

func (c categoryReader) Each(ctx context.Context, fn func(domain.Category) error) error {
	return c.readAll(ctx, func(db *gorm.DB) error {
		return eachOf(db, &categoryModel{}, "id", func(category domain.CategoryInventory) error { return fn(category.Category) })
	})
}

// categories implements port.CategoryRepository.
type categories struct{ *transaction }

func (c categories) Find(ctx context.Context, id int64) (domain.CategoryInventory, error) {
	var model categoryModel
	if err := c.db.WithContext(ctx).Where("id = ?", id).Limit(1).Find(&model).Error; err != nil {
		return domain.CategoryInventory{}, err
	}
	model.ID = id
	category, err := model.record()
	category.Position = c.before.Position
	return category, err
}

func (c categories) SetName(ctx context.Context, category domain.Category) error {
	model := categoryModel{ID: category.ID, Name: category.Name}
	replace := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	if err := c.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Clauses(replace).Create(&model) }); err != nil {
		return err
	}
	c.add(ctx, domain.ChangeCategoryNamed, domain.ChangedRecords{Category: &category})
	return nil
}

func (c categories) RemoveName(ctx context.Context, category domain.Category) error {
	err := c.queue(ctx, func(db *gorm.DB) *gorm.DB {
		return db.Model(&categoryModel{}).Where("id = ?", category.ID).Update("name", "")
	})
	if err == nil {
		err = translate(c.db, c.begun.Queue(deleteEmpty, category.ID))
	}
	if err != nil {
		return err
	}
	c.add(ctx, domain.ChangeCategoryRemoved, domain.ChangedRecords{Category: &category})
	return nil
}
