// Package telemetry has the log, the metrics and the traces of petstore serve.
package telemetry

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// NewLogger returns a logger that writes to out, in the format of the settings, and its level, which the caller may
// change. The logger never blocks: lines that out does not accept in time are dropped, and counted in a metric.
// closeLog writes the remaining lines.
func NewLogger(settings config.Log, out io.Writer, metrics prometheus.Registerer) (
	log *zap.Logger, level zap.AtomicLevel, closeLog func(), err error,
) {
	level, err = zap.ParseAtomicLevel(settings.Level)
	if err != nil {
		return nil, level, nil, err
	}
	format := zap.NewProductionEncoderConfig()
	format.TimeKey = "time"
	format.EncodeTime = func(t time.Time, to zapcore.PrimitiveArrayEncoder) { zapcore.RFC3339NanoTimeEncoder(t.UTC(), to) }
	format.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(format)
	if strings.EqualFold(settings.Format, "console") {
		format.EncodeLevel = zapcore.CapitalLevelEncoder
		format.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewConsoleEncoder(format)
	}
	dropped := promauto.With(metrics).NewCounter(prometheus.CounterOpts{
		Name: "petstore_log_dropped_lines_total", Help: "Log lines dropped because standard error could not be written in time.",
	})
	writer := newLogWriter(out, dropped, func(lines int) []byte {
		entry := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "log lines dropped"}
		line, err := encoder.EncodeEntry(entry, []zapcore.Field{zap.Int("lines", lines)})
		if err != nil {
			return nil
		}
		return line.Bytes()
	})
	return zap.New(zapcore.NewCore(encoder, writer, level)), level, writer.Close, nil
}

const (
	// logFlushInterval is the maximum time that a line is buffered, so that one write has several lines.
	logFlushInterval = 100 * time.Millisecond
	// logFlushSize is the number of buffered bytes at which they are written at once, before logFlushInterval ends.
	logFlushSize = 64 << 10
	// maxLogBuffer is the maximum number of bytes that wait for the next write. The current write may have as many.
	maxLogBuffer = 1 << 20
	// logCloseTimeout is the maximum time that Close waits for the last write.
	logCloseTimeout = time.Second
)

// A logWriter is a zapcore.WriteSyncer that buffers lines, and writes them to out in another goroutine, so that its
// callers never wait. If out returns an error, logWriter writes the remaining bytes after logFlushInterval. While
// out blocks or fails, it buffers maxLogBuffer bytes for the next write; further lines are dropped and counted. It is
// safe for concurrent use.
//
// zapcore.BufferedWriteSyncer does not replace it: while out blocks, every request would wait, and after an error it
// would never write again.
type logWriter struct {
	out     io.Writer
	dropped prometheus.Counter
	report  func(dropped int) []byte // returns the log line about dropped lines

	mu         sync.Mutex
	buffered   *bytes.Buffer
	unreported int // the number of dropped lines that the log does not mention yet

	timer *time.Timer // runs flush
	// writing holds the buffer that flush writes to out, with the bytes that were not written because of an error. The
	// channel is empty while flush runs.
	writing chan *bytes.Buffer
}

// newLogWriter returns a logWriter. The caller must Close it.
func newLogWriter(out io.Writer, dropped prometheus.Counter, report func(int) []byte) *logWriter {
	w := &logWriter{out: out, dropped: dropped, report: report, buffered: new(bytes.Buffer), writing: make(chan *bytes.Buffer, 1)}
	w.writing <- new(bytes.Buffer)
	w.timer = time.AfterFunc(logFlushInterval, w.flush)
	return w
}

// Write buffers or drops a line. It returns no error.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.buffered.Len()
	after := before + len(line)
	switch {
	case after > maxLogBuffer:
		w.unreported++
		w.dropped.Inc()
		return len(line), nil
	case before < logFlushSize && after >= logFlushSize:
		_ = w.Sync()
	case before == 0:
		w.timer.Reset(logFlushInterval)
	}
	return w.buffered.Write(line)
}

// Sync starts the write of the buffered lines. It does not wait for it, and returns no error.
func (w *logWriter) Sync() error {
	w.timer.Reset(0)
	return nil
}

// Close writes the buffered lines. It waits at most logCloseTimeout.
func (w *logWriter) Close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.flush()
	}()
	select {
	case <-done:
	case <-time.After(logCloseTimeout):
	}
	w.timer.Stop()
}

// flush writes the buffered lines, after the bytes that an earlier error has left. It waits while another flush runs.
// After an error it runs again after logFlushInterval.
func (w *logWriter) flush() {
	lines := <-w.writing
	_, err := lines.WriteTo(w.out) // lines has the bytes that an earlier error has left
	if err == nil {
		lines = w.take(lines)
		_, err = lines.WriteTo(w.out)
	}
	if err != nil {
		w.timer.Reset(logFlushInterval)
	}
	w.writing <- lines
}

// take returns the buffered lines, and a line about dropped lines if there are any. From now on Write buffers lines in
// the buffer empty.
func (w *logWriter) take(empty *bytes.Buffer) *bytes.Buffer {
	w.mu.Lock()
	lines, dropped := w.buffered, w.unreported
	w.buffered, w.unreported = empty, 0
	w.mu.Unlock()
	if dropped > 0 {
		lines.Write(w.report(dropped))
	}
	return lines
}
