package usecase_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/usecase"
)

// BenchmarkCreate measures Pets.Create with 64 concurrent callers per processor.
func BenchmarkCreate(b *testing.B) {
	for name, key := range map[string]func(n int64) domain.IdempotencyKey{
		"without key": func(int64) domain.IdempotencyKey { return domain.IdempotencyKey{} },
		"with key": func(n int64) domain.IdempotencyKey {
			return domain.IdempotencyKey{Caller: "1", Value: "bench-" + strconv.FormatInt(n, 10)}
		},
	} {
		b.Run(name, func(b *testing.B) {
			store, err := repository.Open(b.Context(), enginetest.New(b).Engine(), repository.Options{Migrate: true})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			pets := usecase.NewPets(store, store.Pets(), time.Now)
			var count atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					pet := domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}
					if _, _, err := pets.Create(b.Context(), pet, key(count.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
