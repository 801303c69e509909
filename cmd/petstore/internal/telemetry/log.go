// Package telemetry has the log, the metrics and the traces of petstore serve.
package telemetry

import (
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// NewLogger returns a logger that writes to out, as JSON or for reading in a console, and its
// level, which may be changed. It never blocks: lines that out does not accept in time are
// dropped, and counted in dropped. closeLog writes the remaining lines.
func NewLogger(settings config.Log, out io.Writer, dropped prometheus.Counter) (log *zap.Logger, level zap.AtomicLevel, closeLog func(), err error) {
	level, err = zap.ParseAtomicLevel(settings.Level)
	if err != nil {
		return nil, level, nil, err
	}
	format := zap.NewProductionEncoderConfig()
	format.TimeKey = "time"
	format.EncodeTime = func(t time.Time, to zapcore.PrimitiveArrayEncoder) { zapcore.RFC3339NanoTimeEncoder(t.UTC(), to) }
	format.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(format)
	if settings.Format == "console" {
		format.EncodeLevel = zapcore.CapitalLevelEncoder
		format.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewConsoleEncoder(format)
	}
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
