package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A pid is the ID of a process.
type pid int

// cpu returns the CPU time that the process has used.
func (p pid) cpu() (time.Duration, error) {
	const sched = 2 // the scheduler's count, CPUCLOCK_SCHED
	var t unix.Timespec
	err := unix.ClockGettime(^int32(p)<<3|sched, &t) // as clock_getcpuclockid(3) makes the ID
	return time.Duration(t.Nano()), err
}

// resident returns the resident memory of the process in bytes (proc_pid_status(5)).
func (p pid) resident() (int, error) {
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
	return 0, fmt.Errorf("/proc/PID/status has no VmRSS: %q", status)
}
