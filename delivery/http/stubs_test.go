package http_test

import (
	"context"
	"sync/atomic"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

type (
	getFunc    func(ctx context.Context, id int64) (domain.Pet, error)
	createFunc func(ctx context.Context) (domain.Pet, error)
)

// withGet replaces Pets.Get.
func withGet(get getFunc) option {
	return func(s *rest.Options) { s.Pets = petsWithGet{s.Pets, get} }
}

type petsWithGet struct {
	rest.Pets
	get getFunc
}

func (p petsWithGet) Get(ctx context.Context, id int64) (domain.Pet, error) { return p.get(ctx, id) }

// withCreate replaces Pets.Create.
func withCreate(create createFunc) option {
	return func(s *rest.Options) { s.Pets = petsWithCreate{s.Pets, create} }
}

type petsWithCreate struct {
	rest.Pets
	create createFunc
}

func (p petsWithCreate) Create(ctx context.Context, _ domain.NewPet, _ domain.IdempotencyKey) (domain.Pet, bool, error) {
	pet, err := p.create(ctx)
	return pet, false, err
}

// A blockingGet is a Pets.Get that blocks until release is closed or the context ends.
// Each call sends to started.
type blockingGet struct{ started, release chan struct{} }

func newBlockingGet() blockingGet { return blockingGet{make(chan struct{}, 1), make(chan struct{})} }

func (b blockingGet) get(ctx context.Context, id int64) (domain.Pet, error) {
	b.started <- struct{}{}
	select {
	case <-b.release:
		return domain.Pet{ID: id, Name: "Rex", CategoryID: 7}, nil
	case <-ctx.Done():
		return domain.Pet{}, domain.Unavailable(ctx.Err())
	}
}

// withListCount counts the calls of Pets.List.
func withListCount(calls *atomic.Int32) option {
	return func(s *rest.Options) { s.Pets = countingPets{s.Pets, calls} }
}

type countingPets struct {
	rest.Pets
	calls *atomic.Int32
}

func (p countingPets) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	p.calls.Add(1)
	return p.Pets.List(ctx, q)
}

// withBlockingKeys replaces Keys.Authenticate by a call that blocks until the context ends.
func withBlockingKeys(s *rest.Options) { s.Keys = blockingKeys{} }

type blockingKeys struct{}

func (blockingKeys) Authenticate(ctx context.Context, _ string) (apikey.Key, error) {
	<-ctx.Done()
	return apikey.Key{}, domain.Unavailable(ctx.Err())
}
