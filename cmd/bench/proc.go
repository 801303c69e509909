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

// children returns the children of the process.
func (p pid) children() (children []pid, err error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p, p))
	if err != nil {
		return nil, err
	}
	for field := range strings.FieldsSeq(string(list)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		children = append(children, pid(child))
	}
	return children, nil
}

// pin makes the process, and those that it starts from now on, run on a core only.
func (p pid) pin(core int) error {
	var cores unix.CPUSet
	cores.Set(core)
	return unix.SchedSetaffinity(int(p), &cores)
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
