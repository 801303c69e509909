//go:build cgo

package sqlite

// WithRemedy returns an error of Open with its remedy.
var WithRemedy = withRemedy
