package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// wrk sends requests as fast as the server responds.
func (b *bench) wrk(ctx context.Context, r row, s *server, round int) (result, error) {
	cmd := exec.CommandContext(
		ctx, "wrk", "--threads", "1", "--connections", strconv.Itoa(r.clients), "--timeout", "10s", "--duration",
		fmt.Sprintf("%.0fs", b.duration.Seconds()),
		"--header", "Authorization: Bearer "+s.key, "--script", b.script, "http://"+s.host, "--",
		r.request.path, strconv.Itoa(r.request.count), strconv.Itoa(r.request.posts), strconv.FormatBool(r.request.keys),
		newPet, strconv.Itoa(max(r.request.categories, 1)), strconv.Itoa(round),
	)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return parseWrk(output)
}

// parseWrk reads what the script has printed. It returns an error if a request failed, because bench does
// not measure failures.
func parseWrk(output []byte) (result, error) {
	output = bytes.TrimSpace(output)
	var w struct{ Requests, Duration, Failures, Mean, P99 float64 }
	if err := json.Unmarshal(output[bytes.LastIndexByte(output, '\n')+1:], &w); err != nil {
		return result{}, fmt.Errorf("unexpected output of wrk: %w\n%s", err, output)
	}
	if w.Requests == 0 || w.Failures > 0 {
		return result{}, fmt.Errorf("wrk: failed requests\n%s", output)
	}
	microseconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Microsecond)) }
	return result{
		requests: int(w.Requests), rate: w.Requests / microseconds(w.Duration).Seconds(),
		mean: microseconds(w.Mean), p99: microseconds(w.P99),
	}, nil
}

// attack sends requests at a constant rate with vegeta. If no worker is free, vegeta starts another one. So
// a server that stalls does not delay the next requests (no coordinated omission).
func (b *bench) attack(ctx context.Context, r row, s *server, _ int) (result, error) {
	attacker := vegeta.NewAttacker(vegeta.Workers(clients), vegeta.Connections(clients), vegeta.Timeout(10*time.Second), vegeta.HTTP2(false))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	var m vegeta.Metrics
	for response := range attacker.Attack(r.request.targeter(s), r.rate, max(b.duration, r.least), s.label) {
		m.Add(response)
	}
	m.Close()
	if m.Success != 1 {
		return result{}, errors.Join(ctx.Err(), fmt.Errorf("vegeta: statuses %v, errors %q", m.StatusCodes, m.Errors))
	}
	return result{requests: int(m.Requests), rate: m.Rate, mean: m.Latencies.Mean, p99: m.Latencies.P99}, ctx.Err()
}

// targeter makes vegeta send the request, without idempotency keys. The workers of vegeta share the
// targeter.
func (r request) targeter(s *server) vegeta.Targeter {
	header := http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
	return func(t *vegeta.Target) error {
		*t = vegeta.Target{Method: http.MethodGet, URL: "http://" + s.host + r.path, Header: header}
		switch {
		case r.posts > rand.IntN(100):
			t.Method, t.URL, t.Body = http.MethodPost, "http://"+s.host+listPath, r.body()
		case r.count > 0:
			t.URL += strconv.Itoa(1 + rand.IntN(r.count))
		}
		return nil
	}
}

// body returns the body of a POST. It has a random category, as in the script of wrk.
func (r request) body() []byte {
	return []byte(strings.Replace(newPet, "@C", strconv.Itoa(10+rand.IntN(max(r.categories, 1))), 1))
}
