-- A page of a category is read by its index, which has '' for animals without a status.
--
-- While changes has a row, triggers record each change of an animal and of an order, with the
-- columns of the record as they are after it: those of an order if pet_id is not NULL. The first row
-- is not one of the changes, but the position after which all are kept. New ids are the greatest one
-- plus 1.

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

-- +goose StatementBegin
CREATE TRIGGER pets_added AFTER INSERT ON pets WHEN EXISTS (SELECT 1 FROM changes) BEGIN
    INSERT INTO changes (type, at, record_id, name, category_id, status)
        VALUES ('pet.added', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pets_updated AFTER UPDATE ON pets WHEN EXISTS (SELECT 1 FROM changes) BEGIN
    INSERT INTO changes (type, at, record_id, name, category_id, status)
        VALUES ('pet.updated', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.name, NEW.category_id, NEW.status);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER orders_added AFTER INSERT ON orders WHEN EXISTS (SELECT 1 FROM changes) BEGIN
    INSERT INTO changes (type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES ('order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN EXISTS (SELECT 1 FROM changes) BEGIN
    INSERT INTO changes (type, at, record_id, status, pet_id, created_at, updated_at)
        VALUES ('order.' || NEW.status, CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, NEW.status, NEW.pet_id, NEW.created_at, NEW.updated_at);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER orders_updated;
DROP TRIGGER orders_added;
DROP TRIGGER pets_updated;
DROP TRIGGER pets_added;
DROP TABLE changes;
DROP INDEX pets_category_id_status_id;
