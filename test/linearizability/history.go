// Package linearizability records what concurrent clients send to a service and what they get, and
// judges whether one service without concurrency and failures could have returned that.
package linearizability

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Kind is what an operation does.
type Kind string

// The kinds of Operation.
const (
	Add        Kind = "add"
	Get        Kind = "get"
	List       Kind = "list"
	Order      Kind = "order"
	Deliver    Kind = "deliver"
	Cancel     Kind = "cancel"
	GetOrder   Kind = "getOrder"
	ListOrders Kind = "listOrders"
)

// An Operation is a request and its response. Each animal has a number, which its name contains, and
// at most maxOrders orders, each with a number. Attempts with the same idempotency key are operations
// for the same animal or order.
type Operation struct {
	Client  int    `json:"client"`
	Process int    `json:"process"` // that the request was sent to
	Kind    Kind   `json:"kind"`
	Animal  int    `json:"animal,omitempty"`
	Variant string `json:"variant,omitempty"` // of the body of an Add: "available", or "" without a status
	Order   int    `json:"order,omitempty"`
	Keyed   bool   `json:"keyed,omitempty"`
	After   int64  `json:"after,omitempty"` // of a List or ListOrders, as Limit and Filter
	Limit   int    `json:"limit,omitempty"`
	Filter  string `json:"filter,omitempty"`
	// Canonical is whether the query has the form of those of links, which the service need not parse.
	Canonical bool          `json:"canonical,omitempty"`
	Call      time.Duration `json:"call"`             // since the begin of the history
	Return    time.Duration `json:"return,omitempty"` // when the request was given up, if the outcome is unknown

	// The response.
	Code        string `json:"code,omitempty"` // "ok", or that of an error; "" if the outcome is unknown
	Replayed    bool   `json:"replayed,omitempty"`
	NotModified bool   `json:"notModified,omitempty"` // 304: then Page is the cached one
	PetID       int64  `json:"petId,omitempty"`       // of the response; of the request of an Order, and of a ListOrders for one animal
	PetStatus   string `json:"petStatus,omitempty"`
	OrderID     int64  `json:"orderId,omitempty"`
	OrderStatus string `json:"orderStatus,omitempty"`
	Page        []Item `json:"page,omitempty"`
	More        bool   `json:"more,omitempty"` // the page has a link to the next one
}

// The Code of an operation that succeeded.
const ok = "ok"

// An Item is an animal, or an order, of a page.
type Item struct {
	Animal  int    `json:"animal,omitempty"` // as its name has it
	Variant string `json:"variant,omitempty"`
	ID      int64  `json:"id"`
	PetID   int64  `json:"petId,omitempty"` // of an order
	Status  string `json:"status,omitempty"`
}

// isList reports whether the operation has a page.
func (op Operation) isList() bool { return op.Kind == List || op.Kind == ListOrders }

// A History is the operations of all clients, which add to it concurrently. It is judged afterwards.
type History struct {
	// SharedFile is whether the processes share an SQLite file. Then a page may be older than what another process has
	// acknowledged, by maxStaleness, but not than what its own has.
	SharedFile bool `json:"sharedFile"`

	path       string // of its file, if it has one
	mu         sync.Mutex
	begin      time.Time
	operations []Operation
}

// NewHistory returns an empty history, which begins now.
func NewHistory(sharedFile bool) *History { return &History{SharedFile: sharedFile, begin: time.Now()} }

func (h *History) now() time.Duration { return time.Since(h.begin) }

func (h *History) add(op Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, op)
}

// Len returns the number of operations.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)
}

// SucceededSince reports whether an Add that was sent after t has succeeded.
func (h *History) SucceededSince(t time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.operations) - 1; i >= 0 && h.operations[i].Return > t.Sub(h.begin); i-- {
		if op := h.operations[i]; op.Code == ok && op.Kind == Add && op.Call > t.Sub(h.begin) {
			return true
		}
	}
	return false
}

// String returns how many operations the history has.
func (h *History) String() string {
	unknown, notModified := 0, 0
	for _, op := range h.operations {
		if op.Code == "" {
			unknown++
		}
		if op.NotModified {
			notModified++
		}
	}
	return fmt.Sprintf("%d operations, %d of them without a known outcome, %d pages not modified", len(h.operations), unknown, notModified)
}

// Save writes the history to a file, as compressed NDJSON: a line for SharedFile, and one for each operation.
func (h *History) Save(path string) error {
	var text bytes.Buffer
	compressed := gzip.NewWriter(&text)
	encoder := json.NewEncoder(compressed)
	err := encoder.Encode(h)
	for _, op := range h.operations {
		err = errors.Join(err, encoder.Encode(op))
	}
	h.path = path
	return errors.Join(err, compressed.Close(), os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text.Bytes(), 0o644))
}

// Load reads a history that Save has written.
func Load(path string) (*History, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(text)
	decoder.DisallowUnknownFields()
	h := &History{path: path}
	if err := decoder.Decode(h); err != nil {
		return nil, err
	}
	for {
		var op Operation
		if err := decoder.Decode(&op); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		h.operations = append(h.operations, op)
	}
}
