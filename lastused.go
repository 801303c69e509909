package petstore

import (
	"time"

	"go.uber.org/zap"
)

// flushInterval is how often it is stored when keys were last used.
const flushInterval = 5 * time.Second

// logFlushes returns a function that logs the first of several errors in a row. Requests may
// log none, if all of them read and only writes fail. The entry does not say that the write is
// repeated, because the one at the end of the service is not.
func logFlushes(log *zap.Logger) func(error) {
	failed := false
	return func(err error) {
		if err != nil && !failed {
			log.Warn("cannot store when API keys were last used", zap.Error(err))
		}
		failed = err != nil
	}
}
