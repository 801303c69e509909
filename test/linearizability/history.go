// Package linearizability records the requests of concurrent clients to a service and the responses. It
// judges whether a service without concurrency and without failures could have returned these responses.
package linearizability

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Kind is what an operation does.
type Kind string

// The kinds of operations.
const (
	Add        Kind = "add" // adds one animal, or several at once
	Get        Kind = "get"
	Correct    Kind = "correct"
	Remove     Kind = "remove"
	List       Kind = "list"
	Count      Kind = "count"
	Order      Kind = "order"
	Deliver    Kind = "deliver"
	Cancel     Kind = "cancel"
	GetOrder   Kind = "getOrder"
	ListOrders Kind = "listOrders"
	Command    Kind = "command" // a command beside the service has added or changed animals

	NameCategory   Kind = "nameCategory"
	UnnameCategory Kind = "unnameCategory" // removes the name of a category
	ListCategories Kind = "listCategories"
)

// An Operation is a request and its response. A shelf is two categories with a few animals. Each animal has
// a number on its shelf. It has at most maxOrders orders, each with a number. Requests with the same
// idempotency key are operations for the same animal or order.
type Operation struct {
	Client  int      `json:"client"`
	Process int      `json:"process"` // the process that got the request
	Key     int      `json:"key"`     // the id of the API key of the request
	Kind    Kind     `json:"kind"`
	Shelf   int      `json:"shelf,omitempty"`
	Animal  int      `json:"animal,omitempty"` // the number of the animal, or of the first of several
	Order   int      `json:"order,omitempty"`
	ID      int64    `json:"id,omitempty"` // the id of the animal, 0 for an Add, or of the category that gets or loses its name
	OrderID int64    `json:"orderId,omitempty"`
	Keyed   bool     `json:"keyed,omitempty"`
	Pets    []Fields `json:"pets,omitempty"`    // the animals of an Add
	Patch   Patch    `json:"patch,omitzero"`    // the correction of a Correct
	Match   *Fields  `json:"match,omitempty"`   // If-Match has the ETag of this version
	Name    string   `json:"name,omitempty"`    // the name that a category gets
	Query   Query    `json:"query,omitzero"`    // the query of a page or a Count
	Changes int      `json:"changes,omitempty"` // the number of changes that a Command has made

	Call   time.Duration `json:"call"`   // when the request was sent, minus the Age of a stale page; 0 is the beginning of the history
	Return time.Duration `json:"return"` // when the response was read, or the request was given up
	Stale  bool          `json:"stale,omitempty"`
	// Proxied is whether a proxy may have sent the request to a second process, because the first one died. nginx
	// does so only if the method is idempotent. DELETE is the only write with such a method, because these
	// clients name no categories (PUT).
	Proxied bool `json:"proxied,omitempty"`
	Response
}

// Fields are the fields of an animal.
type Fields struct {
	Variant  int    `json:"variant,omitempty"`  // makes the name different
	Category int    `json:"category,omitempty"` // 0 or 1, the first or second category of the shelf
	Status   string `json:"status,omitempty"`   // "" for an animal without a status
	// Name is the name of an animal that no client has added. Such an animal has the shelf 0 and any Category.
	Name string `json:"name,omitempty"`
}

// A Patch has the fields that a correction changes.
type Patch struct {
	Variant  *int    `json:"variant,omitempty"`
	Category *int    `json:"category,omitempty"`
	Status   *string `json:"status,omitempty"`
}

// apply returns f with the fields of the patch replaced.
func (p Patch) apply(f Fields) Fields {
	for to, from := range map[*int]*int{&f.Variant: p.Variant, &f.Category: p.Category} {
		if from != nil {
			*to = *from
		}
	}
	if p.Status != nil {
		f.Status = *p.Status
	}
	return f
}

// A Query selects the records of a page, or the animals to count.
type Query struct {
	After    int64   `json:"after,omitempty"` // of the first page, 0 or for categories the least id
	Limit    int     `json:"limit,omitempty"`
	Newest   bool    `json:"newest,omitempty"`   // descending by id if set
	Statuses string  `json:"statuses,omitempty"` // separated by commas
	Category int64   `json:"category,omitempty"` // a category of the service, 0 for all
	IDs      []int64 `json:"ids,omitempty"`
	PetID    int64   `json:"petId,omitempty"` // only orders of this animal, 0 for all
	// Canonical is whether the query is written as in the links that the service returns. The service need
	// not parse such a query.
	Canonical bool `json:"canonical,omitempty"`
}

// A Response is what a client knows of the outcome of an operation.
type Response struct {
	Code        string     `json:"code,omitempty"` // ok, or the code of the error; "" if the outcome is unknown
	Replayed    bool       `json:"replayed,omitempty"`
	NotModified bool       `json:"notModified,omitempty"` // the response was 304: the items are from the cached page
	Items       []Item     `json:"items,omitempty"`       // the records of the response
	Categories  []Category `json:"categories,omitempty"`
	More        bool       `json:"more,omitempty"`     // the page has a link to the next one
	Counts      [5]int     `json:"counts,omitzero"`    // available, pending, sold, without a status, in total
	Position    int64      `json:"position,omitempty"` // the Changes-Position, 0 if there is none
}

// The codes of operations.
const (
	ok                 = "ok"
	unavailable        = "unavailable"
	petNotFound        = "pet_not_found"
	petNotAvailable    = "pet_not_available"
	petOrdered         = "pet_ordered"
	preconditionFailed = "precondition_failed"
	keyReused          = "idempotency_key_reused"
	stateConflict      = "order_state_conflict"
	categoryNotFound   = "category_not_found"
)

