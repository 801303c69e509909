package petstore_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore"
	"example.com/petstore/internal/test/testkit"
)

// newLogger returns a logger that writes lines of slog.TextHandler without the time.
func newLogger(level slog.Level) (log *zap.Logger, lines *bytes.Buffer) {
	lines = &bytes.Buffer{}
	return petstore.NewLogger(slog.NewTextHandler(lines, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})), lines
}

func TestLoggerWritesFieldsAsAttributes(t *testing.T) {
	t.Parallel()
	animal := zapcore.ObjectMarshalerFunc(func(to zapcore.ObjectEncoder) error {
		to.AddString("name", "Rex")
		to.AddInt64("id", 1)
		return to.AddObject("shop", zapcore.ObjectMarshalerFunc(func(to zapcore.ObjectEncoder) error {
			to.AddBool("open", true)
			return nil
		}))
	})
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	log, lines := newLogger(slog.LevelInfo)
	for want, write := range map[string]func(){
		`level=INFO msg=m s=x i=-1 u=1 f=1.5 b=true d=1.5s t=2026-11-20T12:00:00.000Z`: func() {
			log.Info("m", zap.String("s", "x"), zap.Int("i", -1), zap.Uint("u", 1), zap.Float64("f", 1.5), zap.Bool("b", true),
				zap.Duration("d", 1500*time.Millisecond), zap.Time("t", noon), zap.Error(nil), zap.Skip())
		},
		`level=WARN msg=m error="the disk is full" cause=EOF ids="[1 2]"`: func() {
			log.Warn("m", zap.Error(errors.New("the disk is full")), zap.NamedError("cause", errors.New("EOF")), zap.Int64s("ids", []int64{1, 2}))
		},
		`level=ERROR msg=m pet.id=1 pet.name=Rex pet.shop.open=true`: func() { log.Error("m", zap.Object("pet", animal)) },
		`level=INFO msg=m id=1 name=Rex shop.open=true`:              func() { log.Info("m", zap.Inline(animal)) },
		`level=INFO msg=m a=1 b.c=2 b.d.e=3`: func() {
			log.Info("m", zap.Int("a", 1), zap.Namespace("b"), zap.Int("c", 2), zap.Namespace("d"), zap.Int("e", 3))
		},
		`level=INFO msg=m a=1 b.c=2 b.e=3`: func() {
			log.With(zap.Int("a", 1), zap.Namespace("b"), zap.Int("c", 2)).Info("m", zap.Int("e", 3))
		},
		`level=INFO msg=m logger=pets a=1`: func() { log.Named("pets").Info("m", zap.Int("a", 1)) },
		``:                                 func() { log.Debug("m") },
	} {
		lines.Reset()
		write()
		testkit.Equal(t, "the line", want, strings.TrimSuffix(lines.String(), "\n"), log.Sync())
	}
}

// A handler may treat errors itself, so it must get the value.
func TestLoggerPassesTheErrorValue(t *testing.T) {
	t.Parallel()
	var got any
	failure := errors.New("failure")
	petstore.NewLogger(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "error" {
			got = a.Value.Any()
		}
		return a
	}})).Error("m", zap.Error(failure))
	if got != any(failure) {
		t.Errorf("got %v, want the error", got)
	}
}

func TestLoggerHasTheLevelsStackAndCallerOfZap(t *testing.T) {
	t.Parallel()
	log, lines := newLogger(slog.LevelDebug)
	for level, want := range map[zapcore.Level]string{
		zap.DebugLevel: "DEBUG", zap.InfoLevel: "INFO", zap.WarnLevel: "WARN", zap.ErrorLevel: "ERROR", zap.DPanicLevel: "ERROR+4",
	} {
		lines.Reset()
		log.Log(level, "m")
		testkit.Equal(t, level.String(), "level="+want+" msg=m\n", lines.String())
	}
	withSource := &bytes.Buffer{}
	log = petstore.NewLogger(slog.NewTextHandler(withSource, &slog.HandlerOptions{AddSource: true}))
	log.WithOptions(zap.AddCaller(), zap.AddStacktrace(zap.ErrorLevel)).Error("m")
	if line := withSource.String(); strings.Count(line, "slog_test.go:") != 2 || !strings.Contains(line, " stack=") {
		t.Errorf("got %s, want the source and the stack", line)
	}
}
