// Command generate writes docs/openapi.json from the annotations of the handlers. Run it
// by make docs. It is a module of its own, so that a host gets none of its requirements.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	document, err := generate(filepath.Join("..", ".."))
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "openapi.json"), document, 0o644) //nolint:gosec // the document is published
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
