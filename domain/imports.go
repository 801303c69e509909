package domain

import "crypto/sha256"

// A FileDigest is the SHA-256 of a file. Two files with the same digest have the same
// content.
type FileDigest [sha256.Size]byte

// An ImportState is how far a file has been imported. The zero value is a file of which
// nothing was imported.
type ImportState struct {
	Added    int64 // the number of its animals that were added, from the first on
	Complete bool  // all were added
}

// ImportInProgress returns the ErrConflict for a file that another process imports at the
// same time. Like APIKeyNotFound it has no Code, because no operation of the API returns it.
func ImportInProgress() error {
	return &Error{Kind: ErrConflict, Message: "another process is importing the same file"}
}
