package repository

import (
	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// list reads a page of the rows that query selects: a keyset on the id, so that
// the thousandth page costs what the first does.
func list[R, T any](query *gorm.DB, page domain.PageRequest, record func(R) T) (domain.Page[T], error) {
	var rows []R
	err := query.Where("id > ?", page.After).Order("id").Limit(page.Limit + 1).Find(&rows).Error
	if err != nil {
		return domain.Page[T]{}, translate(err)
	}
	records := make([]T, len(rows))
	for i, row := range rows {
		records[i] = record(row)
	}
	return domain.CutPage(records, page.Limit), nil
}
