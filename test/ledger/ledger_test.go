package ledger

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
)

// newStore returns a database with the rows of pets, as id,name,category,status, and of
// orders, as id,pet,status.
func newStore(t *testing.T, pets, orders []string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	statements := []string{"CREATE TABLE pets (id, name, category_id, status)", "CREATE TABLE orders (id, pet_id, status)"}
	for table, rows := range map[string][]string{"pets": pets, "orders": orders} {
		for _, row := range rows {
			statements = append(statements, "INSERT INTO "+table+" VALUES ('"+strings.ReplaceAll(row, ",", "','")+"')")
		}
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestCheckComparesTheStoreWithTheLedger(t *testing.T) {
	t.Parallel()
	rex := Write{Kind: Pet, Name: "rex", PetID: 1}
	order := Write{Kind: Order, PetID: 1, OrderID: 5}
	refused := Write{Kind: Order, PetID: 1, Outcome: Refused, Status: 409}
	delivery := Write{Kind: Delivery, OrderID: 5}
	unknownPet := Write{Kind: Pet, Name: "rex", Outcome: Unknown, Unknowns: 1}
	unknownOrder := Write{Kind: Order, PetID: 1, Outcome: Unknown, Unknowns: 1}
	const available, pending, sold = "1,rex,7,available", "1,rex,7,pending", "1,rex,7,sold"
	for name, test := range map[string]struct {
		writes       []Write
		pets, orders []string
		want         Result
	}{
		"all is there":              {[]Write{rex, order, refused, delivery}, []string{sold}, []string{"5,1,delivered"}, Result{Acknowledged: 3, Refused: 1}},
		"pet lost":                  {[]Write{rex}, nil, nil, Result{Acknowledged: 1, Lost: 1}},
		"pet with another id":       {[]Write{rex}, []string{"2,rex,7,available"}, nil, Result{Acknowledged: 1, Lost: 1}},
		"pet twice":                 {[]Write{rex}, []string{available, "2,rex,7,available"}, nil, Result{Acknowledged: 1, Doubled: 1}},
		"unknown pet not there":     {[]Write{unknownPet}, nil, nil, Result{Unknown: 1}},
		"unknown pet there":         {[]Write{unknownPet}, []string{available}, nil, Result{Unknown: 1}},
		"unknown pet twice":         {[]Write{unknownPet}, []string{available, "2,rex,7,available"}, nil, Result{Unknown: 1, Doubled: 1}},
		"refused pet there":         {[]Write{{Kind: Pet, Name: "rex", Outcome: Refused}}, []string{available}, nil, Result{Refused: 1, Problems: []string{"the pet rex was refused and is in the store"}}},
		"invalid pet not there":     {[]Write{{Kind: Pet, Name: "rex", Invalid: true, Outcome: Refused}}, nil, nil, Result{Refused: 1}},
		"valid pet refused":         {[]Write{{Kind: Pet, Name: "rex", Outcome: Refused}}, nil, nil, Result{Refused: 1, Problems: []string{"the pet rex was refused, though it is valid"}}},
		"other content":             {[]Write{rex}, []string{"1,rex,8,available"}, nil, Result{Acknowledged: 1, Problems: []string{"the pet rex has the category 8, want 7"}}},
		"pet that nobody sent":      {nil, []string{available}, nil, Result{Problems: []string{"the pet rex was not sent"}}},
		"order lost":                {[]Write{rex, order}, []string{available}, nil, Result{Acknowledged: 2, Lost: 1}},
		"sold twice":                {[]Write{rex, order, unknownOrder}, []string{pending}, []string{"5,1,placed", "6,1,placed"}, Result{Acknowledged: 2, Unknown: 1, Doubled: 1}},
		"acknowledged twice":        {[]Write{rex, order, {Kind: Order, PetID: 1, OrderID: 5}}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 3, Doubled: 1}},
		"unknown order there":       {[]Write{rex, unknownOrder, refused}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 1, Refused: 1, Unknown: 1}},
		"refused order there":       {[]Write{rex, refused}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 1, Refused: 1, Problems: []string{"the pet 1 was ordered, though all orders were refused"}}},
		"unknown order not there":   {[]Write{rex, refused, unknownOrder}, []string{available}, nil, Result{Acknowledged: 1, Refused: 1, Unknown: 1}},
		"all orders refused":        {[]Write{rex, refused, refused}, []string{available}, nil, Result{Acknowledged: 1, Refused: 2, Problems: []string{"all orders of the pet 1 were refused, though nobody has ordered it"}}},
		"valid order refused":       {[]Write{rex, order, {Kind: Order, PetID: 1, Outcome: Refused, Status: 404}}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 2, Refused: 1, Problems: []string{"an order of the pet 1 was refused with 404, though it is valid"}}},
		"valid delivery refused":    {[]Write{rex, order, {Kind: Delivery, OrderID: 5, Outcome: Refused, Status: 409}}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 2, Refused: 1, Problems: []string{"the delivery of the order 5 was refused with 409, though it is valid"}}},
		"order that nobody sent":    {[]Write{rex}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 1, Problems: []string{"the order 5 was not sent"}}},
		"pet and order disagree":    {[]Write{rex, order}, []string{available}, []string{"5,1,placed"}, Result{Acknowledged: 2, Problems: []string{"the pet rex is available, its order says pending"}}},
		"delivery lost":             {[]Write{rex, order, delivery}, []string{pending}, []string{"5,1,placed"}, Result{Acknowledged: 3, Lost: 1}},
		"delivery that nobody sent": {[]Write{rex, order}, []string{sold}, []string{"5,1,delivered"}, Result{Acknowledged: 2, Problems: []string{"the order 5 was delivered, which nobody sent"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New()
			for _, w := range test.writes {
				l.add(w)
			}
			got, err := l.Check(t.Context(), newStore(t, test.pets, test.orders))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Result{test.want}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err, want := got[0].Err(), test.want.Lost+test.want.Doubled+len(test.want.Problems) > 0; (err != nil) != want {
				t.Errorf("got the error %v, want one: %t", err, want)
			}
		})
	}
}

func TestWritesBelongToThePeriodInWhichTheyWereSent(t *testing.T) {
	t.Parallel()
	l := New()
	l.add(Write{Kind: Pet, Name: "rex", PetID: 1, Period: l.period()})
	l.Begin("failover")
	l.add(Write{Kind: Pet, Name: "tom", PetID: 2, Period: l.period()})
	got, err := l.Check(t.Context(), newStore(t, []string{"1,rex,7,available"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{{Acknowledged: 1}, {Name: "failover", Acknowledged: 1, Lost: 1}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
