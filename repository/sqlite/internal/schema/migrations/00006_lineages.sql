-- The lineage of a key is the id of the first key of its rotations. It is NULL for that first key.
-- The lineage is the scope of idempotency keys. The names of other callers have a colon before them.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN lineage INTEGER;
UPDATE idempotency_keys SET caller = ':' || caller WHERE caller GLOB '*[^0-9]*';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN lineage;
