package file

import (
	"regexp"
	"strings"
)

// formula matches a text that a spreadsheet would run as a formula (owasp.org/www-community/attacks/CSV_Injection),
// also after quotes, and such a text with apostrophes before it, as guard returns it. Tabs and carriage returns, which
// also begin a formula, are not matched, because no valid name has them.
var formula = regexp.MustCompile(`^['"]*[=+\-@＝＋－＠]`)

// guard adds an apostrophe before each part of a text that a spreadsheet would run as a formula. The parts are those
// between delimiters, because a spreadsheet may split the file at another delimiter than that of the file. guard also
// adds an apostrophe before such a part that already has apostrophes, so that unguard can return every text unchanged.
func guard(text string) string {
	return mapParts(text, func(part string) string { return "'" + part })
}

// unguard is the inverse of guard. It leaves a formula without an apostrophe unchanged.
func unguard(guarded string) string {
	return mapParts(guarded, func(part string) string { return strings.TrimPrefix(part, "'") })
}

// mapParts calls fn with each part of a text that matches formula, and returns the text with the results.
func mapParts(text string, fn func(string) string) string {
	var mapped strings.Builder
	for text != "" {
		end := strings.IndexAny(text, delimiters) + 1
		if end == 0 {
			end = len(text)
		}
		part := text[:end]
		if formula.MatchString(part) {
			part = fn(part)
		}
		mapped.WriteString(part)
		text = text[end:]
	}
	return mapped.String()
}
