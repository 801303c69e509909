package main

import (
	"strings"
	"testing"
)

// TestStoreIsOfItsProgram expects that the program that is to serve a store creates it: another version has another schema.
func TestStoreIsOfItsProgram(t *testing.T) {
	t.Parallel()
	b := &bench{scratch: t.TempDir(), options: options{petstore: "/missing"}}
	st, err := b.newStore(t.Context(), onSQLite, "/bin/echo")
	if err != nil || !strings.HasPrefix(st.key, "keys create ") {
		t.Errorf("got %+v and %v, want as key what the program has printed", st, err)
	}
}
