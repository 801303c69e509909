// Package petstore is the generated client.
package petstore

// Error lets what the service tells be a Go error. Code is for programs.
func (e Error) Error() string { return e.Code + ": " + e.Message }
