-- Cancelled orders of animals that are removed stay, so the foreign key goes.
--
-- Triggers keep the numbers of the animals of each category, and of all, by their status. A fillfactor leaves room for new
-- versions of a row in its page.

-- +goose Up
SELECT 1 FROM versions FOR UPDATE; -- as every transaction that writes, or both would wait for each other

CREATE TABLE pet_counts (
    category_id BIGINT PRIMARY KEY,
    available   BIGINT NOT NULL,
    pending     BIGINT NOT NULL,
    sold        BIGINT NOT NULL,
    none        BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO pet_counts SELECT category_id, count(*) FILTER (WHERE status = 'available'), count(*) FILTER (WHERE status = 'pending'),
    count(*) FILTER (WHERE status = 'sold'), count(*) FILTER (WHERE status IS NULL) FROM pets GROUP BY category_id;

CREATE TABLE pet_totals (
    available BIGINT NOT NULL,
    pending   BIGINT NOT NULL,
    sold      BIGINT NOT NULL,
    none      BIGINT NOT NULL
) WITH (fillfactor = 10);
INSERT INTO pet_totals
    SELECT COALESCE(sum(available), 0), COALESCE(sum(pending), 0), COALESCE(sum(sold), 0), COALESCE(sum(none), 0) FROM pet_counts;

-- +goose StatementBegin
CREATE FUNCTION count_pets() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE sign BIGINT := TG_ARGV[0];
BEGIN
    INSERT INTO pet_counts AS counts
        SELECT category_id, sign * count(*) FILTER (WHERE status = 'available'), sign * count(*) FILTER (WHERE status = 'pending'),
            sign * count(*) FILTER (WHERE status = 'sold'), sign * count(*) FILTER (WHERE status IS NULL)
        FROM changed GROUP BY category_id
        ON CONFLICT (category_id) DO UPDATE SET available = counts.available + excluded.available, pending = counts.pending + excluded.pending,
            sold = counts.sold + excluded.sold, none = counts.none + excluded.none;
    UPDATE pet_totals SET available = available + sign * added.a, pending = pending + sign * added.p,
        sold = sold + sign * added.s, none = none + sign * added.n
        FROM (SELECT count(*) FILTER (WHERE status = 'available') AS a, count(*) FILTER (WHERE status = 'pending') AS p,
            count(*) FILTER (WHERE status = 'sold') AS s, count(*) FILTER (WHERE status IS NULL) AS n FROM changed HAVING count(*) > 0) AS added;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_updated_pet() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    old_status TEXT := COALESCE(OLD.status, 'none');
    new_status TEXT := COALESCE(NEW.status, 'none');
BEGIN
    INSERT INTO pet_counts AS counts
        SELECT category_id, sum(n * (status = 'available')::int), sum(n * (status = 'pending')::int), sum(n * (status = 'sold')::int),
            sum(n * (status = 'none')::int)
        FROM (VALUES (OLD.category_id, old_status, -1), (NEW.category_id, new_status, 1)) AS changed (category_id, status, n) GROUP BY category_id
        ON CONFLICT (category_id) DO UPDATE SET available = counts.available + excluded.available, pending = counts.pending + excluded.pending,
            sold = counts.sold + excluded.sold, none = counts.none + excluded.none;
    UPDATE pet_totals SET available = available + (new_status = 'available')::int - (old_status = 'available')::int,
        pending = pending + (new_status = 'pending')::int - (old_status = 'pending')::int,
        sold = sold + (new_status = 'sold')::int - (old_status = 'sold')::int, none = none + (new_status = 'none')::int - (old_status = 'none')::int
        WHERE new_status <> old_status;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER pets_removed AFTER DELETE ON pets REFERENCING OLD TABLE AS changed EXECUTE FUNCTION record_pets('pet.removed');
CREATE TRIGGER pets_added_count AFTER INSERT ON pets REFERENCING NEW TABLE AS changed EXECUTE FUNCTION count_pets('1');
CREATE TRIGGER pets_removed_count AFTER DELETE ON pets REFERENCING OLD TABLE AS changed EXECUTE FUNCTION count_pets('-1');
CREATE TRIGGER pets_updated_count AFTER UPDATE ON pets FOR EACH ROW
    WHEN (NEW.category_id <> OLD.category_id OR NEW.status IS DISTINCT FROM OLD.status) EXECUTE FUNCTION count_updated_pet();

ALTER TABLE orders DROP CONSTRAINT orders_pet_id_fkey; -- last: it locks the tables also for those who read

-- +goose Down
ALTER TABLE orders ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES pets (id);
DROP TRIGGER pets_updated_count ON pets;
DROP TRIGGER pets_removed_count ON pets;
DROP TRIGGER pets_added_count ON pets;
DROP TRIGGER pets_removed ON pets;
DROP FUNCTION count_updated_pet;
DROP FUNCTION count_pets;
DROP TABLE pet_totals;
DROP TABLE pet_counts;
