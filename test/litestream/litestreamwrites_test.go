package litestream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// maxLoss is how long before the kill a write must have been acknowledged to be in the
// replica. docs/deploy/litestream.yml copies every second.
const maxLoss = 5 * time.Second

// An acknowledgedWrite is a write whose response a client received.
type acknowledgedWrite struct {
	at       time.Time     // when the response arrived
	duration time.Duration // of the request
	name     string        // of the pet
	key      string        // the Idempotency-Key of the request that added the pet, or ""
	pet      int
	order    int    // 0 for the request that added the pet
	status   string // of the order
}

// writeFor adds pets, orders some and delivers some orders, with 16 clients, for a duration.
// Then it calls end, which may kill the server during the last requests. It returns the
// acknowledged writes.
func writeFor(s *harness.Server, t *testing.T, duration time.Duration, name string, end func()) (writes []acknowledgedWrite) {
	t.Helper()
	const writers = 16
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for writer := range writers {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				sold, err := sell(s, t.Context(), client, fmt.Sprintf("%s-%d-%d", name, writer, i), i)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				mu.Lock()
				writes = append(writes, sold...)
				mu.Unlock()
			}
		})
	}
	wait.Go(func() { <-ctx.Done(); end() })
	wait.Wait()
	return writes
}

// sell adds a pet, with an Idempotency-Key if i is odd. It orders the pet if i is a multiple
// of 4, and delivers the order if i is a multiple of 8. It returns the acknowledged writes,
// also with an error.
func sell(s *harness.Server, ctx context.Context, client *http.Client, name string, i int) (writes []acknowledgedWrite, err error) {
	w := acknowledgedWrite{name: name}
	if i%2 == 1 {
		w.key = name
	}
	if w.pet, err = send(s, ctx, client, &w, "/v1/pets", harness.PetBody(name)); err != nil {
		return writes, err
	}
	writes = append(writes, w)
	if i%4 != 0 {
		return writes, nil
	}
	w.status = "placed"
	if w.order, err = send(s, ctx, client, &w, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, w.pet)); err != nil {
		return writes, err
	}
	writes = append(writes, w)
	if i%8 != 0 {
		return writes, nil
	}
	w.status = "delivered"
	if _, err = send(s, ctx, client, &w, fmt.Sprintf("/v1/store/orders/%d/deliver", w.order), ""); err != nil {
		return writes, err
	}
	return append(writes, w), nil
}

// send sends the request of a write, sets its times, and returns the id in the response.
func send(s *harness.Server, ctx context.Context, client *http.Client, w *acknowledgedWrite, path, body string) (id int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	if w.key != "" {
		request.Header.Set("Idempotency-Key", w.key)
	}
	start := time.Now()
	status, text, err := harness.Send(client, request)
	w.at, w.duration = time.Now(), time.Since(start)
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("POST %s: %d %s", path, status, text)
	}
	if err != nil {
		return 0, err
	}
	var response struct{ ID int }
	err = json.Unmarshal([]byte(text), &response)
	return response.ID, err
}

// p99 returns the 99th percentile of the durations of writes.
func p99(writes []acknowledgedWrite) time.Duration {
	var durations []time.Duration
	for _, w := range writes {
		durations = append(durations, w.duration)
	}
	slices.Sort(durations)
	return durations[len(durations)*99/100].Round(time.Millisecond / 10)
}

// wantWrites expects that the store in dir contains the writes, once and completely, with the
// exception of those of the last seconds before the kill.
func wantWrites(t *testing.T, dir string, killed time.Time, writes []acknowledgedWrite) {
	t.Helper()
	for problem, query := range map[string]string{
		"names that occur twice": "SELECT count(*) - count(DISTINCT name) FROM pets",
		"missing ids of pets":    "SELECT max(id) - count(*) FROM pets",
		"missing ids of orders":  "SELECT max(id) - count(*) FROM orders",
		"pets that disagree with their orders": `SELECT count(*) FROM pets LEFT JOIN orders ON orders.pet_id = pets.id
			WHERE coalesce(pets.status, '') <> CASE orders.status WHEN 'placed' THEN 'pending' WHEN 'delivered' THEN 'sold' ELSE '' END`,
	} {
		if n := harness.QueryInt(t, dir, query); n != 0 {
			t.Errorf("got %d %s, want none", n, problem)
		}
	}
	stored := storedWrites(t, dir)
	lost, loss, missing := 0, time.Duration(0), []acknowledgedWrite(nil)
	for _, w := range writes {
		before := killed.Sub(w.at)
		switch {
		case w.in(stored):
		case before > maxLoss:
			missing = append(missing, w)
		default:
			lost++
			loss = max(loss, before)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d writes that were acknowledged more than %v before the kill are missing, such as %+v: got %+v",
			len(missing), maxLoss, missing[0], stored[missing[0].pet])
	}
	t.Logf("%d of %d acknowledged writes are lost, those of the last %v before the kill", lost, len(writes), loss.Round(time.Millisecond))
}

// in reports whether a restored store contains the write. A later write of the same order may
// be there, too.
func (w acknowledgedWrite) in(stored map[int]acknowledgedWrite) bool {
	got := stored[w.pet]
	return got.name == w.name && got.key == w.key && (w.order == 0 || got.order == w.order) &&
		(w.status != "delivered" || got.status == "delivered")
}

// storedWrites returns the last write of each pet in the store in dir, by the pet's id.
func storedWrites(t *testing.T, dir string) map[int]acknowledgedWrite {
	t.Helper()
	rows, err := harness.OpenSQLite(t, harness.StorePath(dir)).QueryContext(t.Context(), `
		SELECT pets.id, name, coalesce(value, ''), coalesce(orders.id, 0), coalesce(orders.status, '')
		FROM pets LEFT JOIN orders ON orders.pet_id = pets.id LEFT JOIN idempotency_keys ON value = name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	stored := map[int]acknowledgedWrite{}
	for rows.Next() {
		var w acknowledgedWrite
		if err := rows.Scan(&w.pet, &w.name, &w.key, &w.order, &w.status); err != nil {
			t.Fatal(err)
		}
		stored[w.pet] = w
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return stored
}

// wantRetry repeats a request of writes that added a pet with an Idempotency-Key, and expects
// the same response.
func wantRetry(s *harness.Server, t *testing.T, writes []acknowledgedWrite) {
	t.Helper()
	w := writes[slices.IndexFunc(writes, func(w acknowledgedWrite) bool { return w.key != "" })]
	status, body, err := s.Post(t.Context(), harness.PetBody(w.name), "Idempotency-Key", w.key)
	if want := fmt.Sprintf(`{"id":%d,"name":%q,"categoryId":1}`, w.pet, w.name); err != nil || status != http.StatusCreated || body != want {
		t.Errorf("a retry with the key %s: got %d %s %v, want 201 %s", w.key, status, body, err, want)
	}
}
