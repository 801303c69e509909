package repository

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
)

// A table is a table with records of type T. newModel returns a model for its rows.
type table[T any] struct {
	newModel func() row[T]
	id       func(T) int64
	notFound func(id int64) error
	name     string
	columns  string // all columns, separated by commas
}

var (
	petTable   = newTable(func() row[domain.Pet] { return &petModel{} }, func(p domain.Pet) int64 { return p.ID }, domain.PetNotFound)
	orderTable = newTable(func() row[domain.Order] { return &orderModel{} }, func(o domain.Order) int64 { return o.ID }, domain.OrderNotFound)
)

func newTable[T any](newModel func() row[T], id func(T) int64, notFound func(int64) error) table[T] {
	model, _ := schema.Parse(newModel(), &sync.Map{}, schema.NamingStrategy{}) // fails only for a type that is no model
	return table[T]{newModel, id, notFound, model.Table, strings.Join(model.DBNames, ", ")}
}

// A reader reads the records of a table outside any transaction.
type reader[T any] struct {
	*readers
	table[T]
	shared *batch.Group[*readByID[T]] // if not nil, concurrent reads by id share a query
	window int                        // Options.SearchWindow
}

// records returns the records that a query finds, at most the given number. fields are pointers to what the query selects before the columns of
// the table.
func (t table[T]) records(query *gorm.DB, most int, fields ...any) (found []T, err error) {
	model := t.newModel()
	found = make([]T, 0, most)
	err = scan(query, append(fields, model.fields()...), func() error {
		record, err := model.record()
		found = append(found, record)
		return err
	})
	return found, err
}

// A readByID is a read of the records with ids. found are those that exist, in any order. position is the position of the
// changes that they include.
type readByID[T any] struct {
	ids      []int64
	found    []T
	position int64
}

// byID returns the records with ids that exist.
func (r reader[T]) byID(ctx context.Context, ids ...int64) (*readByID[T], error) {
	read := &readByID[T]{ids: ids}
	if r.shared != nil {
		return read, r.share(func() error { return r.shared.Do(ctx, read) })
	}
	return read, r.read(ctx, func(db *gorm.DB) (err error) {
		read.found, read.position, err = r.withIDs(db, ids)
		return err
	})
}

// maxSharedReads is the maximum number of reads that share a query.
const maxSharedReads = 64

// newGroup returns the group by which concurrent reads by id share a query. The caller must close it.
func (r reader[T]) newGroup() *batch.Group[*readByID[T]] {
	o := batch.Options{Size: maxSharedReads, Leave: true, Timeout: r.timeout}
	return batch.New(o, func(ctx context.Context, deadline time.Time, take func() []*readByID[T]) error {
		return r.run(ctx, deadline, func(db *gorm.DB) error { return r.readTogether(db, take()) })
	})
}

// readTogether runs several reads with one query.
func (r reader[T]) readTogether(db *gorm.DB, reads []*readByID[T]) error {
	var ids []int64
	for _, read := range reads {
		ids = append(ids, read.ids...)
	}
	records, position, err := r.withIDs(db, ids)
	byID := make(map[int64]T, len(records))
	for _, record := range records {
		byID[r.id(record)] = record
	}
	for _, read := range reads {
		read.found, read.position = []T{}, position
		for _, id := range read.ids {
			if record, ok := byID[id]; ok {
				read.found = append(read.found, record)
			}
		}
	}
	return err
}

// withIDs returns the records with ids that exist, and the position of the changes that they include.
func (t table[T]) withIDs(db *gorm.DB, ids []int64) (found []T, position int64, err error) {
	var args []any
	for _, id := range ids {
		args = append(args, id)
	}
	args = padded(args)
	query := "SELECT (SELECT position FROM store), " + t.columns + " FROM " + t.name + " WHERE id IN (?" + strings.Repeat(", ?", len(args)-1) + ")"
	found, err = t.records(db.Raw(query, args...), len(ids), &position)
	return found, position, err
}

