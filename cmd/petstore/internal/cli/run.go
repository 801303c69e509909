// Package cli is the command line of petstore: a file for each command, and what only commands
// share.
package cli

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"example.com/petstore/cmd/petstore/internal/serve"
	"example.com/petstore/config"
)

// A Program is the running program: its command line, environment and output, and its build.
type Program struct {
	Args            []string // without the name of the program
	Environ         []string
	Stdout, Stderr  io.Writer
	Version, Commit string // set by the linker, or empty
}

// blockedWriteTimeout is how long a command waits for a blocked write after a signal, and
// Run until the error of a command is written.
const blockedWriteTimeout = time.Second

// Run executes the command line and returns the exit code. If the command calls
// invocation.forceExit, Run returns 1 without waiting for it.
func Run(ctx context.Context, p Program) int {
	forcedExit, forceExit := context.WithCancel(context.Background())
	defer forceExit()
	in := &invocation{Program: p, stdout: contextWriter{ctx, p.Stdout}, stderr: p.Stderr, forceExit: forceExit}
	valid := false
	root := newRoot(in, func() { valid = true })
	root.SetArgs(p.Args)
	root.SetOut(in.stdout)
	root.SetErr(p.Stderr)
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
	_ = serve.WriteContext(writeCtx, p.Stderr, "petstore: "+printable(err.Error())+"\n") // an error of stderr cannot be reported
	if invalid || !valid {
		return 2
	}
	return 1
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
	err := serve.WriteContext(ctx, w.out, string(p))
	if errors.Is(err, syscall.EPIPE) {
		err = errNoReader
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
