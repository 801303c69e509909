package main

import (
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
	"example.com/petstore/repository"
)

// newLog returns the service's log: JSON for machines, or console lines for people.
// Logging never blocks; lines that out cannot take are counted in dropped. closeLog
// writes the last ones.
func newLog(settings config.Log, out io.Writer, dropped prometheus.Counter) (log *zap.Logger, closeLog func(), err error) {
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

// servingFields returns what the log says of a service that has started.
func (in *invocation) servingFields(settings config.Config, store *repository.Store, address net.Addr) []zap.Field {
	version, commit := buildVersion()
	fields := []zap.Field{
		zap.String("version", version), zap.String("commit", commit), zap.Stringer("address", address),
		zap.String("store", absolute(settings.Database.DSN)), // which is a path, and no secret
		zap.Int64("schema_version", store.SchemaVersion()), zap.Bool("store_created", store.Created()),
	}
	if in.file != "" {
		fields = append(fields, zap.String("settings_file", absolute(in.file)))
	}
	return fields
}

// absolute returns the absolute path of a file.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
