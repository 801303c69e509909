-- The query of a page of a category uses the index on the category, which has '' for animals without a status.
--
-- While recording is active, triggers record each change of an animal and of an order, with the
-- columns of the record after the change. If pet_id is not NULL, the record is an order. All changes
-- after the position kept_after are kept. The id of a new one is the last position plus 1.

-- +goose Up
CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);

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

CREATE TABLE recording (
    active     INTEGER NOT NULL CHECK (active IN (0, 1)),
    kept_after INTEGER NOT NULL
) STRICT;
INSERT INTO recording VALUES (0, 0);

-- +goose StatementBegin
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER orders_updated;
DROP TRIGGER orders_added;
DROP TRIGGER pets_updated;
DROP TRIGGER pets_added;
DROP TABLE recording;
DROP TABLE changes;
DROP INDEX pets_category_id_status_id;
