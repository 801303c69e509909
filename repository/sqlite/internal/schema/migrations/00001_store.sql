-- Times are milliseconds since 1970 in UTC. Ids start at 1, increase and are never
-- reused (AUTOINCREMENT): paging and the page cache depend on that.

-- +goose Up
PRAGMA application_id = 1885697139; -- "pets" in ASCII; identifies the file as a store

CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

CREATE INDEX pets_status_id ON pets (status, id);

CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- An animal is sold once: it has at most one order that is not cancelled.
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_status_id ON orders (status, id);
CREATE INDEX orders_pet_id ON orders (pet_id, id);

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
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

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE api_keys;
DROP TABLE orders;
DROP TABLE pets;
