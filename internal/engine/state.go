package engine

import "fmt"

// A State is the row of the table store. Each transaction reads the row under the lock of all transactions.
type State struct {
	Position  int64 // the seq of the latest change
	Altered   int64 // the seq of the latest change that was not the addition of an animal or of an order, or a later number after a repair
	KeptAfter int64 // the position before the oldest change that is kept

	// The greatest id that each table has given out. Ids are never given out again.
	LastPet, LastOrder, LastKey int64

	// The numbers of all animals by their status.
	Available, Pending, Sold, None int64

	// MinSchemaVersion is the schema version that a program must know to use the store. Only migrations write it.
	MinSchemaVersion int64
}

// StateColumns are the columns of the table store, in the order of Fields.
const StateColumns = "position, altered, kept_after, last_pet, last_order, last_key, available, pending, sold, none, min_schema_version"

// UpdateState is the statement that writes a State, except MinSchemaVersion. Its arguments are the Values.
const UpdateState = `UPDATE store SET position = $1, altered = $2, kept_after = $3, last_pet = $4, last_order = $5, last_key = $6,
	available = $7, pending = $8, sold = $9, none = $10`

// Fields returns pointers to all fields, for Scan.
func (s *State) Fields() []any {
	return []any{
		&s.Position, &s.Altered, &s.KeptAfter, &s.LastPet, &s.LastOrder, &s.LastKey,
		&s.Available, &s.Pending, &s.Sold, &s.None, &s.MinSchemaVersion,
	}
}

// Values returns the arguments of UpdateState.
func (s State) Values() []any {
	return []any{s.Position, s.Altered, s.KeptAfter, s.LastPet, s.LastOrder, s.LastKey, s.Available, s.Pending, s.Sold, s.None}
}

// CheckSchema returns a NewerSchemaError if this program must not use the store.
func (s State) CheckSchema() error {
	if s.MinSchemaVersion > SchemaVersion {
		return NewerSchemaError(s.MinSchemaVersion)
	}
	return nil
}

// A NewerSchemaError is the error for a store that a newer program has migrated: the schema version that a program must know.
type NewerSchemaError int64

// Error returns a message for the operator.
func (e NewerSchemaError) Error() string {
	return fmt.Sprintf("wrong schema version: a newer petstore has migrated the store to %d, this program supports %d: use a newer petstore",
		int64(e), SchemaVersion)
}
