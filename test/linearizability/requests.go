package linearizability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A record is an animal, an order or an error in a response.
type record struct {
	ID     int64  `json:"id"`
	PetID  int64  `json:"petId"`
	Name   string `json:"name"`
	Status any    `json:"status"`
	Code   string `json:"code"`
}

func (r record) status() string {
	text, _ := r.Status.(string)
	return text
}

// animal returns the number and the variant in the name of an animal.
func (r record) animal() (number, variant string) {
	number, variant, _ = strings.Cut(strings.TrimPrefix(r.Name, "animal-"), "-")
	return number, variant
}

// send sends the request of an operation and adds it to the history with its response. While none of the processes is to
// be used, it waits until ctx ends.
func (c client) send(ctx context.Context, op *Operation) {
	var method, path, body, key string
	switch op.Kind {
	case Add:
		method, path, key = http.MethodPost, "/v1/pets", fmt.Sprintf("animal-%d", op.Animal)
		body = fmt.Sprintf(`{"name":"animal-%d-%s","categoryId":1}`, op.Animal, op.Variant)
		if op.Variant != "" {
			body = fmt.Sprintf(`{"name":"animal-%d-%s","categoryId":1,"status":%q}`, op.Animal, op.Variant, op.Variant)
		}
	case Get:
		method, path = http.MethodGet, fmt.Sprintf("/v1/pets/%d", op.PetID)
	case Order:
		method, path, body, key = http.MethodPost, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, op.PetID), fmt.Sprintf("order-%d-%d", op.Animal, op.Order)
	case GetOrder:
		method, path = http.MethodGet, fmt.Sprintf("/v1/store/orders/%d", op.OrderID)
	case Deliver, Cancel:
		method, path = http.MethodPost, fmt.Sprintf("/v1/store/orders/%d/%s", op.OrderID, op.Kind)
	case List, ListOrders:
		method, path = http.MethodGet, pathOf(op)
	}
	if !op.Keyed {
		key = ""
	}
	var cached cachedPage
	if op.isList() && c.random.IntN(2) == 0 {
		page, _ := c.pages.Load(path)
		cached, _ = page.(cachedPage)
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
	op.Call = c.History.now()
	status, header, response, err := c.do(method, url+path, body, key, cached.etag)
	op.Return = c.History.now()
	if errors.Is(err, syscall.ECONNREFUSED) {
		return // no process got the request
	}
	op.Replayed = header.Get("Idempotency-Replayed") == "true"
	etag := header.Get("ETag")
	switch {
	case err != nil || status != http.StatusNotModified:
		c.read(op, status, response, err)
	case cached.etag != "" && etag == cached.etag:
		op.Code, op.NotModified, op.Page = ok, true, cached.items
	default:
		op.Code = fmt.Sprintf("304 with the ETag %q, sent was %q", etag, cached.etag)
	}
	if op.isList() && op.Code == ok {
		op.More = header.Get("Link") != ""
		c.pages.Store(path, cachedPage{etag, op.Page})
	}
	c.History.add(*op)
}

// pathOf returns the path and query of a page. The canonical query for the first 20 of all is none.
func pathOf(op *Operation) string {
	path := map[Kind]string{List: "/v1/pets", ListOrders: "/v1/store/orders"}[op.Kind]
	filters := ""
	if op.Filter != "" {
		filters = "&status=" + op.Filter
	}
	if op.PetID != 0 {
		filters += fmt.Sprintf("&petId=%d", op.PetID)
	}
	switch {
	case !op.Canonical:
		return fmt.Sprintf("%s?after=%d&limit=%d%s", path, op.After, op.Limit, filters)
	case op.After == 0 && op.Limit == 20 && filters == "":
		return path
	}
	return fmt.Sprintf("%s?limit=%d%s&after=%d", path, op.Limit, filters, op.After)
}

// read reads the response of an operation. 503 and no response leave its outcome unknown.
func (c client) read(op *Operation, status int, response []byte, err error) {
	var one record
	var records []record
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		return
	case op.isList() && status == http.StatusOK:
		err = json.Unmarshal(response, &records)
	default:
		err = json.Unmarshal(response, &one)
	}
	switch {
	case err != nil:
		op.Code = err.Error()
	case status >= http.StatusMultipleChoices:
		op.Code = cmp.Or(one.Code, fmt.Sprintf("status %d without a code", status))
	default:
		op.Code = ok
	}
	if op.Code != ok {
		return
	}
	switch op.Kind {
	case List:
		for _, r := range records {
			number, variant := r.animal()
			animal, err := strconv.Atoi(number)
			if err != nil {
				op.Code = "the page has the name " + r.Name
				return
			}
			op.Page = append(op.Page, Item{Animal: animal, Variant: variant, ID: r.ID, Status: r.status()})
		}
	case ListOrders:
		for _, r := range records {
			op.Page = append(op.Page, Item{ID: r.ID, PetID: r.PetID, Status: r.status()})
		}
	case Add, Get:
		number, variant := one.animal()
		if number != strconv.Itoa(op.Animal) || op.Kind == Add && variant != op.Variant {
			op.Code = "the response has the name " + one.Name
			return
		}
		op.Variant = variant
		op.PetID, op.PetStatus = one.ID, one.status()
	case Order, GetOrder, Deliver, Cancel:
		if one.PetID != op.PetID {
			op.Code = fmt.Sprintf("the response has the petId %d", one.PetID)
			return
		}
		op.OrderID, op.OrderStatus = one.ID, one.status()
	}
}

// do sends a request.
func (c client) do(method, url, body, key, etag string) (int, http.Header, []byte, error) {
	// The client has a timeout. A request is never given up before, because it may have been done.
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.GetBody = nil // else the transport repeats requests with a key by itself
	request.Header.Set("Authorization", "Bearer "+c.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}
