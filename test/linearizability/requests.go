package linearizability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A record is an animal or an order in a response.
type record struct {
	ID         int64  `json:"id"`
	PetID      int64  `json:"petId"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// An inventory is the numbers of animals in a response, perhaps of a category.
type inventory struct {
	ID                                    int64
	Name                                  string
	Available, Pending, Sold, None, Total int
}

func (n inventory) category() Category {
	return Category{n.ID, n.Name, [5]int{n.Available, n.Pending, n.Sold, n.None, n.Total}}
}

// nameOf returns the name of an animal. It contains the shelf, the number on the shelf and the variant.
func nameOf(shelf, animal, variant int) string {
	return fmt.Sprintf("animal-%d-%d-%d", shelf, animal, variant)
}

// item returns the animal or the order of a response.
func (r record) item() (item Item, err error) {
	item = Item{ID: r.ID, PetID: r.PetID, Fields: Fields{Status: r.Status}}
	switch {
	case r.PetID != 0:
	case !strings.HasPrefix(r.Name, "animal-"):
		item.Name, item.Category = r.Name, int(r.CategoryID)
	default:
		_, err = fmt.Sscanf(r.Name, "animal-%d-%d-%d", &item.Shelf, &item.Animal, &item.Variant)
		item.Category = int(r.CategoryID) - 2*item.Shelf
		if err != nil || r.Name != nameOf(item.Shelf, item.Animal, item.Variant) || item.Category != 0 && item.Category != 1 {
			err = fmt.Errorf("the response has the name %s and the category %d", r.Name, r.CategoryID)
		}
	}
	return item, err
}

// request returns the method, the path, the body and the idempotency key of an operation.
func (op *Operation) request() (method, path, body, key string) {
	method, key = http.MethodPost, fmt.Sprintf("%s-%d-%d-%d", op.Kind, op.Shelf, op.Animal, op.Order)
	switch op.Kind {
	case Add:
		var pets []map[string]any
		for i, f := range op.Pets {
			pets = append(pets, op.members(i, Patch{&f.Variant, &f.Category, &f.Status}))
			if f.Status == "" {
				delete(pets[i], "status")
			}
		}
		if path = "/v1/pets/batch"; len(pets) == 1 {
			return method, "/v1/pets", encode(pets[0]), key
		}
		body = encode(pets)
	case Order:
		path, body = "/v1/store/orders", encode(map[string]any{"petId": op.ID})
	case Deliver, Cancel:
		path = fmt.Sprintf("/v1/store/orders/%d/%s", op.OrderID, op.Kind)
	case Correct:
		method, body = http.MethodPatch, encode(op.members(0, op.Patch))
	case NameCategory:
		method, body = http.MethodPut, encode(map[string]any{"name": op.Name})
	case Remove, UnnameCategory:
		method = http.MethodDelete
	case Get, GetOrder, List, ListOrders, ListCategories, Count, Command:
		method = http.MethodGet
	}
	return method, cmp.Or(path, pathOf(op)), body, key
}

// members returns the members of the JSON with which a patch changes the animal i of an operation.
func (op *Operation) members(i int, p Patch) map[string]any {
	members := map[string]any{}
	if p.Variant != nil {
		members["name"] = nameOf(op.Shelf, op.Animal+i, *p.Variant)
	}
	if p.Category != nil {
		members["categoryId"] = 2*op.Shelf + *p.Category
	}
	if p.Status != nil {
		if members["status"] = *p.Status; *p.Status == "" {
			members["status"] = nil
		}
	}
	return members
}

func encode(value any) string {
	text, _ := json.Marshal(value) // cannot fail: the value has only texts and numbers
	return string(text)
}

// send sends the request of an operation, and adds the operation with its response to the history. If no
// process may be used, it waits for one until ctx ends.
func (c client) send(ctx context.Context, op *Operation) {
	method, path, body, key := op.request()
	if op.Key = 1 + c.random.IntN(len(c.Keys)); op.Keyed {
		op.Key = 1 + op.Shelf%len(c.Keys)
	}
	header := http.Header{"Authorization": {"Bearer " + c.Keys[op.Key-1]}, "Content-Type": {"application/json"}}
	if op.Kind == Correct {
		header.Set("Content-Type", "application/merge-patch+json")
	}
	if op.Keyed {
		header.Set("Idempotency-Key", key)
	}
	if op.Match != nil {
		if tag, known := c.tags.Load(version{op.ID, *op.Match}); known {
			header.Set("If-Match", tag.(string))
		} else {
			op.Match = nil // the animal has got another id, which the judge rejects
		}
	}
	var cached cachedPage
	if op.onlyReads() && c.random.IntN(2) == 0 {
		page, _ := c.pages.Load(path)
		if cached, _ = page.(cachedPage); cached.etag != "" {
			header.Set("If-None-Match", cached.etag)
		}
	}
	url := ""
	for url == "" {
		if ctx.Err() != nil {
			return
		}
		op.Process = c.processes[c.random.IntN(len(c.processes))]
		if url = c.URLs[op.Process](); url == "" {
			time.Sleep(time.Millisecond)
		}
	}
	op.Proxied = c.History.Proxied
	op.Call = c.History.now()
	response, text, err := c.do(method, url+path, body, header) //nolint:bodyclose // do closes it
	op.Return = c.History.now()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return // no process got the request
	case err != nil: // the outcome is unknown
	case response.StatusCode != http.StatusNotModified:
		op.read(response, text)
		if age := response.Header.Get("Age"); age != "" { // the page was fresh at some moment since the new op.Call
			seconds, err := strconv.Atoi(age)
			op.Stale, op.Call = true, max(0, op.Call-time.Duration(seconds)*time.Second)
			if err != nil || response.Header.Get("ETag") != "" {
				op.Code = fmt.Sprintf("Age %q with ETag %q", age, response.Header.Get("ETag"))
			}
		}
		c.checkTag(op, response.Header.Get("ETag"))
	case cached.etag != "" && response.Header.Get("ETag") == cached.etag:
		op.Response = cached.Response
		op.NotModified = true
		op.readPosition(response.Header)
	default:
		op.Code = fmt.Sprintf("304 with the ETag %q, sent was %q", response.Header.Get("ETag"), cached.etag)
	}
	if op.Code == ok && op.onlyReads() {
		op.More = op.isPage() && response.Header.Get("Link") != "" // the Link of getPet is not a next page
		c.pages.Store(path, cachedPage{response.Header.Get("ETag"), op.Response})
	}
	c.History.add(*op)
}

// checkTag checks that a version of an animal has the same ETag in all responses, and that no other version
// has it.
func (c client) checkTag(op *Operation, tag string) {
	if op.Code != ok || op.Stale || op.isList() || len(op.Items) != 1 || op.Items[0].PetID != 0 {
		return
	}
	v := version{op.Items[0].ID, op.Items[0].Fields}
	if known, _ := c.tags.LoadOrStore(v, tag); known != tag || tag == "" {
		op.Code = fmt.Sprintf("the ETag %q, and before %q", tag, known)
	}
	if other, _ := c.tags.LoadOrStore(tag, v); other != v {
		op.Code = fmt.Sprintf("the ETag of %+v is that of %+v", v, other)
	}
}

// firstPage has the After of the first page of each list.
var firstPage = map[Kind]int64{ListCategories: math.MinInt64}

// pathOf returns the path of an operation that reads or that concerns one animal or category, with the query of a page.
// The canonical query for the first 20 records is empty.
func pathOf(op *Operation) string {
	q, filters := op.Query, ""
	add := func(name, value string) {
		if value != "" && value != "0" {
			filters += "&" + name + "=" + value
		}
	}
	add("status", q.Statuses)
	add("categoryId", fmt.Sprint(q.Category))
	add("petId", fmt.Sprint(q.PetID))
	add("id", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(q.IDs), "[]")), ","))
	if q.Newest {
		add("sort", "-id")
	}
	path := map[Kind]string{
		List: "/v1/pets", ListOrders: "/v1/store/orders", ListCategories: "/v1/categories", Count: "/v1/store/inventory",
	}[op.Kind]
	switch {
	case op.Kind == GetOrder:
		return fmt.Sprintf("/v1/store/orders/%d", op.OrderID)
	case op.Kind == NameCategory || op.Kind == UnnameCategory:
		return fmt.Sprintf("/v1/categories/%d", op.ID)
	case path == "":
		return fmt.Sprintf("/v1/pets/%d", op.ID)
	case op.Kind == Count || q.IDs != nil:
		return path + strings.Replace(filters, "&", "?", 1)
	case !q.Canonical:
		return fmt.Sprintf("%s?after=%d&limit=%d%s", path, q.After, q.Limit, filters)
	case q.After == firstPage[op.Kind] && q.Limit == 20 && filters == "":
		return path
	}
	return fmt.Sprintf("%s?limit=%d%s&after=%d", path, q.Limit, filters, q.After)
}

// read reads the response of an operation. If the service may not send such a response, the Code says so.
func (op *Operation) read(response *http.Response, text []byte) {
	decoded, err := op.decode(response.StatusCode, text)
	if op.Response = decoded; err != nil {
		op.Response = Response{Code: err.Error()}
	}
	op.Replayed = response.Header.Get("Idempotency-Replayed") == "true"
	op.readPosition(response.Header)
	if op.Code == unavailable && response.Header.Get("Retry-After") == "" {
		op.Code = "503 without Retry-After"
	}
}

// readPosition reads the Changes-Position of a response.
func (op *Operation) readPosition(header http.Header) {
	op.Position, _ = strconv.ParseInt(header.Get("Changes-Position"), 10, 64) // 0 without one
}

// decode returns the records or the counts of a response. For an error response, it returns the code as an
// error.
func (op *Operation) decode(status int, text []byte) (r Response, err error) {
	if status >= http.StatusMultipleChoices {
		var problem struct{ Code string }
		err := json.Unmarshal(text, &problem)
		return r, cmp.Or(err, errors.New(cmp.Or(problem.Code, fmt.Sprintf("status %d without a code", status))))
	}
	r.Code = ok
	switch op.Kind { //nolint:exhaustive // the others return animals or orders
	case Remove, UnnameCategory:
	case Count:
		var n inventory
		err = json.Unmarshal(text, &n)
		r.Counts = n.category().Counts
	case NameCategory:
		var n inventory
		err = json.Unmarshal(text, &n)
		r.Categories = []Category{n.category()}
	case ListCategories:
		var all []inventory
		err = json.Unmarshal(text, &all)
		for _, n := range all {
			r.Categories = append(r.Categories, n.category())
		}
	default:
		r.Items, err = op.decodeItems(text)
	}
	return r, err
}

// decodeItems returns the animals or the orders of a response.
func (op *Operation) decodeItems(text []byte) (items []Item, err error) {
	records := make([]record, 1)
	if op.isList() || len(op.Pets) > 1 {
		err = json.Unmarshal(text, &records)
	} else {
		err = json.Unmarshal(text, &records[0])
	}
	if op.Kind == Add && len(records) != len(op.Pets) {
		err = cmp.Or(err, fmt.Errorf("the response has %d animals", len(records)))
	}
	for i, r := range records {
		item, itemErr := r.item()
		isOther := !op.isList() && (item.PetID == 0 && (item.Shelf != op.Shelf || item.Animal != op.Animal+i) ||
			item.PetID != 0 && item.PetID != op.ID)
		if isOther || op.Kind == Add && i > 0 && item.ID <= items[i-1].ID {
			itemErr = fmt.Errorf("the response has %+v", r)
		}
		items, err = append(items, item), cmp.Or(err, itemErr)
	}
	return slices.Clip(items), err
}

// do sends a request once, and reads the body of the response.
func (c client) do(method, url, body string, header http.Header) (response *http.Response, text []byte, err error) {
	// The client has a timeout. Nothing else ends a request, because the service may have handled it.
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.GetBody = nil // otherwise the transport repeats requests with a key by itself
	request.Header = header
	response, err = c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response, text, err
}
