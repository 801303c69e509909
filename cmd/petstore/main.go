// Command petstore serves the catalogue of an animal store over HTTP and manages its
// store: API keys, database migrations and demonstration data.
//
// It exits with 0 on success, with 1 after an error or an interruption, and with 2 if the
// command line or the configuration is invalid.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/config"
)

// The garbage collector runs when the heap has grown by gcPercent. The ballast counts as
// heap but is never touched, so it needs no physical memory. A small heap may therefore
// grow by gcPercent of ballastSize more between two collections, and a large one by less
// than with Go's default of 100 %. Go has no setting for a minimum.
const (
	gcPercent   = 50
	ballastSize = 24 << 20 // bytes
)

var ballast []byte

func main() {
	signal.Ignore(syscall.SIGPIPE) // the service continues when the reader of its log exits
	gin.SetMode(gin.ReleaseMode)
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, ballastSize)
		debug.SetGCPercent(gcPercent)
	}
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// blockedWriteTimeout is how long a command waits for a blocked write after a signal, and
// run until the error of a command is written.
const blockedWriteTimeout = time.Second

// run executes the command line and returns the exit code. If the command calls
// invocation.forceExit, run returns 1 without waiting for it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	forcedExit, forceExit := context.WithCancel(context.Background())
	defer forceExit()
	in := &invocation{stdout: contextWriter{ctx, stdout}, stderr: stderr, forceExit: forceExit}
	valid := false
	root := newRoot(in, func() { valid = true })
	root.SetArgs(args)
	root.SetOut(in.stdout)
	root.SetErr(stderr)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-forcedExit.Done():
		return 1
	}
	if err == nil {
		return 0
	}
	_, invalid := errors.AsType[*config.InvalidError](err)
	if errors.Is(err, errNoReader) && !invalid {
		return 1 // without a message, as a program that SIGPIPE ends
	}
	writeCtx, cancel := context.WithTimeout(forcedExit, blockedWriteTimeout)
	defer cancel()
	_ = writeContext(writeCtx, stderr, "petstore: "+printable(err.Error())+"\n") // an error of stderr cannot be reported
	if invalid || !valid {
		return 2
	}
	return 1
}

// writeContext writes text to out. It returns an error if ctx ends before the write does,
// as when out is a full pipe. The write then goes on in the background.
func writeContext(ctx context.Context, out io.Writer, text string) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(out, text)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // select chooses at random if both are ready
		return err
	default:
		return errors.New("the write is blocked")
	}
}

// errNoReader is the error of a write to a pipe whose reader has exited.
var errNoReader = errors.New("broken pipe")

// A contextWriter writes to out. If out blocks, Write returns an error when
// blockedWriteTimeout has passed after ctx ended. Its error for EPIPE is errNoReader.
type contextWriter struct {
	ctx context.Context
	out io.Writer
}

// Write implements io.Writer.
func (w contextWriter) Write(p []byte) (int, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.ctx))
	defer cancel()
	defer context.AfterFunc(w.ctx, func() { time.AfterFunc(blockedWriteTimeout, cancel) })()
	err := writeContext(ctx, w.out, string(p))
	if errors.Is(err, syscall.EPIPE) {
		err = errNoReader
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
