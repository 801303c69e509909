package config

import (
	"cmp"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	// Key is the setting, such as server.address; empty when the fault is that of a whole file.
	Key string
	// Value is what was written, quoted, or "(hidden)" where it may be a secret; empty when there is none to show.
	Value string
	// Source is where it was written: file:line, the environment variable's name, "command line" or "default".
	Source string
	// Remedy says what to write instead.
	Remedy string
}

// String tells the fault in one line.
func (f Fault) String() string {
	switch {
	case f.Key == "":
		return f.Source + ": " + f.Remedy
	case f.Value == "":
		return f.Key + " (" + f.Source + "): " + f.Remedy
	default:
		return f.Key + " = " + f.Value + " (" + f.Source + "): " + f.Remedy
	}
}

// InvalidError is the only error of Load. It holds everything that is wrong, so that all of it can be put right at
// once, ordered by key.
type InvalidError struct {
	Faults []Fault
}

// Error tells every fault in a line of its own.
func (e *InvalidError) Error() string {
	var text strings.Builder
	text.WriteString("the configuration is not valid:")
	for _, fault := range e.Faults {
		text.WriteString("\n  " + fault.String())
	}
	return text.String()
}

func newInvalidError(faults []Fault) *InvalidError {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Source, b.Source))
	})
	return &InvalidError{Faults: faults}
}
