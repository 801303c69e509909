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
)

// connections is how many requests wrk has under way.
const connections = 64

// A load is what wrk tells of a run.
type load struct {
	requests int
	rate     float64 // answers a second
	p99      time.Duration
}

// wrk asks a server for whole seconds. round varies what is random.
func (l *lab) wrk(ctx context.Context, s *server, a ask, round int, duration time.Duration) (load, error) {
	ctx, cancel := context.WithTimeout(ctx, duration+30*time.Second)
	defer cancel()
	args := []string{
		"-c", clientCore, "wrk", "--latency", "--threads", "1", "--connections", fmt.Sprint(connections),
		"--duration", fmt.Sprintf("%.0fs", duration.Seconds()), "--timeout", "10s", "--header", "Authorization: Bearer " + s.key,
	}
	if a.script == "" {
		args = append(args, s.url+a.path)
	} else {
		args = append(args, "--script", filepath.Join(l.scratch, "lua", a.script), s.url, "--")
		args = append(append(args, a.args...), fmt.Sprint(round))
	}
	output, err := exec.CommandContext(ctx, "taskset", args...).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return parseWrk(string(output))
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	wrkP99      = regexp.MustCompile(`(?m)^\s+99%\s+([\d.]+[a-z]+) *$`)
	wrkFailure  = regexp.MustCompile(`(?m)^\s*(Non-2xx or 3xx responses: .*|Socket errors: .*)$`)
)

// parseWrk reads wrk's output. It refuses a run in which requests failed: how fast
// a server fails is not what is measured.
func parseWrk(output string) (load, error) {
	if failure := wrkFailure.FindString(output); failure != "" {
		return load{}, fmt.Errorf("wrk: %s", strings.TrimSpace(failure))
	}
	var l load
	var errs [3]error
	l.requests, errs[0] = strconv.Atoi(first(wrkRequests, output))
	l.rate, errs[1] = strconv.ParseFloat(first(wrkRate, output), 64)
	l.p99, errs[2] = time.ParseDuration(first(wrkP99, output))
	if err := errors.Join(errs[:]...); err != nil {
		return load{}, fmt.Errorf("wrk said something else than expected: %w\n%s", err, output)
	}
	if l.requests == 0 {
		return load{}, errors.New("wrk got no answer")
	}
	return l, nil
}

// first is the group of the first match, or nothing.
func first(form *regexp.Regexp, text string) string {
	if match := form.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}
