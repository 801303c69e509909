package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// SearchWindow is the Options.SearchWindow of the stores under test.
const SearchWindow = 7

// expansions are the case foldings of CaseFolding.txt (Unicode) to several characters that the tests use.
var expansions = strings.NewReplacer("ß", "ss", "ẞ", "ss", "İ", "i\u0307", "ŉ", "\u02bcn", "ﬃ", "ffi", "ΐ", "ι\u0308\u0301",
	"ᾳ", "αι", "ᾼ", "αι", "ᾴ", "άι", "ᾶ", "α\u0342")

// fold is a second implementation of domain.FoldName: the least of the characters that differ only in case stands for all of them.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, expansions.Replace(norm.NFC.String(name)))
}

// searchedNames are names, and texts that are searched in all of them.
var searchedNames = []string{
	"Rex", "REX", "T-rex 2", "r_x", "r%x", `r\x`, "!", "R!x", "%", "_", `\`, "%%", "'",
	"Straße", "STRASSE", "STRAẞE", "ss", "I", "ı", "İ", "i\u0307", "Iırmak", "Σίσυφος",
	"ΣΊΣΥΦΟΣ", "ς", "ΐ", "ᾳ", "ᾼ", "ΑΙ", "é", "e\u0301", "E\u0301", "e", "\u0301a",
	"q\u0323\u0307", "q\u0307\u0323", "ŉ", "ʼN", "eﬃ", "FFI", "K", "\u212a",
	"Å", "\u212b", "🐶", "x🐶y", "👩‍👩‍👧", "犬", "ǆ", "ǅ", "�",
	strings.Repeat("x", 200), strings.Repeat("🐶", 200), strings.Repeat("ΐ", 200), strings.Repeat("ß", 100),
	strings.Repeat("S", 200),
}

func searchFindsWhatAScanFinds(t *testing.T, s Store) {
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	characters := []rune(strings.Join(searchedNames[:len(searchedNames)-5], ""))
	drawn := func(longest int) string {
		for {
			text := make([]rune, 1+random.IntN(longest))
			for i := range text {
				text[i] = characters[random.IntN(len(characters))]
			}
			if domain.ValidPetName(string(text)) {
				return string(text)
			}
		}
	}
	names := slices.Clone(searchedNames)
	texts := slices.DeleteFunc(slices.Clone(searchedNames), func(s string) bool { return !domain.ValidPetName(s) })
	for range 100 {
		names, texts = append(names, drawn(8)), append(texts, drawn(2))
	}
	news := make([]domain.NewPet, len(names))
	for i, name := range names {
		news[i] = domain.NewPet{Name: name, CategoryID: int64(i % 2), Status: []domain.PetStatus{"", domain.PetSold, domain.PetPending}[i%3]}
	}
	pets := addTogether(t, s, news)
	pets[0] = renamePet(t, s, pets[0], "Straßenhund") // the text of a correction is found, the text before it is not
	one := int64(1)
	filters := []domain.PetQuery{
		{},
		{CategoryID: &one},
		{Statuses: []domain.PetStatus{domain.PetSold}},
		{CategoryID: &one, Statuses: []domain.PetStatus{"", domain.PetPending}},
		{IDs: []int64{1, 9, 14, 15, 16, 33}},
	}
	for i, text := range texts {
		query := filters[i%len(filters)]
		query.Text, query.Newest = text, i%2 == 0
		var want []int64
		for _, pet := range pets {
			others := query
			others.Text = ""
			if others.Selects(pet) && (query.IDs == nil || slices.Contains(query.IDs, pet.ID)) && strings.Contains(fold(pet.Name), fold(text)) {
				want = append(want, pet.ID)
			}
		}
		if query.Newest {
			slices.Reverse(want)
		}
		testkit.Equal(t, fmt.Sprintf("search %q", text), want, walk(t, s, query))
	}
}

// walk returns the ids of all pages of a query. A page of a search that is not full ends with its window.
func walk(t *testing.T, s Store, query domain.PetQuery) (ids []int64) {
	t.Helper()
	for query.Limit = 3; ; {
		page, err := s.Pets().List(t.Context(), query)
		testkit.Check(t, err)
		for _, pet := range page.Items {
			ids = append(ids, pet.ID)
		}
		if !page.More {
			return ids
		}
		if query.After = page.Next; len(page.Items) > query.Limit {
			t.Fatalf("got %d animals, want at most %d", len(page.Items), query.Limit)
		}
	}
}

func renamePet(t *testing.T, s Store, pet domain.Pet, name string) domain.Pet {
	t.Helper()
	after := pet
	after.Name = name
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Pets.Update(ctx, pet, after) })
	return after
}

// A page of a search ends with its window, before or behind the animals that it finds.
func searchReadsAWindow(t *testing.T, s Store) {
	news := slices.Repeat([]domain.NewPet{{Name: "Tom"}}, 2*SearchWindow+1)
	news[SearchWindow].Name = "Rex"
	addTogether(t, s, news)
	for _, test := range []struct {
		page domain.PageRequest
		ids  []int64
		next int64 // 0 for the last page
	}{
		{domain.PageRequest{}, nil, SearchWindow},
		{domain.PageRequest{After: SearchWindow}, []int64{SearchWindow + 1}, 2 * SearchWindow},
		{domain.PageRequest{After: SearchWindow + 1}, nil, 2*SearchWindow + 1},
		{domain.PageRequest{After: SearchWindow + 2}, nil, 0},
		{domain.PageRequest{After: 2*SearchWindow + 1}, nil, 0},
		{domain.PageRequest{Newest: true}, nil, SearchWindow + 2},
		{domain.PageRequest{Newest: true, After: SearchWindow + 2}, []int64{SearchWindow + 1}, 2},
		{domain.PageRequest{Newest: true, After: 2}, nil, 0},
	} {
		test.page.Limit = 3
		page, err := s.Pets().List(t.Context(), domain.PetQuery{PageRequest: test.page, Text: "REX"})
		var ids []int64
		for _, pet := range page.Items {
			ids = append(ids, pet.ID)
		}
		testkit.Equal(t, fmt.Sprintf("the animals of %+v", test.page), test.ids, ids, err)
		testkit.Equal(t, fmt.Sprintf("the next page of %+v", test.page), [2]any{test.next != 0, test.next}, [2]any{page.More, page.Next})
	}
}

// Half of the animals do not change while others are added, corrected and removed. Each search finds all of them once.
func searchFindsAllDuringChanges(t *testing.T, s Store) {
	names := []string{"Kater", "Tom", "E", "Rex"}
	pets := addTogether(t, s, slices.Repeat([]domain.NewPet{{Name: "Kater"}, {Name: "Tom"}, {Name: "Rex"}}, 30))
	isStable := func(id int64) bool { return id <= int64(len(pets)) && id%2 == 0 }
	var want []int64
	for _, pet := range pets {
		if isStable(pet.ID) && pet.Name != "Tom" {
			want = append(want, pet.ID)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for writer := range 4 {
		writers.Go(func() {
			for i := writer; ctx.Err() == nil; i++ {
				err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
					if _, err := r.Pets.Create(ctx, []domain.NewPet{{Name: names[i%4]}}); err != nil {
						return err
					}
					for id := range int64(4) {
						pet, err := r.Pets.Get(ctx, int64(i%len(pets))+id+1)
						after := pet
						after.Name = names[(i+int(pet.ID))%4]
						switch {
						case errors.Is(err, domain.ErrNotFound):
							err = nil
						case err != nil || isStable(pet.ID) || after == pet:
						case i%3 == 0:
							err = r.Pets.Remove(ctx, pet)
						default:
							err = r.Pets.Update(ctx, pet, after)
						}
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 20 {
		query := domain.PetQuery{PageRequest: domain.PageRequest{Newest: i%2 == 1}, Text: "e"}
		found := walk(t, s, query)
		if query.Newest {
			slices.Reverse(found)
		}
		if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) < len(found) {
			t.Fatalf("got the ids %v, want each once in their order", found)
		}
		testkit.Equal(t, "the animals that did not change", want, slices.DeleteFunc(found, func(id int64) bool { return !isStable(id) }))
	}
}
