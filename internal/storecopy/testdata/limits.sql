-- Rows with values at the limits of their types and rules, for tests of Copy from SQLite.
INSERT INTO pets (id, name, name_key, category_id, status) VALUES
    (1, 'a', '', 0, ''),
    (2, replace(hex(zeroblob(100)), '0', '🐈'), replace(hex(zeroblob(300)), '0', 'ΐ'), -9223372036854775808, 'available'),
    (3, 'quote '' " \ $1 ? %s', 'quote '' " \ $1 ? %s', 9223372036854775807, 'pending'),
    (7, 'é' || char(0x301) || char(0x202e), 'é' || char(0x301) || char(0x202e), 1, 'sold'),
    (9223372036854775806, ' ', ' ', 1, 'available');
INSERT INTO categories (id, name, available, pending, sold, none) VALUES
    (-9223372036854775808, '', 1, 0, 0, 0),
    (0, 'Dogs', 0, 0, 0, 1),
    (1, '', 1, 0, 1, 0),
    (2, replace(hex(zeroblob(100)), '0', '🐈'), 0, 0, 0, 0),
    (9223372036854775807, ' '' ', 0, 1, 0, 0);
INSERT INTO orders (id, pet_id, status, created_at, updated_at) VALUES
    (1, 3, 'cancelled', 0, 9223372036854775807),
    (2, 3, 'placed', -9223372036854775808, 0),
    (3, 7, 'delivered', 1, 2);
INSERT INTO api_keys (id, hash, name, last_four, created_at, expires_at, revoked_at, last_used_at, scopes, lineage) VALUES
    (1, randomblob(32), 'expired', 'aaaa', 1, 2, NULL, NULL, NULL, NULL),
    (2, zeroblob(32), 'revoked', 'bbbb', 1, NULL, 2, 9223372036854775807, 'pets:read,orders:read,changes:read', 1),
    (5, x'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', '', 'cccc', 0, 3, 2, 1, 'later:scope', 9223372036854775807);
INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at) VALUES
    ('B', 'b', zeroblob(32), NULL, 1),
    ('B', 'B', zeroblob(32), zeroblob(0), 2),
    ('a', '', randomblob(32), x'00ff00', 3),
    ('ä', '~', randomblob(32), randomblob(100000), 4),
    ('￿', '1', randomblob(32), x'7b7d', 5),
    ('𝄞', '1', randomblob(32), x'7b7d', 9223372036854775807);
INSERT INTO imports (digest, added) VALUES
    (zeroblob(32), 0),
    (randomblob(32), 9223372036854775807);
INSERT INTO changes (seq, type, at, caller, records)
    SELECT position + 1, 'pet.added', -9223372036854775808, '', '{"pet":{"id":1,"name":"\u0000é' || char(0x2028) || '","categoryId":0}}' FROM store
    UNION ALL SELECT position + 2, 'later.type', 9223372036854775807, 'user:' || char(0x10ffff, 0x22, 0x5c), '{}' FROM store;
UPDATE store SET position = position + 2, altered = position + 2, last_pet = 9223372036854775806, last_order = 100, last_key = 9,
    available = 2, pending = 1, sold = 1, none = 1;
