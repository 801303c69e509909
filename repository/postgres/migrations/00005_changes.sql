-- The query of a page of a category uses the index on the category, which has '' for animals without a status.
--
-- While recording is active, triggers record each change of an animal and of an order, with the
-- columns of the record after the change. If pet_id is not NULL, the record is an order. All changes
-- after the position kept_after are kept. The id of a new one is the last position plus 1:
-- transactions that write lock the row of versions first, so the order of ids is that of commits.

-- +goose Up
SELECT 1 FROM versions FOR UPDATE; -- as every transaction that writes, or both would wait for each other

CREATE INDEX pets_category_id_status_id ON pets (category_id, COALESCE(status, ''), id);

CREATE TABLE changes (
    id          BIGINT PRIMARY KEY,
    type        TEXT   NOT NULL,
    at          BIGINT NOT NULL,
    record_id   BIGINT NOT NULL,
    name        TEXT,
    category_id BIGINT,
    status      TEXT,
    pet_id      BIGINT,
    created_at  BIGINT,
    updated_at  BIGINT
);

CREATE TABLE recording (
    active     BIGINT NOT NULL CHECK (active IN (0, 1)),
    kept_after BIGINT NOT NULL
);
INSERT INTO recording VALUES (0, 0);

-- +goose StatementBegin
CREATE FUNCTION record_pets() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE last BIGINT := (SELECT COALESCE((SELECT max(id) FROM changes), kept_after) FROM recording WHERE active = 1);
BEGIN
    IF last IS NOT NULL THEN
        INSERT INTO changes (id, type, at, record_id, name, category_id, status)
            SELECT last + row_number() OVER (ORDER BY id), TG_ARGV[0], floor(extract(epoch FROM clock_timestamp()) * 1000), id, name, category_id, status
            FROM changed;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION record_orders() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE last BIGINT := (SELECT COALESCE((SELECT max(id) FROM changes), kept_after) FROM recording WHERE active = 1);
BEGIN
    IF last IS NOT NULL THEN
        INSERT INTO changes (id, type, at, record_id, status, pet_id, created_at, updated_at)
            SELECT last + row_number() OVER (ORDER BY id), 'order.' || status, floor(extract(epoch FROM clock_timestamp()) * 1000), id, status, pet_id, created_at, updated_at
            FROM changed;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER pets_added AFTER INSERT ON pets REFERENCING NEW TABLE AS changed EXECUTE FUNCTION record_pets('pet.added');
CREATE TRIGGER pets_updated AFTER UPDATE ON pets REFERENCING NEW TABLE AS changed EXECUTE FUNCTION record_pets('pet.updated');
CREATE TRIGGER orders_added AFTER INSERT ON orders REFERENCING NEW TABLE AS changed EXECUTE FUNCTION record_orders();
CREATE TRIGGER orders_updated AFTER UPDATE ON orders REFERENCING NEW TABLE AS changed EXECUTE FUNCTION record_orders();

-- +goose Down
DROP TRIGGER orders_updated ON orders;
DROP TRIGGER orders_added ON orders;
DROP TRIGGER pets_updated ON pets;
DROP TRIGGER pets_added ON pets;
DROP FUNCTION record_orders;
DROP FUNCTION record_pets;
DROP TABLE recording;
DROP TABLE changes;
DROP INDEX pets_category_id_status_id;
