-- While petstore copy has not finished copying another store into this one, a row with the
-- name of that store.

-- +goose Up
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE unfinished_copy;
