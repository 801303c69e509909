package petstore

import (
	"time"

	"go.uber.org/zap"
)

// flushInterval is how often the last uses of keys are stored.
const flushInterval = 5 * time.Second

// logFlushes returns a function that logs an error unless the previous call had one, too. The log entry is needed while
// clients only read: their requests succeed and log nothing, although the store cannot be written. The message does
// not promise a retry: the last write, when the service is closed, has none.
func logFlushes(log *zap.Logger) func(error) {
	failed := false
	return func(err error) {
		if err != nil && !failed {
			log.Warn("cannot store when API keys were last used", zap.Error(err))
		}
		failed = err != nil
	}
}
