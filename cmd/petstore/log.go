package main

import (
	"io"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
	"example.com/petstore/repository"
)

// newLogger returns a logger that writes to out, as JSON or for reading in a console. It
// never blocks: lines that out does not accept in time are dropped, and counted in dropped.
// closeLog writes the remaining lines.
func newLogger(settings config.Log, out io.Writer, dropped prometheus.Counter) (log *zap.Logger, closeLog func(), err error) {
	level, err := zapcore.ParseLevel(settings.Level)
	if err != nil {
		return nil, nil, err
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
	return zap.New(zapcore.NewCore(encoder, writer, level)), writer.Close, nil
}

// servingFields returns the fields of the log entry "serving".
func (in *invocation) servingFields(settings config.Config, store *repository.Store, address net.Addr) []zap.Field {
	version, commit := buildVersion()
	fields := []zap.Field{
		zap.String("version", version), zap.String("commit", commit), zap.Stringer("address", address),
		zap.String("store", storeName(settings.Database)),
		zap.Int64("schema_version", store.Schema().Version), zap.Bool("store_created", store.Schema().Created),
	}
	if in.configFile != "" {
		fields = append(fields, zap.String("settings_file", absolutePath(in.configFile)))
	}
	return fields
}
