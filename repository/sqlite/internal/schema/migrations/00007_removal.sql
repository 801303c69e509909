-- Cancelled orders of animals that are removed stay, so the foreign key goes. SQLite cannot drop one, and a copy of the
-- table would take seconds: this edits the text of the schema (sqlite.org/lang_altertable.html, "Making Other Kinds Of Table
-- Schema Changes"). It also writes each CHECK of a status with OR: for IN with three values, every INSERT fills a table of them,
-- which takes more time than the triggers that count.
--
-- The triggers keep the numbers of the animals of each category, and of all, by their status.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' REFERENCES pets (id)', ''),
    'status IN (''available'', ''pending'', ''sold'')', 'status = ''available'' OR status = ''pending'' OR status = ''sold'''),
    'status IN (''placed'', ''delivered'', ''cancelled'')', 'status = ''placed'' OR status = ''delivered'' OR status = ''cancelled''')
    WHERE type = 'table' AND name IN ('pets', 'orders');
PRAGMA writable_schema = RESET; -- reads the schema again; other connections do because of the next statement

CREATE TABLE pet_counts (
    category_id INTEGER PRIMARY KEY,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    none        INTEGER NOT NULL
) STRICT;
INSERT INTO pet_counts
    SELECT category_id, sum(n * (status = 'available')), sum(n * (status = 'pending')), sum(n * (status = 'sold')), sum(n * (status = ''))
    FROM (SELECT category_id, COALESCE(status, '') AS status, count(*) AS n FROM pets GROUP BY category_id, COALESCE(status, ''))
    GROUP BY category_id;

CREATE TABLE pet_totals (
    available INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    sold      INTEGER NOT NULL,
    none      INTEGER NOT NULL
) STRICT;
INSERT INTO pet_totals
    SELECT COALESCE(sum(available), 0), COALESCE(sum(pending), 0), COALESCE(sum(sold), 0), COALESCE(sum(none), 0) FROM pet_counts;

-- +goose StatementBegin
CREATE TRIGGER pets_removed AFTER DELETE ON pets WHEN (SELECT active FROM recording) BEGIN
    INSERT INTO changes (id, type, at, record_id, name, category_id, status)
        VALUES (1 + COALESCE((SELECT max(id) FROM changes), (SELECT kept_after FROM recording)), 'pet.removed',
            CAST(unixepoch('subsec') * 1000 AS INTEGER), OLD.id, OLD.name, OLD.category_id, OLD.status);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pets_added_count AFTER INSERT ON pets BEGIN
    INSERT INTO pet_counts
        VALUES (NEW.category_id, NEW.status IS 'available', NEW.status IS 'pending', NEW.status IS 'sold', NEW.status IS NULL)
        ON CONFLICT DO UPDATE SET available = available + excluded.available, pending = pending + excluded.pending,
            sold = sold + excluded.sold, none = none + excluded.none;
    UPDATE pet_totals SET available = available + (NEW.status IS 'available'), pending = pending + (NEW.status IS 'pending'),
        sold = sold + (NEW.status IS 'sold'), none = none + (NEW.status IS NULL);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pets_removed_count AFTER DELETE ON pets BEGIN
    UPDATE pet_counts SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL) WHERE category_id = OLD.category_id;
    UPDATE pet_totals SET available = available - (OLD.status IS 'available'), pending = pending - (OLD.status IS 'pending'),
        sold = sold - (OLD.status IS 'sold'), none = none - (OLD.status IS NULL);
END;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER pets_updated_count;
DROP TRIGGER pets_removed_count;
DROP TRIGGER pets_added_count;
DROP TRIGGER pets_removed;
DROP TABLE pet_totals;
DROP TABLE pet_counts;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'pet_id     INTEGER NOT NULL', 'pet_id     INTEGER NOT NULL REFERENCES pets (id)'),
    'status = ''available'' OR status = ''pending'' OR status = ''sold''', 'status IN (''available'', ''pending'', ''sold'')'),
    'status = ''placed'' OR status = ''delivered'' OR status = ''cancelled''', 'status IN (''placed'', ''delivered'', ''cancelled'')')
    WHERE type = 'table' AND name IN ('pets', 'orders');
PRAGMA writable_schema = RESET;
