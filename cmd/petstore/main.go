// Command petstore serves the catalogue of an animal store over HTTP, and manages the database: API keys, migrations,
// backups, imports and exports.
//
// It exits with 0 on success, with 1 after an error or an interruption, and with 2 if the command line or the
// configuration is invalid.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/gin-gonic/gin"

	"example.com/petstore/cmd/petstore/internal/cli"
)

// gcPercent is how much the heap grows, in percent, before the garbage collector runs. The live heap is a few megabytes,
// so with Go's default of 100 it would run twice as often.
const gcPercent = 200

// version and commit are set by the linker (-X main.version=…), see the Makefile.
var version, commit string

// searchPaths are the settings files to try if the user names none.
var searchPaths = []string{"petstore.yaml", "/etc/petstore/petstore.yaml"}

func main() {
	signal.Ignore(syscall.SIGPIPE) // the service continues when the reader of its log exits
	gin.SetMode(gin.ReleaseMode)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup makes the process ignore it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	os.Exit(cli.Run(ctx, cli.Program{
		Name: os.Args[0], Args: os.Args[1:], SearchPaths: searchPaths,
		Stdout: os.Stdout, Stderr: os.Stderr, Version: version, Commit: commit,
	}))
}
