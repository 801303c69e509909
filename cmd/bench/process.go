package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A process is looked at through /proc, so this is Linux alone (proc(5)).
type process int

// tick is the unit of processor time in /proc, 10 ms on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// cpu is the processor time that the process has used.
func (p process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat adds utime and stime, the 14th and 15th field. The second is the
// name in parentheses, in which anything may stand.
func parseStat(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var sum time.Duration
	for _, field := range []int{14 - 3, 15 - 3} {
		if field >= len(fields) {
			return 0, fmt.Errorf("/proc/PID/stat has too few fields: %q", stat)
		}
		ticks, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// resident is the memory of the process that is in RAM, in bytes.
func (p process) resident() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, err
	}
	return parseResident(string(status))
}

func parseResident(status string) (int, error) {
	for line := range strings.Lines(status) {
		if amount, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(amount), " kB"))
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/PID/status tells no VmRSS: %q", status)
}
