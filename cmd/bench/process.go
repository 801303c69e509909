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

// The client has a core of its own, so that it takes no CPU time from the server.
const (
	serverCore = 0
	clientCore = 1
)

// A process is a running server. Stop it.
type process struct {
	server
	store    store
	replicas []*process // the further processes of the server
	pid      pid
	host     string        // and port
	admin    string        // the URL of its profiles, empty where none are wanted
	key      string        // the API key that requests carry
	ready    time.Duration // from its start to its first response
	rate     float64       // requests per second to send; 0 for as many as it can take
	stop     func()
}

// startProcess starts a program that serves address and writes its output to a log
// file, and returns when it responds. The process ends at the latest with ctx.
func startProcess(ctx context.Context, address, key, log string, argv ...string) (*process, error) {
	output, err := os.Create(filepath.Clean(log))
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the process has it open, too
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", fmt.Sprint(serverCore)}, argv...)...)
	cmd.Env = environ()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // then it is killed

	start := time.Now()
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was stopped, or its log contains the error
		close(exited)
	}()
	p := &process{
		pid: pid(cmd.Process.Pid), host: address, key: key,
		stop: func() { cancel(); <-exited },
	}
	if err := p.awaitResponse(ctx, exited); err != nil {
		p.stop()
		text, _ := os.ReadFile(filepath.Clean(log))
		return nil, fmt.Errorf("start %s: %w\n%s", strings.Join(argv, " "), err, text)
	}
	p.ready = time.Since(start)
	return p, nil
}

// awaitResponse sends requests until a response comes that is not 503, the status of a
// service that is starting.
func (p *process) awaitResponse(ctx context.Context, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		_, err := get(ctx, "http://"+p.host+listPath, p.key)
		if status, _ := errors.AsType[statusError](err); err == nil || status > 0 && status != http.StatusServiceUnavailable {
			return nil
		}
		select {
		case <-again.C:
		case <-exited:
			return errors.New("the process exited")
		case <-ctx.Done():
			return err
		}
	}
}

// get returns the body of the 200 response to GET path.
func (p *process) get(ctx context.Context, path string) ([]byte, error) {
	return get(ctx, "http://"+p.host+path, p.key)
}

// A statusError is the status of a response that is not 200.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the status is %d, not 200", int(e)) }

func get(ctx context.Context, url, key string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %w: %s", url, statusError(response.StatusCode), body)
	}
	return body, err
}

// freeAddress returns a host:port that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// environ is the environment without settings of petstore.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "PETSTORE_") })
}
