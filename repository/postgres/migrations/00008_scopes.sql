-- A key may do what its scopes allow, separated by commas: NULL is everything. They replace read_only.

-- +goose Up
SELECT 1 FROM versions FOR UPDATE; -- as every transaction that writes, or both would wait for each other
ALTER TABLE api_keys ADD COLUMN scopes TEXT CHECK (scopes <> '');
UPDATE api_keys SET scopes = 'pets:read,orders:read,changes:read' WHERE read_only = 1;
ALTER TABLE api_keys DROP COLUMN read_only;

-- +goose Down
ALTER TABLE api_keys ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1));
UPDATE api_keys SET read_only = 1 WHERE scopes IS NOT NULL;
ALTER TABLE api_keys DROP COLUMN scopes;
