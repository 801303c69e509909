//go:build !linux

package postgrestest

import (
	"errors"
	"os"
	"syscall"
)

func tempFolder() string { return "" }

func serverProcAttr() (*syscall.SysProcAttr, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("root cannot run PostgreSQL: run the tests as another user")
	}
	return nil, nil
}

func chownToServerUser(string) error { return nil }
