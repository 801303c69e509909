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

// A record is an animal or an order in a response.
type record struct {
	ID     int64  `json:"id"`
	PetID  int64  `json:"petId"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

// send sends the request of an operation and adds it to the history with its response. While none of the processes is to
// be used, it waits until ctx ends.
func (c client) send(ctx context.Context, op *Operation) {
	method, path, body, key := http.MethodPost, "", "", ""
	switch op.Kind {
	case Add:
		path, key = "/v1/pets", fmt.Sprintf("animal-%d", op.Animal)
		body = fmt.Sprintf(`{"name":"animal-%d-%s","categoryId":1}`, op.Animal, op.Variant)
		if op.Variant != "" {
			body = strings.Replace(body, "}", fmt.Sprintf(`,"status":%q}`, op.Variant), 1)
		}
	case Order:
		path, body, key = "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, op.PetID), fmt.Sprintf("order-%d-%d", op.Animal, op.Order)
	case Deliver, Cancel:
		path = fmt.Sprintf("/v1/store/orders/%d/%s", op.OrderID, op.Kind)
	case Get:
		method, path = http.MethodGet, fmt.Sprintf("/v1/pets/%d", op.PetID)
	case GetOrder:
		method, path = http.MethodGet, fmt.Sprintf("/v1/store/orders/%d", op.OrderID)
	case List, ListOrders:
		method, path = http.MethodGet, pathOf(op)
	}
	header := http.Header{"Authorization": {"Bearer " + c.Key}, "Content-Type": {"application/json"}}
	if op.Keyed {
		header.Set("Idempotency-Key", key)
	}
	var cached cachedPage
	if op.isList() && c.random.IntN(2) == 0 {
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
	op.Call = c.History.now()
	response, text, err := c.do(method, url+path, body, header) //nolint:bodyclose // do closes it
	op.Return = c.History.now()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return // no process got the request
	case err != nil || response.StatusCode == http.StatusServiceUnavailable: // the outcome is unknown
	case response.StatusCode != http.StatusNotModified:
		op.Code = cmp.Or(op.read(response.StatusCode, text), ok)
	case cached.etag != "" && response.Header.Get("ETag") == cached.etag:
		op.Code, op.NotModified, op.Page = ok, true, cached.items
	default:
		op.Code = fmt.Sprintf("304 with the ETag %q, sent was %q", response.Header.Get("ETag"), cached.etag)
	}
	if op.Code != "" {
		op.Replayed = response.Header.Get("Idempotency-Replayed") == "true"
	}
	if op.isList() && op.Code == ok {
		op.More = response.Header.Get("Link") != ""
		c.pages.Store(path, cachedPage{response.Header.Get("ETag"), op.Page})
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

// read reads the response of an operation, and returns the code of its error.
func (op *Operation) read(status int, response []byte) (code string) {
	if status >= http.StatusMultipleChoices {
		var problem struct{ Code string }
		if err := json.Unmarshal(response, &problem); err != nil {
			return err.Error()
		}
		return cmp.Or(problem.Code, fmt.Sprintf("status %d without a code", status))
	}
	records := make([]record, 1)
	var err error
	if op.isList() {
		err = json.Unmarshal(response, &records)
	} else {
		err = json.Unmarshal(response, &records[0])
	}
	if err != nil {
		return err.Error()
	}
	for _, r := range records {
		item := Item{ID: r.ID, PetID: r.PetID, Status: r.Status}
		if op.Kind == Add || op.Kind == Get || op.Kind == List {
			var number string
			number, item.Variant, _ = strings.Cut(strings.TrimPrefix(r.Name, "animal-"), "-")
			item.Animal, err = strconv.Atoi(number)
			isOther := !op.isList() && item.Animal != op.Animal || op.Kind == Add && item.Variant != op.Variant
			if err != nil || isOther {
				return "the response has the name " + r.Name
			}
		}
		switch {
		case op.isList():
			op.Page = append(op.Page, item)
		case op.Kind == Add || op.Kind == Get:
			op.Variant, op.PetID, op.PetStatus = item.Variant, item.ID, item.Status
		case item.PetID != op.PetID:
			return fmt.Sprintf("the response has the petId %d", item.PetID)
		default:
			op.OrderID, op.OrderStatus = item.ID, item.Status
		}
	}
	return ""
}

// do sends a request.
func (c client) do(method, url, body string, header http.Header) (response *http.Response, text []byte, err error) {
	// The client has a timeout. A request is never given up before, because it may have been done.
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.GetBody = nil // else the transport repeats requests with a key by itself
	request.Header = header
	response, err = c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response, text, err
}
