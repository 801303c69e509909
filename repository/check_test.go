package repository_test

import (
	"testing"

	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/repository"
)

func TestCheckFindsAndRepairsWhatDiffers(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	service, command := open(t, e, repository.Options{}), open(t, e, repository.Options{})
	file := enginetest.Database{Driver: enginetest.SQLite, DSN: e.String()}
	storetest.RunCheck(t, service, command, func(t *testing.T, statement string) { file.Execute(t, statement) })
}
