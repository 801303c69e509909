// Command petstore runs the animal store and looks after it: petstore serve
// answers requests, petstore keys and petstore migrate work on the same store,
// beside a serving process or without one.
//
// It exits with 0 when all went well, 1 when something failed, and 2 when the
// command line or the configuration is wrong.
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// run is the whole program but for the process around it. It returns the exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	started := false
	root := newRoot(&invocation{environ: environ, stdout: stdout, stderr: stderr}, func() { started = true })
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "petstore:", err)
	if _, invalid := errors.AsType[*config.InvalidError](err); invalid || !started {
		return 2
	}
	return 1
}
