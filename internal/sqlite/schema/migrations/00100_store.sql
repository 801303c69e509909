-- The numbers below 100 belong to programs before version 1.0.0.
--
-- Times are milliseconds since 1970 in UTC, unless a comment says otherwise. SQL by hand is neither recorded nor counted.

-- +goose Up
PRAGMA application_id = 1885697139; -- "pets" in ASCII; identifies the file as a store

-- One row, see engine.State. Ids start at 1, increase and are never given out again: paging and the page cache depend on
-- that. A migration that earlier programs cannot use raises min_schema_version to its number. identity is the same in a store
-- and its backups. The generations show that a WAL belongs to the file.
CREATE TABLE store (
    id                  INTEGER PRIMARY KEY CHECK (id = 1),
    position            INTEGER NOT NULL,
    altered             INTEGER NOT NULL,
    kept_after          INTEGER NOT NULL,
    last_pet            INTEGER NOT NULL DEFAULT 0,
    last_order          INTEGER NOT NULL DEFAULT 0,
    last_key            INTEGER NOT NULL DEFAULT 0,
    available           INTEGER NOT NULL DEFAULT 0,
    pending             INTEGER NOT NULL DEFAULT 0,
    sold                INTEGER NOT NULL DEFAULT 0,
    none                INTEGER NOT NULL DEFAULT 0,
    min_schema_version  INTEGER NOT NULL DEFAULT 100,
    identity            INTEGER NOT NULL DEFAULT (random()),
    generation          INTEGER NOT NULL DEFAULT 0,
    previous_generation INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A store begins at a position that no other store has used: the time in microseconds and a random number of 40 bits.
INSERT INTO store (id, position, altered, kept_after)
    VALUES (1, CAST(unixepoch('subsec') * 1000000 AS INTEGER) + (random() & 0xffffffffff), 0, 0);
UPDATE store SET altered = position, kept_after = position;

-- The generation again, in one row: nothing else writes this page, so that a file that was copied over the file of an open
-- store is noticed.
CREATE TABLE store_file (
    generation INTEGER NOT NULL
) STRICT;

INSERT INTO store_file (generation) VALUES (0);

-- name_key is domain.FoldName of the name. An animal without a status has the status ''.
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    name_key    TEXT    NOT NULL DEFAULT '',
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL DEFAULT '' CHECK (status = '' OR status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;

CREATE INDEX pets_status_id ON pets (status, id);
CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id);

-- A row for each category that has a name or an animal, with the numbers of its animals by their status. A category without a
-- name has the name ''.
CREATE TABLE categories (
    id        INTEGER PRIMARY KEY,
    name      TEXT     NOT NULL DEFAULT '',
    available INTEGER NOT NULL DEFAULT 0,
    pending   INTEGER NOT NULL DEFAULT 0,
    sold      INTEGER NOT NULL DEFAULT 0,
    none      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Cancelled orders outlive their animals, so pet_id is no foreign key.
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY,
    pet_id     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status = 'placed' OR status = 'delivered' OR status = 'cancelled'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- An animal is sold once: it has at most one order that is not cancelled.
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_status_id ON orders (status, id);
CREATE INDEX orders_pet_id_status_id ON orders (pet_id, status, id);

-- records is JSON of the API: the record after the change, and the animal before a correction.
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY,
    type    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    caller  TEXT    NOT NULL,
    records TEXT    NOT NULL
) STRICT;

-- A key may do what its scopes allow, separated by commas: NULL is everything. The lineage of a key is the id of the first
-- key of its rotations, NULL for that first key. It is the caller of idempotency keys.
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    scopes       TEXT    CHECK (scopes <> ''),
    lineage      INTEGER,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE idempotency_keys (
    caller      TEXT    NOT NULL,
    value       TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    result      BLOB,
    claimed_at  INTEGER NOT NULL,
    PRIMARY KEY (caller, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_claimed_at ON idempotency_keys (claimed_at);

-- How many animals of a file were added, from the first on, by the SHA-256 of the animals.
CREATE TABLE imports (
    digest BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added  INTEGER NOT NULL CHECK (added >= 0)
) STRICT, WITHOUT ROWID;

-- While petstore copy has not finished copying another store into this one, a row with the name of that store.
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE unfinished_copy;
DROP TABLE imports;
DROP TABLE idempotency_keys;
DROP TABLE api_keys;
DROP TABLE changes;
DROP TABLE orders;
DROP TABLE categories;
DROP TABLE pets;
DROP TABLE store_file;
DROP TABLE store;
