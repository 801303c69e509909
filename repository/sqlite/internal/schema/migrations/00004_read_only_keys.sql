-- A read-only key may only read. Keys that were created before may do all.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1));

-- +goose Down
ALTER TABLE api_keys DROP COLUMN read_only;
