-- One row for each imported file of animals, by the SHA-256 of the file. added is how many of its animals
-- were added, from the first on. complete is 1 if all of them were added.

-- +goose Up
CREATE TABLE imports (
    digest     BYTEA   PRIMARY KEY CHECK (length(digest) = 32),
    added      BIGINT  NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at BIGINT  NOT NULL
);

-- +goose Down
DROP TABLE imports;
