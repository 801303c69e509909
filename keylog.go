package petstore

import (
	"context"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/usecase"
)

// keyLogInterval is how often a service looks for changes of API keys.
const keyLogInterval = time.Minute

// logKeys logs the API keys that are created, edited or revoked, by this or another process, until ctx ends. It is the
// only trace of the commands in the log of the service.
func logKeys(ctx context.Context, keys *usecase.Keys, log *zap.Logger) {
	ticker := time.NewTicker(keyLogInterval)
	defer ticker.Stop()
	var known map[int64]apikey.Key // nil until the keys have been read once
	for ctx.Err() == nil {
		if all, err := keys.List(ctx); err == nil { // an error is counted in petstore_store_errors_total
			known = logChangedKeys(known, all, log)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// logChangedKeys logs how all differ from the known keys, and returns all by id. If known is nil, it logs nothing.
func logChangedKeys(known map[int64]apikey.Key, all []apikey.Key, log *zap.Logger) map[int64]apikey.Key {
	now := make(map[int64]apikey.Key, len(all))
	for _, key := range all {
		now[key.ID] = key
		old, exists := known[key.ID]
		entry := log.With(zap.Int64("key_id", key.ID), zap.String("name", key.Name), zap.Strings("scopes", key.Scopes.List()))
		switch {
		case known == nil:
			continue
		case !exists && key.Lineage != key.ID:
			entry.Info("API key created by a rotation", zap.Int64("first_key_id", key.Lineage), zap.Time("created_at", key.CreatedAt))
		case !exists:
			entry.Info("API key created", zap.Time("created_at", key.CreatedAt))
		case key.Name != old.Name || key.Scopes != old.Scopes:
			entry.Info("API key edited")
		}
		if key.RevokedAt != nil && (old.RevokedAt == nil || !old.RevokedAt.Equal(*key.RevokedAt)) {
			entry.Info("API key revoked", zap.Time("revoked_at", *key.RevokedAt))
		}
	}
	return now
}
