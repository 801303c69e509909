// Command generate writes docs/openapi.json from the annotations of the handlers. Run it
// by make docs. It is a module of its own, so that a host gets none of its requirements.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	document, err := generate(root)
	if err != nil {
		return err
	}
	//nolint:gosec // the document is published
	return os.WriteFile(filepath.Join(root, "docs", "openapi.json"), document, 0o644)
}
