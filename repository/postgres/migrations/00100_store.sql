-- The numbers below 100 belong to programs before version 1.0.0.
--
-- Times are milliseconds since 1970 in UTC, unless a comment says otherwise. SQL by hand is neither recorded nor counted.
-- Texts with an index have the collation C, which never changes.

-- +goose Up
-- One row, see engine.State, which each transaction that writes locks until its commit. So ids and positions increase in the
-- order of commits. Ids start at 1 and are never given out again: paging and the page cache depend on that. A migration that
-- earlier programs cannot use raises min_schema_version to its number. A fillfactor of 10 leaves room for new versions of the row
-- in its page.
CREATE TABLE store (
    id                  SMALLINT PRIMARY KEY CHECK (id = 1),
    position            BIGINT NOT NULL,
    altered             BIGINT NOT NULL,
    kept_after          BIGINT NOT NULL,
    last_pet            BIGINT NOT NULL DEFAULT 0,
    last_order          BIGINT NOT NULL DEFAULT 0,
    last_key            BIGINT NOT NULL DEFAULT 0,
    available           BIGINT NOT NULL DEFAULT 0,
    pending             BIGINT NOT NULL DEFAULT 0,
    sold                BIGINT NOT NULL DEFAULT 0,
    none                BIGINT NOT NULL DEFAULT 0,
    min_schema_version  BIGINT NOT NULL DEFAULT 100
) WITH (fillfactor = 10);

-- A store begins at a position that no other store has used: the time in microseconds and a random number of 40 bits.
INSERT INTO store (id, position, altered, kept_after)
    VALUES (1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + floor(random() * (1::bigint << 40))::bigint, 0, 0);
UPDATE store SET altered = position, kept_after = position;

-- name_key is domain.FoldName of the name. An animal without a status has the status ''.
CREATE TABLE pets (
    id          BIGINT PRIMARY KEY,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    name_key    TEXT    COLLATE "C" NOT NULL DEFAULT '',
    category_id BIGINT NOT NULL,
    status      TEXT    COLLATE "C" NOT NULL DEFAULT '' CHECK (status = '' OR status = 'available' OR status = 'pending' OR status = 'sold')
);

CREATE INDEX pets_status_id ON pets (status, id);
CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id);

-- A row for each category that has a name or an animal, with the numbers of its animals by their status. A category without a
-- name has the name ''.
CREATE TABLE categories (
    id        BIGINT PRIMARY KEY,
    name      TEXT   NOT NULL DEFAULT '',
    available BIGINT NOT NULL DEFAULT 0,
    pending   BIGINT NOT NULL DEFAULT 0,
    sold      BIGINT NOT NULL DEFAULT 0,
    none      BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Cancelled orders outlive their animals, so pet_id is no foreign key.
CREATE TABLE orders (
    id         BIGINT PRIMARY KEY,
    pet_id     BIGINT NOT NULL,
    status     TEXT    COLLATE "C" NOT NULL CHECK (status = 'placed' OR status = 'delivered' OR status = 'cancelled'),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- An animal is sold once: it has at most one order that is not cancelled.
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_status_id ON orders (status, id);
CREATE INDEX orders_pet_id_status_id ON orders (pet_id, status, id);

-- records is JSON of the API: the record after the change, and the animal before a correction.
CREATE TABLE changes (
    seq     BIGINT PRIMARY KEY,
    type    TEXT    NOT NULL,
    at      BIGINT NOT NULL,
    caller  TEXT    NOT NULL,
    records TEXT    NOT NULL
);

-- A key may do what its scopes allow, separated by commas: NULL is everything. The lineage of a key is the id of the first
-- key of its rotations, NULL for that first key. It is the caller of idempotency keys.
CREATE TABLE api_keys (
    id           BIGINT PRIMARY KEY,
    hash         BYTEA   NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    scopes       TEXT    CHECK (scopes <> ''),
    lineage      BIGINT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

CREATE TABLE idempotency_keys (
    caller      TEXT    COLLATE "C" NOT NULL,
    value       TEXT    COLLATE "C" NOT NULL,
    fingerprint BYTEA   NOT NULL CHECK (length(fingerprint) = 32),
    result      BYTEA,
    claimed_at  BIGINT NOT NULL,
    PRIMARY KEY (caller, value)
);

CREATE INDEX idempotency_keys_claimed_at ON idempotency_keys (claimed_at);

-- How many animals of a file were added, from the first on, by the SHA-256 of the animals.
CREATE TABLE imports (
    digest BYTEA   PRIMARY KEY CHECK (length(digest) = 32),
    added  BIGINT  NOT NULL CHECK (added >= 0)
);

-- While petstore copy has not finished copying another store into this one, a row with the name of that store.
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
);

-- +goose Down
DROP TABLE unfinished_copy;
DROP TABLE imports;
DROP TABLE idempotency_keys;
DROP TABLE api_keys;
DROP TABLE changes;
DROP TABLE orders;
DROP TABLE categories;
DROP TABLE pets;
DROP TABLE store;
