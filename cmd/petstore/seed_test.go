package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestSeedFillsTheStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, count := range []int{0, 25, 2500} {
		before := number(t, folder, "SELECT count(*) FROM pets")
		stdout, stderr, code := output(t, folder, "seed", "--count", fmt.Sprint(count))
		if code != 0 || !regexp.MustCompile(`^added \d+ animals and \d+ orders in [0-9.]+m?s\n$`).MatchString(stdout) {
			t.Errorf("code %d, stdout %q", code, stdout)
		}
		if last := fmt.Sprintf("%d of %d animals\n", count, count); count > 0 && !strings.HasSuffix(stderr, last) {
			t.Errorf("stderr %q, want it to end with %q", stderr, last)
		}
		if added := number(t, folder, "SELECT count(*) FROM pets") - before; added != count {
			t.Errorf("%d animals were added, want %d", added, count)
		}
	}
	wantOrdersToAgree(t, folder)
}

func TestSeedRefusesNegativeNumbers(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--count", "--orders", "--random-seed"} {
		folder := t.TempDir()
		if _, stderr, code := output(t, folder, "seed", flag, "-1"); code != 2 || !strings.Contains(stderr, flag) {
			t.Errorf("%s: code %d, stderr %q", flag, code, stderr)
		}
	}
}

// An interrupted seed tells all that it added; a killed one was on its way to the
// next tenth.
func TestStoppedSeedHasWhatItTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   int
		last   string
		untold int
	}{
		"interrupted": {syscall.SIGINT, 1, "petstore: interrupted: %d of 300000 animals were added and are on disk\n", 0},
		"terminated":  {syscall.SIGTERM, 1, "petstore: interrupted: %d of 300000 animals were added and are on disk\n", 0},
		"killed":      {syscall.SIGKILL, -1, "%d of 300000 animals\n", 300_000 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := folderWithStore(t)
			last, code := stopSeed(t, folder, test.signal)
			var told int
			if _, err := fmt.Sscanf(last, test.last, &told); err != nil || told == 0 || code != test.code {
				t.Fatalf("code %d, want %d; the last line %q is not %q", code, test.code, last, test.last)
			}
			if added := number(t, folder, "SELECT count(*) FROM pets"); added < told || added > told+test.untold {
				t.Errorf("%d animals were told, %d are in the store", told, added)
			}
			wantOrdersToAgree(t, folder)
		})
	}
}

// stopSeed sends a signal to a seed that has told progress, and returns the last
// line of it and the exit code.
func stopSeed(t *testing.T, folder string, signal os.Signal) (last string, code int) {
	t.Helper()
	cmd := command(t.Context(), folder, "seed", "--count", "300000", "--orders", "5")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	for line := ""; err == nil; line, err = lines.ReadString('\n') {
		if last == "" && line != "" {
			_ = cmd.Process.Signal(signal)
		}
		if line != "" {
			last = line
		}
	}
	_ = cmd.Wait() // the exit code is looked at
	return last, cmd.ProcessState.ExitCode()
}

func TestSeedingLetsAServerWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, folder)
	seeding := command(t.Context(), folder, "seed", "--count", "20000")
	if err := seeding.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- seeding.Wait() }()
	posted := 0
	for running := true; running; posted++ {
		if code, answer, err := s.post(t.Context(), petBody("Rex")); err != nil || code != http.StatusCreated {
			t.Fatal(code, answer, err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
	}
	if got := number(t, folder, "SELECT count(*) FROM pets"); got != 20_000+posted {
		t.Errorf("%d animals in the store, want 20000 and the %d posted", got, posted)
	}
	if code, answer, err := s.do(t.Context(), http.MethodGet, "/v1/pets?limit=1&status=sold", ""); err != nil || code != http.StatusOK || answer == "[]" {
		t.Errorf("the server does not see what was seeded: %d %s %v", code, answer, err)
	}
}

// wantOrdersToAgree checks that animals are as the orders for them are.
func wantOrdersToAgree(t *testing.T, folder string) {
	t.Helper()
	if number(t, folder, "SELECT count(*) FROM orders") == 0 {
		t.Error("there are no orders")
	}
	if n := number(t, folder, `SELECT count(*) FROM orders o JOIN pets p ON p.id = o.pet_id WHERE p.status IS NOT
		CASE o.status WHEN 'placed' THEN 'pending' WHEN 'delivered' THEN 'sold' ELSE 'available' END`); n != 0 {
		t.Errorf("%d orders do not agree with their animals", n)
	}
}

// number asks the store of a folder, 0 when there is none.
func number(t *testing.T, folder, query string) (n int) {
	t.Helper()
	if _, err := os.Stat(database(folder)); err != nil {
		return 0
	}
	db, err := sql.Open("sqlite3", database(folder))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
