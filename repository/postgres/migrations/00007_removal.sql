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
            count(*) FILTER (WHERE status = 'sold') AS s, count(*) FILTER (WHERE status IS NULL) AS n FROM changed) AS added;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER pets_removed AFTER DELETE ON pets REFERENCING OLD TABLE AS changed EXECUTE FUNCTION record_pets('pet.removed');
CREATE TRIGGER pets_added_count AFTER INSERT ON pets REFERENCING NEW TABLE AS changed EXECUTE FUNCTION count_pets('1');
CREATE TRIGGER pets_removed_count AFTER DELETE ON pets REFERENCING OLD TABLE AS changed EXECUTE FUNCTION count_pets('-1');
CREATE TRIGGER pets_updated_from_count AFTER UPDATE ON pets REFERENCING OLD TABLE AS changed EXECUTE FUNCTION count_pets('-1');
CREATE TRIGGER pets_updated_to_count AFTER UPDATE ON pets REFERENCING NEW TABLE AS changed EXECUTE FUNCTION count_pets('1');

ALTER TABLE orders DROP CONSTRAINT orders_pet_id_fkey; -- last: it locks the tables also for those who read

-- +goose Down
ALTER TABLE orders ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES pets (id);
DROP TRIGGER pets_updated_to_count ON pets;
DROP TRIGGER pets_updated_from_count ON pets;
DROP TRIGGER pets_removed_count ON pets;
DROP TRIGGER pets_added_count ON pets;
DROP TRIGGER pets_removed ON pets;
DROP FUNCTION count_pets;
DROP TABLE pet_totals;
DROP TABLE pet_counts;
