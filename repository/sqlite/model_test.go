package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/modeltest"
	"example.com/petstore/repository/sqlite"
)

func TestStoreAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	folder, sequences := t.TempDir(), 0
	modeltest.Run(t, 1, func() engine.Engine {
		sequences++
		return sqlite.New(filepath.Join(folder, fmt.Sprint(sequences, ".db")))
	})
}
