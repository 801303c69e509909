package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text, in which a part may be the name of a file, with escape sequences of Go
// instead of what could change the rest of the output of a terminal: control characters but
// newlines, characters that change the direction of text, and bytes that are not UTF-8.
func printable(text string) string {
	var escaped strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		char := rest[:size]
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError && size == 1 {
			char = strings.Trim(strconv.QuoteToASCII(char), `"`)
		}
		escaped.WriteString(char)
		rest = rest[size:]
	}
	return escaped.String()
}
