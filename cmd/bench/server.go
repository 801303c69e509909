package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The cores are apart, so that wrk takes nothing from the server.
const (
	serverCore = "0"
	clientCore = "1"
)

// A server is a serving process. Stop it.
type server struct {
	process
	url   string
	admin string        // the URL of its profiles, if they are wanted
	key   string        // for Authorization
	ready time.Duration // from its start to its first answer
	stop  func()
}

// startServer starts a program that serves an address and writes a log, and returns
// when it answers. The process ends with ctx at the latest.
func startServer(ctx context.Context, address, key, log string, argv ...string) (*server, error) {
	output, err := os.Create(filepath.Clean(log))
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the process has it, too
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", serverCore}, argv...)...)
	cmd.Env = environ()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // then it is killed

	start := time.Now()
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a signal ends it, or its log says what did
		close(ended)
	}()
	s := &server{
		process: process(cmd.Process.Pid), url: "http://" + address, key: key,
		stop: func() { cancel(); <-ended },
	}
	if err := s.awaitAnswer(ctx, ended); err != nil {
		s.stop()
		said, _ := os.ReadFile(filepath.Clean(log))
		return nil, fmt.Errorf("start %s: %w\n%s", strings.Join(argv, " "), err, said)
	}
	s.ready = time.Since(start)
	return s, nil
}

// awaitAnswer asks until the server answers, whatever it says but 503: then it starts.
func (s *server) awaitAnswer(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		_, err := s.get(ctx, "/v1/pets")
		if err == nil || errors.Is(err, errStatus) {
			return nil
		}
		select {
		case <-again.C:
		case <-ended:
			return errors.New("it ended by itself")
		case <-ctx.Done():
			return err
		}
	}
}

var (
	errStatus      = errors.New("the answer is not 200")
	errUnavailable = errors.New("the answer is 503, as of a service that starts")
)

// get returns the body of a 200.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		is := errStatus
		if response.StatusCode == http.StatusServiceUnavailable {
			is = errUnavailable
		}
		err = fmt.Errorf("%w: GET %s: %s: %s", is, path, response.Status, body)
	}
	return body, err
}

// freeAddress is one that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// environ is the environment without settings, which would be measured, too.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "PETSTORE_") })
}