// Get returns the record with an id, or an ErrNotFound.
func (r reader[T]) Get(ctx context.Context, id int64) (record T, err error) {
	read, err := r.byID(ctx, id)
	if err != nil { // the run that the call has left may still write to read
		return record, err
	}
	return r.only(id, read.found)
}

// take is Get in a transaction, which has read the records of ahead.
func (t table[T]) take(db *gorm.DB, ahead map[int64]T, id int64) (T, error) {
	if record, known := ahead[id]; known {
		return record, nil
	}
	found, _, err := t.withIDs(db, []int64{id})
	if err != nil {
		return *new(T), err
	}
	return t.only(id, found)
}

// only returns the record that was found by its id, or an ErrNotFound.
func (t table[T]) only(id int64, found []T) (record T, err error) {
	if len(found) == 0 {
		return record, t.notFound(id)
	}
	return found[0], nil
}

// pageByID returns the records with ids that selects accepts, as one page.
func (r reader[T]) pageByID(ctx context.Context, ids []int64, newest bool, selects func(T) bool) (domain.Page[T], error) {
	read, err := r.byID(ctx, ids...)
	if err != nil {
		return domain.Page[T]{}, err
	}
	items := slices.DeleteFunc(read.found, func(record T) bool { return !selects(record) })
	slices.SortFunc(items, func(a, b T) int { return cmp.Compare(r.id(a), r.id(b)) })
	if newest {
		slices.Reverse(items)
	}
	return domain.Page[T]{Items: items, Position: read.position}, nil
}

// page returns a page of the records that match a filter. It starts after an id and not at an offset, so every page takes
// the same time.
func (r reader[T]) page(ctx context.Context, f filter, p domain.PageRequest) (page domain.Page[T], err error) {
	query, args := r.pageQuery(f, p, r.db.Name() == "postgres")
	err = r.read(ctx, func(db *gorm.DB) error {
		page.Items, err = r.records(db.Raw(query, args...), p.Limit+1)
		return err
	})
	return r.full(page.Items, p.Limit), err
}

// full returns the page of records, of which there may be one more than the limit.
func (r reader[T]) full(records []T, limit int) domain.Page[T] {
	if len(records) <= limit {
		return domain.Page[T]{Items: records}
	}
	return domain.Page[T]{Items: records[:limit], More: true, Next: r.id(records[limit-1])}
}

// searchPage returns a page of the records that match a filter with a text. It reads the rows of a window, so every page
// takes the same time, however rare the text is.
func (r reader[T]) searchPage(ctx context.Context, f filter, p domain.PageRequest) (page domain.Page[T], err error) {
	var last int64 // 0 if the window has all rows behind p.After
	err = r.readSearch(ctx, func(db *gorm.DB) error {
		query, args := r.windowQuery(p, r.window)
		if err := scan(db.Raw(query, args...), []any{&last}, func() error { return nil }); err != nil {
			return err
		}
		query, args = r.searchQuery(f, p, last)
		page.Items, err = r.records(db.Raw(query, args...), p.Limit+1)
		return err
	})
	if page = r.full(page.Items, p.Limit); last != 0 && !page.More {
		page.More, page.Next = true, last
	}
	return page, err
}

// eachOf calls fn with each record of a query on the table of model, ascending by key. It scans all rows into model: GORM's
// Find would read a whole table into memory. The end of the context does not interrupt the query, because pgx would close
// its connection; it ends the scan.
func eachOf[T any](query *gorm.DB, model row[T], key string, fn func(T) error) error {
	ctx := query.Statement.Context
	queryCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	return scan(query.WithContext(queryCtx).Model(model).Order(key), model.fields(), func() error {
		record, err := model.record()
		if err == nil && ctx.Err() != nil {
			err = domain.Unavailable(ctx.Err())
		}
		if err == nil {
			err = fn(record)
		}
		if err != nil {
			cancel() // otherwise PostgreSQL would send the rest of the result
		}
		return err
	})
}
