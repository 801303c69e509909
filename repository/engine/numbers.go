package engine

// Numbers are the row of the table store. Each transaction reads the row under the lock of all transactions.
type Numbers struct {
	Position  int64 // the seq of the latest change
	Altered   int64 // the seq of the latest change that was not the addition of an animal or of an order, or a later number after a repair
	KeptAfter int64 // the position before the oldest change that is kept

	// The greatest id that each table has given out. Ids are never given out again.
	LastPet, LastOrder, LastKey int64

	// The numbers of all animals by their status.
	Available, Pending, Sold, None int64
}

// NumbersColumns are the columns of the table store, in the order of Fields.
const NumbersColumns = "position, altered, kept_after, last_pet, last_order, last_key, available, pending, sold, none"

// UpdateNumbers is the statement that writes Numbers. Its arguments are the Values.
const UpdateNumbers = `UPDATE store SET position = $1, altered = $2, kept_after = $3, last_pet = $4, last_order = $5, last_key = $6,
	available = $7, pending = $8, sold = $9, none = $10`

// Fields returns pointers to all fields, for Scan.
func (n *Numbers) Fields() []any {
	return []any{
		&n.Position, &n.Altered, &n.KeptAfter, &n.LastPet, &n.LastOrder, &n.LastKey,
		&n.Available, &n.Pending, &n.Sold, &n.None,
	}
}

// Values returns the values of all fields.
func (n Numbers) Values() []any {
	return []any{n.Position, n.Altered, n.KeptAfter, n.LastPet, n.LastOrder, n.LastKey, n.Available, n.Pending, n.Sold, n.None}
}
