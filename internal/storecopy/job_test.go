package storecopy_test

import (
	"context"
	"strings"
	"testing"

	"example.com/petstore/internal/storecopy"
	"example.com/petstore/internal/test/testkit"
)

func TestCopyRejectsTargetThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	from := newFile(t, manyPets)
	for _, insert := range []string{
		onePet,
		"INSERT INTO changes (seq, type, at, caller, records) SELECT position, 'pet.added', 1, '', '{}' FROM store",
		"INSERT INTO api_keys (hash, name, last_four, created_at) VALUES (zeroblob(32), '', 'aaaa', 1)",
		"INSERT INTO idempotency_keys VALUES ('', '', zeroblob(32), NULL, 1)",
		"INSERT INTO imports VALUES (zeroblob(32), 0)",
	} {
		to := newFile(t, insert)
		before := dump(t, to)
		_, err := copyStore(t, from, to, ignore)
		wantText(t, err, "copy to %s: it is not empty: name a new file or an empty database", to)
		testkit.Equal(t, "the target changed (-before +after)", before, dump(t, to))
	}
}

// interruptCopy interrupts a copy of manyPets after a number of rows.
func interruptCopy(t *testing.T, from, to string, rows int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result, err := storecopy.Copy(ctx, engineOf(from), engineOf(to), options(false, func(n int) {
		if rows -= n; rows <= 0 {
			cancel()
		}
	}))
	if err == nil || !result.Started || len(result.Tables) > 0 || !strings.Contains(dump(t, to), "\npets ") {
		t.Fatalf("got %+v and %v, want a copy that is interrupted", result, err)
	}
}

const beginsAnew = " %s: it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store"

func TestUnfinishedCopyCannotBeOpenedOrCopied(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), missingFile(t)
	interruptCopy(t, from, to, 1)
	before := dump(t, to)
	wantText(t, open(t, to), "open the store"+beginsAnew, to, from)
	_, err := copyStore(t, to, missingFile(t), ignore)
	wantText(t, err, "open the source"+beginsAnew, to, from)
	_, err = copyStore(t, newFile(t), to, ignore)
	wantText(t, err, "copy to %s: it is an unfinished copy of %s: copy from that, or name an empty target", to, from)
	testkit.Equal(t, "the target changed (-before +after)", before, dump(t, to))
}

func TestInterruptedCopyBeginsAnew(t *testing.T) {
	t.Parallel()
	const inPets, inOrders = 1, 12001
	for name, test := range map[string]struct {
		rows   int
		change string // a statement that changes the source after the interruption
	}{
		"unchanged source": {inPets, ""},
		"other values": {inOrders, "UPDATE orders SET status = 'delivered' WHERE id = 1; UPDATE pets SET status = 'sold' WHERE id = 10;" +
			"INSERT INTO pets (id, name, category_id) VALUES (12001, 'new', 1); DELETE FROM pets WHERE id = 1"},
		"no rows": {inOrders, "DELETE FROM orders; DELETE FROM pets; DELETE FROM categories; DELETE FROM changes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newFile(t, manyPets), missingFile(t)
			interruptCopy(t, from, to, test.rows)
			check(t, execute(t, from, test.change))
			result, err := copyStore(t, from, to, ignore)
			testkit.Equal(t, "the number of tables", 7, len(result.Tables), err)
			wantSame(t, from, to)
			check(t, open(t, to)) // it is no unfinished copy
		})
	}
}

func TestCopyComparesTheRowsOfTheTarget(t *testing.T) {
	t.Parallel()
	from := newFile(t, manyPets)
	to := newFile(t, "CREATE TRIGGER change AFTER INSERT ON pets WHEN new.id = 7000 BEGIN UPDATE pets SET category_id = 0 WHERE id = 7000; END")
	_, err := copyStore(t, from, to, ignore)
	testkit.WantMessage(t, "the error", err, "table pets: the target has 12000 rows with the SHA-256 ")
	if open(t, to) == nil {
		t.Error("the target was opened, want that it is unfinished")
	}
}
