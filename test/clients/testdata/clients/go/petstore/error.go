// Package petstore is the generated client.
package petstore

// Error makes the body of an error response a Go error.
func (e Error) Error() string { return e.Code + ": " + e.Message }
