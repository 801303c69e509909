package repository

import (
	"context"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
)

// changeReader implements port.ChangeReader.
type changeReader struct{ *readers }

func (c changeReader) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	var listed domain.ChangePage
	var kept engine.State
	err := c.read(ctx, func(db *gorm.DB) error {
		model := &changeModel{}
		query := db.Model(model).Where("seq > ?", page.After).Order("seq").Limit(page.Limit + 1)
		err := scan(query, model.fields(), func() error {
			change, err := model.record()
			listed.Items = append(listed.Items, change)
			return err
		})
		if err != nil {
			return err
		}
		return db.Table("store").Take(&kept).Error // read last: if the changes of the page are still kept, the page was complete
	})
	if err != nil {
		return domain.ChangePage{}, err
	}
	if page.After != 0 && (page.After < kept.KeptAfter || page.After > kept.Position) {
		return domain.ChangePage{}, domain.ChangesExpired(page.After)
	}
	if listed.More = len(listed.Items) > page.Limit; listed.More {
		listed.Items = listed.Items[:page.Limit]
	}
	listed.Next, listed.Latest = max(page.After, kept.KeptAfter), kept.Position
	if n := len(listed.Items); n > 0 {
		listed.Next = listed.Items[n-1].Seq
	}
	return listed, nil
}

func (c changeReader) Latest(ctx context.Context) (position int64, err error) {
	err = c.read(ctx, func(db *gorm.DB) error { return db.Table("store").Select("position").Find(&position).Error })
	return position, err
}

func (c changeReader) Count(ctx context.Context) (n int64, err error) {
	err = c.readAll(ctx, func(db *gorm.DB) error { return db.Model(&changeModel{}).Count(&n).Error })
	return n, err
}

func (c changeReader) Each(ctx context.Context, fn func(domain.RecordedChange) error) error {
	return c.readAll(ctx, func(db *gorm.DB) error { return eachOf(db, &changeModel{}, "seq", fn) })
}

// changesPerRemoval is the number of changes that one transaction removes, while other transactions wait. It is also the
// number of the latest changes that RemoveOld keeps.
const changesPerRemoval = 1000

// changes implements port.ChangeRepository.
type changes struct{ *transaction }

func (c changes) RemoveOld(ctx context.Context, from, to time.Time) (bool, error) {
	kept := &c.KeptAfter
	if c.Position < *kept+2*changesPerRemoval {
		return false, nil
	}
	var last changeModel
	db := c.db.WithContext(ctx)
	err := db.Where("seq >= ?", *kept+changesPerRemoval).Order("seq").Take(&last).Error
	if err != nil || last.At >= from.UnixMilli() && last.At <= to.UnixMilli() {
		return false, notFoundAs(err, nil)
	}
	c.wrote()
	*kept = last.Seq
	return true, db.Where("seq <= ?", last.Seq).Delete(&changeModel{}).Error
}
