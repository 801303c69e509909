package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// connections is the number of connections of a client, each with one request at a time.
const connections = 64

// wrkAll runs wrk for each process of a server at the same time, and adds up the results.
func (h *harness) wrkAll(ctx context.Context, p *process, round int, duration time.Duration) (sample, error) {
	samples := make([]sample, 1+len(p.replicas))
	group, ctx := errgroup.WithContext(ctx)
	for i, one := range append([]*process{p}, p.replicas...) {
		group.Go(func() (err error) {
			samples[i], err = h.wrk(ctx, one, p.request, round+1000*i, duration) // each with other keys
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return sample{}, err
	}
	sum := samples[0]
	for _, s := range samples[1:] {
		sum.requests, sum.rate, sum.p99 = sum.requests+s.requests, sum.rate+s.rate, max(sum.p99, s.p99)
	}
	return sum, nil
}

// wrk sends requests as fast as the server responds, for whole seconds. round seeds
// what is random.
func (h *harness) wrk(ctx context.Context, p *process, r request, round int, duration time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, duration+30*time.Second)
	defer cancel()
	args := []string{
		"-c", fmt.Sprint(clientCore), "wrk", "--latency", "--threads", "1", "--connections", fmt.Sprint(connections),
		"--duration", fmt.Sprintf("%.0fs", duration.Seconds()), "--timeout", "10s", "--header", "Authorization: Bearer " + p.key,
	}
	url := "http://" + p.host
	if script, scriptArgs := r.script(); script != "" {
		args = append(args, "--script", filepath.Join(h.scratch, "lua", script), url, "--")
		args = append(append(args, scriptArgs...), fmt.Sprint(round))
	} else {
		args = append(args, url+r.path)
	}
	output, err := exec.CommandContext(ctx, "taskset", args...).CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return parseWrk(string(output))
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	wrkP99      = regexp.MustCompile(`(?m)^\s+99%\s+([\d.]+[a-z]+) *$`)
	wrkFailure  = regexp.MustCompile(`(?m)^\s*(Non-2xx or 3xx responses: .*|Socket errors: .*)$`)
)

// parseWrk reads the output of wrk. A failed request is an error, because the rate of
// failures is not what is measured.
func parseWrk(output string) (sample, error) {
	if failure := wrkFailure.FindString(output); failure != "" {
		return sample{}, fmt.Errorf("wrk: %s", strings.TrimSpace(failure))
	}
	var s sample
	var errs [3]error
	s.requests, errs[0] = strconv.Atoi(firstGroup(wrkRequests, output))
	s.rate, errs[1] = strconv.ParseFloat(firstGroup(wrkRate, output), 64)
	s.p99, errs[2] = time.ParseDuration(firstGroup(wrkP99, output))
	if err := errors.Join(errs[:]...); err != nil {
		return sample{}, fmt.Errorf("unexpected output of wrk: %w\n%s", err, output)
	}
	if s.requests == 0 {
		return sample{}, errors.New("wrk received no response")
	}
	return s, nil
}

// firstGroup returns the first group of the first match, or "".
func firstGroup(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}
