-- +goose Up
CREATE TABLE names (shop TEXT NOT NULL, pet_id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (shop, pet_id));
CREATE TABLE positions (shop TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL);
