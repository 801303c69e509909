package domain

import (
	"fmt"
	"time"
)

// A ChangeType says what has changed.
type ChangeType string // @name ChangeType

// The changes of animals and of orders.
const (
	ChangePetAdded       ChangeType = "pet.added"
	ChangePetUpdated     ChangeType = "pet.updated"
	ChangePetRemoved     ChangeType = "pet.removed"
	ChangeOrderPlaced    ChangeType = "order.placed"
	ChangeOrderDelivered ChangeType = "order.delivered"
	ChangeOrderCancelled ChangeType = "order.cancelled"
)

// A Change is a change of an animal or of an order. Seq is its position: it rises in the order of the
// commits. The record is as it was after the change, or before a ChangePetRemoved. At is UTC, in milliseconds.
type Change struct {
	Seq   int64
	Type  ChangeType
	At    time.Time
	Pet   *Pet   // nil for an order
	Order *Order // nil for an animal
}

// A ChangePage is a page of changes. Position is the position of its last change, or if empty, the
// requested position. Last is the position of the last change of all.
type ChangePage struct {
	Page[Change]
	Position, Last int64
}

// A Recording says which changes are recorded: all those after the position KeptAfter. Last is the
// position of the last one, KeptAfter if there is none. If Active is false, no more are recorded.
type Recording struct {
	Active          bool
	KeptAfter, Last int64
}

// ChangesExpired returns the ErrExpired for a position whose next changes are not known, because they
// are not kept any more or because it is not one of this recording.
func ChangesExpired(position int64) error {
	return &Error{
		Kind: ErrExpired, Code: CodeChangesExpired,
		Message: fmt.Sprintf("the changes after %d are not known: read the lists again, then the changes after their Changes-Position", position),
	}
}
