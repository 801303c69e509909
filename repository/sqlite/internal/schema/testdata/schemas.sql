-- version 1
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
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE INDEX pets_status_id ON pets (status, id);
-- version 2
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
CREATE TABLE imports (
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE INDEX pets_status_id ON pets (status, id);
-- version 3
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
CREATE TABLE imports (
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- version 4
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
, read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1))) STRICT;
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
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- version 5
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
, read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1))) STRICT;
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY,
    type        TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    record_id   INTEGER NOT NULL,
    name        TEXT,
    category_id INTEGER,
    status      TEXT,
    pet_id      INTEGER,
    created_at  INTEGER,
    updated_at  INTEGER
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
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TABLE recording (
    active     INTEGER NOT NULL CHECK (active IN (0, 1)),
    kept_after INTEGER NOT NULL
) STRICT;
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- version 6
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
, read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1)), lineage INTEGER) STRICT;
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY,
    type        TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    record_id   INTEGER NOT NULL,
    name        TEXT,
    category_id INTEGER,
    status      TEXT,
    pet_id      INTEGER,
    created_at  INTEGER,
    updated_at  INTEGER
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
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL REFERENCES pets (id),
    status     TEXT    NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TABLE recording (
    active     INTEGER NOT NULL CHECK (active IN (0, 1)),
    kept_after INTEGER NOT NULL
) STRICT;
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- version 7
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
, read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1)), lineage INTEGER) STRICT;
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY,
    type        TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    record_id   INTEGER NOT NULL,
    name        TEXT,
    category_id INTEGER,
    status      TEXT,
    pet_id      INTEGER,
    created_at  INTEGER,
    updated_at  INTEGER
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
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status = 'placed' OR status = 'delivered' OR status = 'cancelled'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE TABLE pet_counts (
    category_id INTEGER PRIMARY KEY,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    none        INTEGER NOT NULL
) STRICT;
CREATE TABLE pet_totals (
    available INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    sold      INTEGER NOT NULL,
    none      INTEGER NOT NULL
) STRICT;
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TRIGGER pets_added_count AFTER INSERT ON pets BEGIN
    INSERT INTO pet_counts
        VALUES (NEW.category_id, NEW.status IS 'available', NEW.status IS 'pending', NEW.status IS 'sold', NEW.status IS NULL)
        ON CONFLICT DO UPDATE SET available = available + excluded.available, pending = pending + excluded.pending,
            sold = sold + excluded.sold, none = none + excluded.none;
    UPDATE pet_totals SET available = available + (NEW.status IS 'available'), pending = pending + (NEW.status IS 'pending'),
        sold = sold + (NEW.status IS 'sold'), none = none + (NEW.status IS NULL);
END;
CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);
CREATE TRIGGER pets_removed AFTER DELETE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.removed',
            CAST(unixepoch('subsec') * 1000 AS INTEGER), OLD.id, OLD.name, OLD.category_id, OLD.status);
END;
CREATE TRIGGER pets_removed_count AFTER DELETE ON pets BEGIN
    UPDATE pet_counts SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL) WHERE category_id = OLD.category_id;
    UPDATE pet_totals SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL);
END;
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TRIGGER pets_updated_count AFTER UPDATE ON pets WHEN NEW.category_id <> OLD.category_id OR NEW.status IS NOT OLD.status BEGIN
    UPDATE pet_counts SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL) WHERE category_id = OLD.category_id;
    INSERT INTO pet_counts
        VALUES (NEW.category_id, NEW.status IS 'available', NEW.status IS 'pending', NEW.status IS 'sold', NEW.status IS NULL)
        ON CONFLICT DO UPDATE SET available = available + excluded.available, pending = pending + excluded.pending,
            sold = sold + excluded.sold, none = none + excluded.none;
    UPDATE pet_totals SET available = available + (NEW.status IS 'available') - (OLD.status IS 'available'),
        pending = pending + (NEW.status IS 'pending') - (OLD.status IS 'pending'),
        sold = sold + (NEW.status IS 'sold') - (OLD.status IS 'sold'), none = none + (NEW.status IS NULL) - (OLD.status IS NULL);