// An Item is an animal, or an order with the status of its Fields.
type Item struct {
	Shelf  int `json:"shelf,omitempty"` // the shelf in the name
	Animal int `json:"animal,omitempty"`
	Fields
	ID    int64 `json:"id"`
	PetID int64 `json:"petId,omitempty"` // the animal of an order
}

// A Category is a category with the numbers of its animals. A change has no numbers.
type Category struct {
	ID     int64  `json:"id"`
	Name   string `json:"name,omitempty"`
	Counts [5]int `json:"counts,omitzero"` // as in Response
}

// isListed reports whether lists have the category.
func (c Category) isListed() bool { return c.Name != "" || c.Counts[4] > 0 }

// isList reports whether the response is a page of animals or orders.
func (op *Operation) isList() bool { return op.Kind == List || op.Kind == ListOrders }

// isPage reports whether the response is a page.
func (op *Operation) isPage() bool { return op.isList() || op.Kind == ListCategories }

// onlyReads reports whether the operation changes nothing, whatever its outcome.
func (op *Operation) onlyReads() bool {
	return op.isPage() || op.Kind == Get || op.Kind == GetOrder || op.Kind == Count
}

// A History is the operations of all clients. The clients add operations concurrently. It is judged
// afterwards.
type History struct {
	// Proxied is whether the clients use a proxy, see Operation.Proxied.
	Proxied bool `json:"proxied,omitempty"`
	// Uncertain is whether a write with a 503 may have been committed, because the disk or the database
	// server fails.
	Uncertain bool `json:"uncertain"`
	// Changes are all changes of the store, in the order of the feed. If there are none, they are not judged.
	Changes []Change `json:"changes,omitempty"`

	path       string // the path of its file, if it was saved or loaded
	mu         sync.Mutex
	begin      time.Time
	operations Operations // by Return
}

// NewHistory returns an empty history that begins now.
func NewHistory() *History { return &History{begin: time.Now()} }

func (h *History) now() time.Duration { return time.Since(h.begin) }

func (h *History) add(op Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, op)
}

// Since returns the operations that have ended since a time.
func (h *History) Since(t time.Time) Operations {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := len(h.operations)
	for first > 0 && h.operations[first-1].Return > t.Sub(h.begin) {
		first--
	}
	return slices.Clone(h.operations[first:])
}

// Len returns the number of operations.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)
}

// Unavailable returns the number of responses with 503.
func (h *History) Unavailable() int { return h.Since(h.begin).Counts().Unavailable }

// String returns the number of operations, of pages that were not modified, and of requests by outcome.
func (h *History) String() string {
	notModified := 0
	for _, op := range h.operations {
		if op.NotModified {
			notModified++
		}
	}
	return fmt.Sprintf("%d operations, %d pages not modified; %v", len(h.operations), notModified, h.operations.Counts())
}

// at returns a history that has only the operations whose Call is at most sent. If the Return of an operation
// is after acknowledged, its outcome is unknown.
func (h *History) at(acknowledged, sent time.Duration) *History {
	past := &History{Uncertain: h.Uncertain, begin: h.begin}
	for _, op := range h.operations {
		if op.Return > acknowledged {
			op.Response = Response{}
		}
		if op.Call <= sent {
			past.operations = append(past.operations, op)
		}
	}
	return past
}

// Operations are some operations of a history.
type Operations []Operation

// Counts are numbers of requests by outcome. Acknowledged, Refused and Unknown are writes. Unavailable are
// all responses with 503, and Stale are the stale pages.
type Counts struct{ Acknowledged, Refused, Unknown, Unavailable, Stale int }

func (c Counts) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d refused, %d unknown, %d responses with 503", c.Acknowledged, c.Refused, c.Unknown, c.Unavailable)
}

// Counts returns the numbers of the operations with each outcome.
func (all Operations) Counts() (c Counts) {
	for _, op := range all {
		if op.Code == unavailable {
			c.Unavailable++
		}
		if op.Stale {
			c.Stale++
		}
		switch {
		case op.onlyReads():
		case op.Code == ok:
			c.Acknowledged++
		case op.Code == "":
			c.Unknown++
		default:
			c.Refused++
		}
	}
	return c
}

// Acknowledged returns the operations that succeeded. If reads is set, it returns the reads, otherwise the
// writes.
func (all Operations) Acknowledged(reads bool) (acknowledged Operations) {
	for _, op := range all {
		if op.Code == ok && op.onlyReads() == reads {
			acknowledged = append(acknowledged, op)
		}
	}
	return acknowledged
}

// P99 returns the 99th percentile of the durations of operations, or 0 if there are none.
func (all Operations) P99() time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Operation) int { return cmp.Compare(a.Return-a.Call, b.Return-b.Call) })
	slow := sorted[len(sorted)*99/100]
	return (slow.Return - slow.Call).Round(10 * time.Microsecond)
}

// LongestGap returns the longest time between start and now in which none of the operations ended.
func (h *History) LongestGap(start time.Time, all Operations) (longest time.Duration) {
	last := start.Sub(h.begin)
	for _, op := range append(all, Operation{Return: h.now()}) {
		longest, last = max(longest, op.Return-last), op.Return
	}
	return longest
}

// Save writes the history to a file, as compressed NDJSON. The first line is the History, each other line
// an operation.
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

// never is the end of an operation whose outcome is unknown.
const never = time.Duration(math.MaxInt64)
