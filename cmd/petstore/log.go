package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// flushInterval is how long a line of the log waits for others, so that one write
// serves them all.
const flushInterval = 100 * time.Millisecond

// newLog is the service's log: JSON for machines, or console lines for people. It
// ends with flush, which writes what it still holds.
func newLog(settings config.Log, out io.Writer) (log *zap.Logger, flush func(), err error) {
	level, err := zapcore.ParseLevel(settings.Level)
	if err != nil {
		return nil, nil, err
	}
	form := zap.NewProductionEncoderConfig()
	form.TimeKey = "time"
	form.EncodeTime = func(t time.Time, to zapcore.PrimitiveArrayEncoder) { zapcore.RFC3339NanoTimeEncoder(t.UTC(), to) }
	form.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(form)
	if settings.Format == "console" {
		form.EncodeLevel = zapcore.CapitalLevelEncoder
		form.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewConsoleEncoder(form)
	}
	buffer := &zapcore.BufferedWriteSyncer{WS: zapcore.AddSync(lossy{out}), FlushInterval: flushInterval}
	flush = func() { _ = buffer.Stop() } // what is lossy has no errors
	return zap.New(zapcore.NewCore(encoder, buffer, level)), flush, nil
}

// lossy drops what cannot be written, where an error would end the buffer in front
// of it for good: a log whose disk was full goes on when there is room again.
type lossy struct{ out io.Writer }

func (l lossy) Write(p []byte) (int, error) {
	_, _ = l.out.Write(p)
	return len(p), nil
}