END;
CREATE TABLE recording (
    active     INTEGER NOT NULL CHECK (active IN (0, 1)),
    kept_after INTEGER NOT NULL
) STRICT;
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- version 8
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    name         TEXT    NOT NULL,
    last_four    TEXT    NOT NULL CHECK (length(last_four) = 4),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
, lineage INTEGER, scopes TEXT CHECK (scopes <> '')) STRICT;
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY,
    type        TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    record_id   INTEGER NOT NULL,
    name        TEXT,
    category_id INTEGER,
    status      TEXT,
    pet_id      INTEGER,
    created_at  INTEGER,
    updated_at  INTEGER
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
    digest     BLOB    PRIMARY KEY CHECK (length(digest) = 32),
    added      INTEGER NOT NULL CHECK (added >= 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status = 'placed' OR status = 'delivered' OR status = 'cancelled'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE UNIQUE INDEX orders_live ON orders (pet_id) WHERE status <> 'cancelled';
CREATE INDEX orders_pet_id ON orders (pet_id, id);
CREATE INDEX orders_status_id ON orders (status, id);
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
CREATE TABLE pet_counts (
    category_id INTEGER PRIMARY KEY,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    none        INTEGER NOT NULL
) STRICT;
CREATE TABLE pet_totals (
    available INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    sold      INTEGER NOT NULL,
    none      INTEGER NOT NULL
) STRICT;
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (length(name) >= 1),
    category_id INTEGER NOT NULL,
    status      TEXT    CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TRIGGER pets_added_count AFTER INSERT ON pets BEGIN
    INSERT INTO pet_counts
        VALUES (NEW.category_id, NEW.status IS 'available', NEW.status IS 'pending', NEW.status IS 'sold', NEW.status IS NULL)
        ON CONFLICT DO UPDATE SET available = available + excluded.available, pending = pending + excluded.pending,
            sold = sold + excluded.sold, none = none + excluded.none;
    UPDATE pet_totals SET available = available + (NEW.status IS 'available'), pending = pending + (NEW.status IS 'pending'),
        sold = sold + (NEW.status IS 'sold'), none = none + (NEW.status IS NULL);
END;
CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);
CREATE TRIGGER pets_removed AFTER DELETE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.removed',
            CAST(unixepoch('subsec') * 1000 AS INTEGER), OLD.id, OLD.name, OLD.category_id, OLD.status);
END;
CREATE TRIGGER pets_removed_count AFTER DELETE ON pets BEGIN
    UPDATE pet_counts SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL) WHERE category_id = OLD.category_id;
    UPDATE pet_totals SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL);
END;
CREATE INDEX pets_status_id ON pets (status, id);
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
CREATE TRIGGER pets_updated_count AFTER UPDATE ON pets WHEN NEW.category_id <> OLD.category_id OR NEW.status IS NOT OLD.status BEGIN
    UPDATE pet_counts SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL) WHERE category_id = OLD.category_id;
    INSERT INTO pet_counts
        VALUES (NEW.category_id, NEW.status IS 'available', NEW.status IS 'pending', NEW.status IS 'sold', NEW.status IS NULL)
        ON CONFLICT DO UPDATE SET available = available + excluded.available, pending = pending + excluded.pending,
            sold = sold + excluded.sold, none = none + excluded.none;
    UPDATE pet_totals SET available = available + (NEW.status IS 'available') - (OLD.status IS 'available'),
        pending = pending + (NEW.status IS 'pending') - (OLD.status IS 'pending'),
        sold = sold + (NEW.status IS 'sold') - (OLD.status IS 'sold'), none = none + (NEW.status IS NULL) - (OLD.status IS NULL);
END;
CREATE TABLE recording (
    active     INTEGER NOT NULL CHECK (active IN (0, 1)),
    kept_after INTEGER NOT NULL
) STRICT;
CREATE TABLE unfinished_copy (
    source TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
