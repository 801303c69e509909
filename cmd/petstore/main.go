// Command petstore runs the animal store and looks after it: petstore serve
// answers requests, petstore keys and petstore migrate work on the same store,
// beside a serving process or without one.
//
// It exits with 0 when all went well, 1 when something failed or a signal interrupted
// it before it was done, and 2 when the command line or the configuration is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
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

// The heap is collected when it has grown by half of what lives in it and of ballast,
// which counts but is never touched and so takes no memory. A small heap, which turns
// over fast, may so grow by half of the ballast before that, and a large one by less
// than Go's default of all that lives in it. Go has no setting for the first.
const (
	gcPercent   = 50
	ballastSize = 24 << 20
)

var ballast []byte

func main() {
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more is no reason to end
	gin.SetMode(gin.ReleaseMode)
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, ballastSize)
		debug.SetGCPercent(gcPercent)
	}
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// lastLineTimeout is how long the error of a failed command may take to be written.
const lastLineTimeout = time.Second

// run executes the command line and returns the exit code. A command that calls
// abandon of its invocation is no longer waited for.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	abandoned, abandon := context.WithCancel(context.Background())
	defer abandon()
	in := &invocation{environ: environ, stdout: stdout, stderr: stderr, abandon: abandon}
	started := false
	root := newRoot(in, func() { started = true })
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-abandoned.Done():
		return 1
	}
	if err == nil {
		return 0
	}
	limit, cancel := context.WithTimeout(abandoned, lastLineTimeout)
	defer cancel()
	_ = writeContext(limit, stderr, fmt.Sprintln("petstore:", err)) // there is nowhere else to say so
	if _, invalid := errors.AsType[*config.InvalidError](err); invalid || !started {
		return 2
	}
	return 1
}

// writeContext writes text to out. It returns an error when ctx ends before, because out
// blocks, as a pipe does that nobody reads.
func writeContext(ctx context.Context, out io.Writer, text string) error {
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(out, text)
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return errors.New("nobody reads it")
	}
}
