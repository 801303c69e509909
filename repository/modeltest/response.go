package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"time"

	"example.com/petstore/domain"
)

// A response is what is compared of a response.
type response struct {
	status int
	body   string // JSON with sorted members, or the code of an error
	id     int64  // of the record
	more   bool   // whether it links to a next page
}

func (r response) String() string { return fmt.Sprint(r.status, " ", r.body, " more: ", r.more) }

func success(status int, body any) response {
	r := response{status: status, body: encode(body)}
	if record, ok := body.(map[string]any); ok {
		r.id, _ = record["id"].(int64)
	}
	return r
}

func failure(status int, code domain.Code) response {
	return response{status: status, body: string(code)}
}

// responseOf returns the response that was recorded.
func responseOf(w *httptest.ResponseRecorder) response {
	decoder := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return response{status: w.Code, body: err.Error()}
	}
	if known, ok := body.(map[string]any); ok && known["code"] != nil {
		return failure(w.Code, domain.Code(fmt.Sprint(known["code"])))
	}
	r := success(w.Code, body)
	if record, ok := body.(map[string]any); ok {
		r.id, _ = record["id"].(json.Number).Int64() // zero for another body, which differs
	}
	r.more = w.Header().Get("Link") != "" && w.Header().Get("Deprecation") == ""
	return r
}

func petJSON(p domain.Pet) map[string]any {
	pet := map[string]any{"id": p.ID, "name": p.Name, "categoryId": p.CategoryID}
	if p.Status != "" {
		pet["status"] = p.Status
	}
	return pet
}

func orderJSON(o domain.Order) map[string]any {
	return map[string]any{"id": o.ID, "petId": o.PetID, "status": o.Status, "createdAt": timestamp(o.CreatedAt), "updatedAt": timestamp(o.UpdatedAt)}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// encode returns a value, which has an encoding, as JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
