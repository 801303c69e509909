//go:build cgo

package backup_test

import (
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

func TestVerifyRejectsAnotherSchemaThanThatOfTheMigrations(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"DROP INDEX orders_live": "the index orders_live is missing",
		"DROP INDEX orders_live; CREATE INDEX orders_live ON orders (pet_id)":       "the index orders_live is another one",
		"CREATE TRIGGER again AFTER INSERT ON orders BEGIN DELETE FROM orders; END": "the trigger again was added",
		"DROP TABLE imports": "the table imports is missing",
		"CREATE INDEX pets_name ON pets (name); CREATE TABLE notes (text); CREATE VIEW pets_view AS SELECT name FROM pets": "",
		"CREATE TABLE notes (pet REFERENCES pets); INSERT INTO notes VALUES (7); " +
			"CREATE TRIGGER on_notes AFTER INSERT ON notes BEGIN SELECT 1; END": "",
		"ALTER TABLE pets ADD COLUMN price INTEGER":                                             "the table pets is another one",
		"CREATE TABLE _litestream_lock (id INTEGER); CREATE TABLE _litestream_seq (id INTEGER)": "",
		"ANALYZE": "",
		"DELETE FROM petstore_schema_version WHERE version_id > 3": "the schema is not that of version 3, the table api_keys is another one, " +
			"the trigger orders_added was added, the trigger orders_updated was added, " +
			"the trigger pets_added was added, the trigger pets_updated was added",
		sqlitetest.ToVersion3 + "DROP TABLE imports; DROP TABLE unfinished_copy; DELETE FROM petstore_schema_version WHERE version_id > 1": "",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyStore(t, path, path+".copy")
			sqlitetest.Execute(statement)(t, path+".copy")
			_, err := backup.Verify(t.Context(), path+".copy")
			if want == "" {
				check(t, err)
			} else {
				testkit.WantMessage(t, "Verify", err, want+": undo the change, or restore a backup without it")
			}
		})
	}
}
