package main

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
	"example.com/petstore/repository"
)

// newLogger returns a logger that writes to out, as JSON or for reading in a console, and its
// level, which may be changed. It never blocks: lines that out does not accept in time are
// dropped, and counted in dropped. closeLog writes the remaining lines.
func newLogger(settings config.Log, out io.Writer, dropped prometheus.Counter) (log *zap.Logger, level zap.AtomicLevel, closeLog func(), err error) {
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

// checkTimeout is how long the start of the service waits for the check of logServing.
const checkTimeout = 5 * time.Second

// logServing logs that the service serves, and a warning if acknowledged writes could be lost
// in a failover of the database server.
func (in *invocation) logServing(ctx context.Context, settings config.Config, store *repository.Store, address net.Addr, log *zap.Logger) {
	log.Info("serving", in.servingFields(settings, store, address)...)
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := store.CheckSynchronous(ctx); err != nil {
		log.Warn("the database server has no synchronous standby", zap.Error(err), zap.Bool("required", settings.Database.RequireSynchronous))
	}
}

// servingFields returns the fields of the log entry "serving".
func (in *invocation) servingFields(settings config.Config, store *repository.Store, address net.Addr) []zap.Field {
	version, commit := buildVersion()
	fields := []zap.Field{
		zap.String("version", version), zap.String("commit", commit), zap.Stringer("address", address),
		zap.String("store", storeName(settings.Database)),
		zap.Int64("schema_version", store.Schema().Version), zap.Bool("store_created", store.Schema().Created),
	}
	if file, _ := in.configOptions().Find(); file != "" {
		fields = append(fields, zap.String("settings_file", absolutePath(file)))
	}
	return fields
}
