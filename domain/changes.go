package domain

import (
	"fmt"
	"time"
)

// A ChangeType says what has changed.
type ChangeType string // @name ChangeType

// The types of changes of animals and of orders.
const (
	ChangePetAdded       ChangeType = "pet.added"
	ChangePetUpdated     ChangeType = "pet.updated"
	ChangePetRemoved     ChangeType = "pet.removed"
	ChangeOrderPlaced    ChangeType = "order.placed"
	ChangeOrderDelivered ChangeType = "order.delivered"
	ChangeOrderCancelled ChangeType = "order.cancelled"
)

// A Change is a change of an animal or of an order. Seq is its position; positions rise in the order of the commits. Pet
// or Order is the record after the change; for ChangePetRemoved it is the animal before. At is UTC, in milliseconds.
type Change struct {
	Seq   int64
	Type  ChangeType
	At    time.Time
	Pet   *Pet   // nil if an order has changed
	Order *Order // nil if an animal has changed
}

// A ChangePage is a page of changes. Position is where the next page begins: the position of the last change in the
// page. If the page is empty, it is the requested position, or Recording.KeptAfter if the requested position was 0.
// Last is the position of the latest change in the store.
type ChangePage struct {
	Page[Change]
	Position, Last int64
}

// A Recording says which changes are kept. KeptAfter is the position before the oldest change: all changes after it are
// kept. Last is the position of the latest change, or equals KeptAfter if there is no change. If Active is false, changes
// are not recorded any more.
type Recording struct {
	Active          bool
	KeptAfter, Last int64
}

// ChangesExpired returns the ErrExpired for a position after which changes are missing: they have been removed, or the
// position is of another recording.
func ChangesExpired(position int64) error {
	return &Error{
		Kind: ErrExpired, Code: CodeChangesExpired,
		Message: fmt.Sprintf("the changes after %d are not known: read the lists again, then the changes after their Changes-Position", position),
	}
}
