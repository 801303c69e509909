package main

import (
	"fmt"
	"strconv"
	"time"
)

// number is a value as the report shows it.
func number(value float64, unit string) string {
	shown := strconv.FormatFloat(value, 'f', 2, 64)
	switch {
	case value >= 1000:
		shown = thousands(value)
	case value >= 20:
		shown = strconv.FormatFloat(value, 'f', 0, 64)
	}
	if unit != "" {
		shown += " " + unit
	}
	return shown
}

// target is a value that is to be reached, or nothing where none is set.
func target(value float64, unit string, smaller bool) string {
	if value == 0 {
		return ""
	}
	if smaller {
		return "under " + number(value, unit)
	}
	return number(value, unit)
}

// thousands rounds to a whole number and groups its digits.
func thousands(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
