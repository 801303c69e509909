package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// newLog is the service's log: JSON for machines, or console lines for people.
func newLog(settings config.Log, out io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(settings.Level)
	if err != nil {
		return nil, err
	}
	form := zap.NewProductionEncoderConfig()
	form.TimeKey = "time"
	form.EncodeTime = func(t time.Time, to zapcore.PrimitiveArrayEncoder) {
		to.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	form.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(form)
	if settings.Format == "console" {
		form.EncodeLevel = zapcore.CapitalLevelEncoder
		form.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewConsoleEncoder(form)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), level)), nil
}
