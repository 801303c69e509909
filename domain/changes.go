package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A ChangeType says what has changed.
type ChangeType string // @name ChangeType

// The types of changes of animals, of orders and of the names of categories.
const (
	ChangePetAdded        ChangeType = "pet.added"
	ChangePetUpdated      ChangeType = "pet.updated"
	ChangePetRemoved      ChangeType = "pet.removed"
	ChangeOrderPlaced     ChangeType = "order.placed"
	ChangeOrderDelivered  ChangeType = "order.delivered"
	ChangeOrderCancelled  ChangeType = "order.cancelled"
	ChangeCategoryNamed   ChangeType = "category.named"
	ChangeCategoryRemoved ChangeType = "category.removed"
)

// A ChangeHeader says when a change was made, and by whom. Seq is its position: positions rise in the order of the
// commits. At is UTC, in milliseconds. Caller is who made the change, such as key:3, user:ann or command:import. It is
// empty if nobody is known.
type ChangeHeader struct {
	Seq    int64
	Type   ChangeType
	At     time.Time
	Caller string
}

// A Change is a change of an animal, of an order or of the name of a category.
type Change struct {
	ChangeHeader
	ChangedRecords
}

// ChangedRecords are the records of a change. Its JSON is the JSON of the API.
type ChangedRecords struct {
	Pet      *Pet      `json:"pet,omitempty"`      // the animal after the change, or before its removal; otherwise nil
	Before   *Pet      `json:"before,omitempty"`   // the animal before the change, only for ChangePetUpdated
	Order    *Order    `json:"order,omitempty"`    // the order after the change; otherwise nil
	Category *Category `json:"category,omitempty"` // the category with its new name, or with the removed one; otherwise nil
}

// A RecordedChange is a change as it is stored. Records is the JSON of its ChangedRecords.
type RecordedChange struct {
	ChangeHeader
	Records []byte
}

// Decode decodes the records of the change.
func (c RecordedChange) Decode() (Change, error) {
	change := Change{ChangeHeader: c.ChangeHeader}
	if err := json.Unmarshal(c.Records, &change.ChangedRecords); err != nil {
		return change, fmt.Errorf("decode the change %d: %w", c.Seq, err)
	}
	return change, nil
}

// A ChangePage is a page of changes. Next is where the next page begins: the position of the last change in the page. If
// the page is empty, it is the requested position, or the position before the oldest change if the requested position
// was 0. Latest is the position of the latest change in the store.
type ChangePage struct {
	Page[RecordedChange]
	Latest int64
}

// ChangesExpired returns the ErrExpired for a position after which changes are missing: they have been removed, or the
// store has never given out the position.
func ChangesExpired(position int64) error {
	return &Error{
		Kind: ErrExpired, Code: CodeChangesExpired,
		Message: fmt.Sprintf("the changes after %d are not known: read the lists again, then the changes after their Changes-Position", position),
	}
}

type callerKey struct{}

// WithCaller returns a context for operations of a caller, as in ChangeHeader.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerOf returns the caller of a context, or "".
func CallerOf(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// Numbers tell a cache which commits a page includes. Position is the Seq of the latest change. Altered is the Seq of the
// latest change that was not the addition of an animal or of an order. Generation differs if commits are not known to be
// in the other two. While a commit runs, Adding or Altering says what kind of changes may be visible already.
type Numbers struct {
	Position, Altered int64
	Generation        uint64
	Adding, Altering  bool
}

// Validates reports whether a page that was read at earlier Numbers has every change that is in n. grows says whether a
// record that was added later could belong to the page.
func (n Numbers) Validates(earlier Numbers, grows bool) bool {
	return n.Generation == earlier.Generation && n.Altered == earlier.Altered && !n.Altering &&
		(!grows || n.Position == earlier.Position && !n.Adding)
}
