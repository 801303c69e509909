-- The keys of a client that rotates its key have one lineage, the id of the first of them: NULL for that one.
-- The lineage is the scope of idempotency keys. The names of other callers have a colon before them.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN lineage INTEGER;
UPDATE idempotency_keys SET caller = ':' || caller WHERE caller GLOB '*[^0-9]*';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN lineage;
