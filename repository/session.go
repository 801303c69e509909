package repository

import (
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/groupcommit"
)

// A session is how a repository runs its statements: within a transaction, or, for reads outside
// any, on the connections that read.
type session struct {
	db      *gorm.DB
	tx      *groupcommit.Tx // nil outside a transaction
	batches bool            // see engine.Database.BatchesStatements
}

// repositories returns the repositories of a session in a transaction.
func (s session) repositories() domain.Repositories {
	return domain.Repositories{Pets: newPets(s), Orders: orders{session: s}, Keys: keys{s}, Idempotency: newIdempotency(s), Imports: imports{s}}
}
