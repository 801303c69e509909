package main

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// flushInterval is how long a line is buffered, so that one write serves many.
	flushInterval = 100 * time.Millisecond
	// flushSize is how many buffered bytes are written before flushInterval has passed.
	flushSize = 64 << 10
	// maxLogBuffer is how many bytes are buffered while an earlier write is still running.
	maxLogBuffer = 1 << 20
	// logCloseTimeout is how long Close waits for the last lines to be written.
	logCloseTimeout = time.Second
)

// A logWriter is a zapcore.WriteSyncer that writes lines to out from a goroutine of its
// own, so that its callers never wait. What out refuses is written again after
// flushInterval. While out blocks or fails, maxLogBuffer bytes are buffered; lines
// beyond that are dropped and counted.
type logWriter struct {
	out     io.Writer
	dropped prometheus.Counter
	report  func(dropped int) []byte // returns the line that says how many were dropped

	mu         sync.Mutex
	buffered   *bytes.Buffer
	unreported int // dropped lines

	writing       *bytes.Buffer // used by run alone
	early         chan struct{} // write before flushInterval has passed
	closing, done chan struct{}
}

// newLogWriter returns a logWriter that has started. Close it.
func newLogWriter(out io.Writer, dropped prometheus.Counter, report func(int) []byte) *logWriter {
	w := &logWriter{
		out: out, dropped: dropped, report: report,
		buffered: new(bytes.Buffer), writing: new(bytes.Buffer),
		early: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write buffers or drops a line. It returns no error.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.buffered.Len()
	after := before + len(line)
	if after > maxLogBuffer {
		w.unreported++
		w.dropped.Inc()
		return len(line), nil
	}
	w.buffered.Write(line)
	if before < flushSize && after >= flushSize {
		_ = w.Sync()
	}
	return len(line), nil
}

// Sync starts to write what is buffered. It does not wait, and returns no error.
func (w *logWriter) Sync() error {
	select {
	case w.early <- struct{}{}:
	default: // it is about to begin
	}
	return nil
}

// Close writes what is buffered. It gives up after logCloseTimeout.
func (w *logWriter) Close() {
	close(w.closing)
	select {
	case <-w.done:
	case <-time.After(logCloseTimeout):
	}
}

func (w *logWriter) run() {
	defer close(w.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.early:
		case <-w.closing:
			w.flush() // what an error has left
			w.flush()
			return
		}
		w.flush()
	}
}

// flush writes what the last error has left or else what is buffered.
func (w *logWriter) flush() {
	if w.writing.Len() == 0 {
		w.swap()
	}
	_, _ = w.writing.WriteTo(w.out) // keeps what was not written
}

// swap moves what is buffered to writing.
func (w *logWriter) swap() {
	w.mu.Lock()
	w.buffered, w.writing = w.writing, w.buffered
	dropped := w.unreported
	w.unreported = 0
	w.mu.Unlock()
	if dropped > 0 {
		w.writing.Write(w.report(dropped))
	}
}
