package petstore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewLogger returns a logger for rest.Options.Logger that writes to a handler of log/slog, such as slog.Default().Handler().
// The handler decides which levels are logged. An error stays an error and a duration a duration. A nested object is a
// group, whose keys are sorted.
func NewLogger(handler slog.Handler) *zap.Logger { return zap.New(slogCore{handler}) }

// A slogCore is a zapcore.Core that writes to a slog.Handler.
type slogCore struct{ handler slog.Handler }

// slogLevel returns the level of log/slog, whose levels have the same order at a distance of 4.
func slogLevel(level zapcore.Level) slog.Level { return slog.Level(4 * level) }

// Enabled implements zapcore.LevelEnabler.
func (c slogCore) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), slogLevel(level))
}

// With implements zapcore.Core.
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	if i := slices.IndexFunc(fields, isNamespace); i >= 0 {
		return slogCore{c.handler.WithAttrs(slogAttrs(fields[:i])).WithGroup(fields[i].Key)}.With(fields[i+1:])
	}
	return slogCore{c.handler.WithAttrs(slogAttrs(fields))}
}

// Check implements zapcore.Core.
func (c slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	record := slog.NewRecord(entry.Time, slogLevel(entry.Level), entry.Message, entry.Caller.PC)
	if entry.LoggerName != "" {
		record.AddAttrs(slog.String("logger", entry.LoggerName))
	}
	record.AddAttrs(slogAttrs(fields)...)
	if entry.Stack != "" {
		record.AddAttrs(slog.String("stack", entry.Stack))
	}
	return c.handler.Handle(context.Background(), record)
}

// Sync implements zapcore.Core.
func (slogCore) Sync() error { return nil }

func isNamespace(field zapcore.Field) bool { return field.Type == zapcore.NamespaceType }

// slogAttrs returns fields as attributes. The fields after a namespace are in a group.
func slogAttrs(fields []zapcore.Field) (attrs []slog.Attr) {
	for i, field := range fields {
		switch {
		case isNamespace(field):
			return append(attrs, slog.GroupAttrs(field.Key, slogAttrs(fields[i+1:])...))
		case field.Type == zapcore.ErrorType:
			attrs = append(attrs, slog.Any(field.Key, field.Interface))
		default:
			encoder := zapcore.NewMapObjectEncoder()
			field.AddTo(encoder) // an inlined object has several keys
			attrs = append(attrs, slogGroup(encoder.Fields)...)
		}
	}
	return attrs
}

// slogGroup returns the values of an object as attributes.
func slogGroup(object map[string]any) (attrs []slog.Attr) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if nested, ok := object[key].(map[string]any); ok {
			attrs = append(attrs, slog.GroupAttrs(key, slogGroup(nested)...))
		} else {
			attrs = append(attrs, slog.Any(key, object[key]))
		}
	}
	return attrs
}
