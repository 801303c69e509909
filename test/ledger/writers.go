package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	category = 7 // of all pets
	readers  = 4
)

// Writers are clients that write to a service until Stop.
type Writers struct {
	URL    func() string // returns the URL of the service, without a path, for the next request of any client
	Key    string        // an API key
	Ledger *Ledger
	Pause  time.Duration // of each client after each pet

	client *http.Client
	stop   chan struct{}
	wait   sync.WaitGroup
}

// Start starts n clients that write, and some that read. The end of ctx ends them, also while
// outcomes are unknown.
func (w *Writers) Start(ctx context.Context, n int) {
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * n}, Timeout: 20 * time.Second}
	w.stop = make(chan struct{})
	for writer := range n {
		w.wait.Go(func() {
			for i := 0; w.sleep(ctx, w.Pause); i++ {
				w.sell(ctx, fmt.Sprintf("%d-%d", writer, i), i)
			}
		})
	}
	for range readers {
		w.wait.Go(func() {
			for w.sleep(ctx, 100*time.Millisecond) {
				if status, _, _ := w.do(ctx, http.MethodGet, "/v1/pets?limit=1", "", ""); status == http.StatusOK {
					w.Ledger.addRead()
				}
			}
		})
	}
}

// Stop waits until the outcome of each write with a key is known.
func (w *Writers) Stop() {
	close(w.stop)
	w.wait.Wait()
	w.client.CloseIdleConnections()
}

// sleep reports whether the clients are to go on.
func (w *Writers) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// sell adds a pet, with an Idempotency-Key if i is odd. If i is a multiple of 4, two clients
// order the pet at the same time, each with a key. If i is a multiple of 8, the first has no key,
// and the order is delivered. Some pets are invalid.
func (w *Writers) sell(ctx context.Context, name string, i int) {
	key := ""
	if i%2 == 1 {
		key = name
	}
	body, invalid := fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":"available"}`, name, category), i%16 == 15
	if invalid {
		body = fmt.Sprintf(`{"name":%q,"status":"available"}`, name)
	}
	pet := w.write(ctx, Write{Kind: Pet, Name: name, Invalid: invalid}, "/v1/pets", body, key)
	if pet.Outcome != Acknowledged || i%4 != 0 {
		return
	}
	keys := [2]string{"order-1-" + name, "order-2-" + name}
	if i%8 == 0 {
		keys[0] = ""
	}
	var orders [2]Write
	var wait sync.WaitGroup
	for n := range orders {
		wait.Go(func() {
			orders[n] = w.write(ctx, Write{Kind: Order, PetID: pet.PetID}, "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, pet.PetID), keys[n])
		})
	}
	wait.Wait()
	for _, order := range orders {
		if order.Outcome == Acknowledged && i%8 == 0 {
			w.write(ctx, Write{Kind: Delivery, OrderID: order.OrderID}, "/v1/store/orders/"+strconv.FormatInt(order.OrderID, 10)+"/deliver", "", "")
		}
	}
}

// write sends the request of a write, adds the write to the ledger and returns it with its
// outcome.
func (w *Writers) write(ctx context.Context, write Write, path, body, key string) Write {
	write.Period = w.Ledger.period()
	for {
		status, id, err := w.do(ctx, http.MethodPost, path, body, key)
		switch {
		case err != nil || status >= http.StatusInternalServerError:
			write.Outcome = Unknown
			write.Unknowns++
		case status >= http.StatusBadRequest:
			write.Outcome, write.Status = Refused, status
		default:
			write.Outcome = Acknowledged
			if write.Kind == Pet {
				write.PetID = id
			} else {
				write.OrderID = id
			}
		}
		if write.Outcome != Unknown || ctx.Err() != nil || key == "" && write.Kind != Delivery {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	w.Ledger.add(write)
	if write.Outcome == Unknown {
		w.sleep(ctx, 200*time.Millisecond)
	}
	return write
}

// do sends a request and returns the status and the id in the response.
func (w *Writers) do(ctx context.Context, method, path, body, key string) (status int, id int64, err error) {
	request, err := http.NewRequestWithContext(ctx, method, w.URL()+path, strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+w.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, 0, err
	}
	if bad := response.StatusCode >= http.StatusInternalServerError; bad && (response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "") {
		w.Ledger.addViolation(fmt.Sprintf("%s %s: %d %s without Retry-After or not 503", method, path, response.StatusCode, text))
	}
	var decoded struct{ ID int64 }
	if method == http.MethodPost && response.StatusCode < http.StatusBadRequest {
		err = json.Unmarshal(text, &decoded)
	}
	return response.StatusCode, decoded.ID, err
}
