-- How far each file of animals has been imported, by the SHA-256 of the file: the first added
-- of its animals were added, all of them if complete is 1.

-- +goose Up
CREATE TABLE imports (
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE imports;
