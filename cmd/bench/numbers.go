package main

import (
	"fmt"
	"strconv"
	"time"
)

// number formats a value for the report.
func number(value float64, unit string) string {
	text := strconv.FormatFloat(value, 'f', 2, 64)
	switch {
	case value >= 1000:
		text = thousands(value)
	case value >= 20:
		text = strconv.FormatFloat(value, 'f', 0, 64)
	}
	if unit != "" {
		text += " " + unit
	}
	return text
}

// target formats a required value or a goal, "" for none.
func target(value float64, unit string, smaller bool) string {
	if value == 0 {
		return ""
	}
	if smaller {
		return "under " + number(value, unit)
	}
	return number(value, unit)
}

// thousands formats a value as a whole number with grouped digits.
func thousands(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func microseconds(d time.Duration) string { return fmt.Sprintf("%.1f µs", d.Seconds()*1e6) }

// optional formats a value, "" for 0.
func optional(value float64) string {
	if value == 0 {
		return ""
	}
	return strconv.FormatFloat(value, 'f', 1, 64)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// percentile99 returns the 99th percentile of sorted values.
func percentile99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }
