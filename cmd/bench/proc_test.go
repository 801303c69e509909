package main

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCPUTimeIsThatOfRusage(t *testing.T) {
	t.Parallel()
	before := usedByThisProcess(t)
	got, err := pid(os.Getpid()).cpu()
	after := usedByThisProcess(t)
	const unit = time.Millisecond // rusage is rounded to microseconds and added up lazily
	if err != nil || got < before-unit || got > after+unit {
		t.Errorf("%v, %v, want between %v and %v", got, err, before, after)
	}
}

func usedByThisProcess(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestCPUTimeOfExitedProcessIsAnError(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, err := pid(cmd.Process.Pid).cpu(); err == nil {
		t.Errorf("%v, want an error", got)
	}
}

func TestChildrenOfPinnedProcessRunOnItsCore(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read go; sleep 60 & echo started; wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	shell := pid(cmd.Process.Pid)
	if err := shell.pin(serverCore); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	children, err := shell.children()
	if err != nil || len(children) != 1 {
		t.Fatalf("children %v, %v, want one", children, err)
	}
	t.Cleanup(func() { _ = unix.Kill(int(children[0]), unix.SIGKILL) })
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(int(children[0]), &cores); err != nil || cores.Count() != 1 || !cores.IsSet(serverCore) {
		t.Errorf("the child runs on %v, %v, want the core %d", cores, err, serverCore)
	}
}

func TestParseResident(t *testing.T) {
	t.Parallel()
	if got, err := parseResident("Name:\tpetstore\nVmRSS:\t   32376 kB\nVmSwap:\t 0 kB\n"); err != nil || got != 32376*1024 {
		t.Errorf("memory %d, %v", got, err)
	}
	if got, err := parseResident("Name:\tpetstore\n"); err == nil {
		t.Errorf("memory %d without VmRSS", got)
	}
}
