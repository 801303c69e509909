-- version 100
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
CREATE TABLE categories (
    id        INTEGER PRIMARY KEY,
    name      TEXT     NOT NULL DEFAULT '',
    available INTEGER NOT NULL DEFAULT 0,
    pending   INTEGER NOT NULL DEFAULT 0,
    sold      INTEGER NOT NULL DEFAULT 0,
    none      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY,
    type    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    caller  TEXT    NOT NULL,
    records TEXT    NOT NULL
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
CREATE TABLE imports (
    digest BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added  INTEGER NOT NULL CHECK (added >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY,
    pet_id     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status = 'placed' OR status = 'delivered' OR status = 'cancelled'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id_status_id ON orders (pet_id, status, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    name_key    TEXT    NOT NULL DEFAULT '',
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL DEFAULT '' CHECK (status = '' OR status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;
CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id);
CREATE INDEX pets_status_id ON pets (status, id);
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
CREATE TABLE store_file (
    generation INTEGER NOT NULL
) STRICT;
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
