package groupcommit

import "example.com/petstore/repository/engine"

// A Tx is the transaction of a batch.
type Tx struct {
	engine.Tx
	wrote bool // the current call has written something
}

// Wrote says that the current call has written something. If it fails, the transaction is rolled back.
func (t *Tx) Wrote() { t.wrote = true }
