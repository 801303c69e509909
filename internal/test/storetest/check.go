package storetest

import (
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// RunCheck tests Check and Repair. service and command are two stores on one new database, like two processes. execute runs
// a statement on it, as another program would.
func RunCheck(t *testing.T, service, command *repository.Store, execute func(t *testing.T, statement string)) {
	addPets(t, service, domain.NewPet{Name: "Rex", CategoryID: 7}, domain.NewPet{Name: "Tom", CategoryID: 8, Status: domain.PetSold})
	addKey(t, service, 1, 0)
	inTx(t, service, orderFirstPet)
	movePet(t, service, 1, domain.PetPending)
	for _, c := range []struct {
		name      string
		statement string
		want      []string
		anew      bool // the changes begin anew
	}{
		{name: "nothing", statement: "UPDATE store SET position = position"},
		{name: "an animal that was inserted", statement: "INSERT INTO pets (id, name, category_id) VALUES (9, 'Ann', 7)", want: []string{
			"there is the animal 9, but the last id that was given out is 2", "a search does not find these animals by their names: 9",
			"the numbers of all animals need 1 without a status more", "the numbers of the category 7 need 1 without a status more",
		}},
		{name: "an animal that was renamed", statement: "UPDATE pets SET name = 'Ann II' WHERE id = 9", want: []string{
			"a search does not find these animals by their names: 9",
		}},
		{name: "an animal that was corrected", statement: "UPDATE pets SET status = 'sold' WHERE id = 9", want: []string{
			"the numbers of all animals need 1 sold more, 1 without a status fewer",
			"the numbers of the category 7 need 1 sold more, 1 without a status fewer",
		}},
		{name: "an animal that was deleted", statement: "DELETE FROM pets WHERE id = 9", want: []string{
			"the numbers of all animals need 1 sold fewer", "the numbers of the category 7 need 1 sold fewer",
		}},
		{name: "the status of an ordered animal", statement: "UPDATE pets SET status = '' WHERE id = 1", want: []string{
			"the numbers of all animals need 1 pending fewer, 1 without a status more",
			"the numbers of the category 7 need 1 pending fewer, 1 without a status more",
			"the order 1 is placed, but its animal 1 is without a status",
		}},
		{name: "no counts", statement: "DELETE FROM categories", want: []string{
			"the numbers of the category 7 need 1 pending more", "the numbers of the category 8 need 1 sold more",
		}},
		{name: "a category without animals", statement: "INSERT INTO categories (id, none) VALUES (70, -1)", want: []string{
			"the numbers of the category 70 need 1 without a status more",
		}},
		{name: "ids", statement: "UPDATE store SET last_pet = 1, last_order = 0, last_key = 0", want: []string{
			"there is the animal 2, but the last id that was given out is 1",
			"there is the order 1, but the last id that was given out is 0",
			"there is the API key 1, but the last id that was given out is 0",
		}},
		{name: "no changes", statement: "DELETE FROM changes", anew: true},
		{name: "an earlier position", statement: "UPDATE store SET position = position - 1", anew: true},
	} {
		execute(t, c.statement)
		before, err := service.Numbers(t.Context())
		testkit.Check(t, err)
		position := latest(t, service)
		ctx := domain.WithCaller(t.Context(), "command:check")
		found, _, err := command.Check(ctx)
		repaired, repairErr := command.Repair(ctx)
		testkit.Equal(t, c.name+": what Repair found", texts(found), texts(repaired), err, repairErr)
		left, _, err := command.Check(ctx)
		testkit.Equal(t, c.name+": what is left", []string(nil), texts(left), err)
		if len(found) > 0 {
			testkit.WaitUntil(t, "no page is used again", func() bool {
				after, err := service.Numbers(t.Context())
				return err == nil && !after.Validates(before, false)
			})
		}
		if c.anew {
			testkit.Equal(t, c.name+": the number of differences", 1, len(found))
			_, err = service.Changes().List(t.Context(), domain.PageRequest{After: position, Limit: 1})
			wantCode(t, err, domain.ErrExpired, "changes_expired")
		} else {
			testkit.Equal(t, c.name+": the differences", c.want, texts(found))
		}
	}
	categories, err := service.Categories().List(t.Context(), domain.CategoryQuery{Limit: 10})
	testkit.Equal(t, "the number of categories", 2, len(categories.Items), err)
	rex := domain.Pet{ID: 1, Name: "Rex", CategoryID: 7, Status: domain.PetPending}
	position := latest(t, service)
	execute(t, "UPDATE pets SET status = 'available' WHERE id = 1; DELETE FROM pets WHERE id = 2")
	execute(t, "INSERT INTO orders (id, pet_id, status, created_at, updated_at) VALUES (2, 2, 'delivered', 0, 0)")
	found, err := command.Repair(domain.WithCaller(t.Context(), "command:check"))
	left, _, checkErr := command.Check(t.Context())
	const missing = "the order 2 is delivered, but its animal 2 is missing: restore a backup that has it"
	testkit.Equal(t, "what cannot be repaired", []string{missing}, texts(left), err, checkErr)
	testkit.Equal(t, "the last difference", missing, found[len(found)-1].Text)
	testkit.Equal(t, "whether it can be repaired", false, found[len(found)-1].Repairable())
	addPets(t, service, domain.NewPet{Name: "Eve"})
	before := rex
	before.Status = domain.PetAvailable
	changes := listChanges(t, service, position, 10)
	for i := range changes {
		changes[i].Seq = 0
	}
	testkit.Equal(t, "the changes", []domain.Change{
		{
			ChangeHeader:   domain.ChangeHeader{Type: domain.ChangePetUpdated, Caller: "command:check"},
			ChangedRecords: domain.ChangedRecords{Pet: &rex, Before: &before},
		},
		{
			ChangeHeader:   domain.ChangeHeader{Type: domain.ChangePetAdded},
			ChangedRecords: domain.ChangedRecords{Pet: &domain.Pet{ID: 3, Name: "Eve"}},
		},
	}, changes)
}

func texts(found []repository.Difference) (texts []string) {
	for _, difference := range found {
		texts = append(texts, difference.Text)
	}
	return texts
}
