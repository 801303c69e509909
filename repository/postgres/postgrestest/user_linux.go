package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// tempFolder returns the folder for clusters, "" for the default: in memory if 4 GiB are free,
// because the tests wait for fsync most of the time.
func tempFolder() string {
	const memory = "/dev/shm"
	var stat syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &stat) == nil && int64(stat.Bavail)*stat.Bsize >= 4<<30 {
		return memory
	}
	return ""
}

// serverProcAttr returns the attributes of a process of PostgreSQL, which refuses to run as
// root: then it is the user postgres. The process is killed when the tests exit.
func serverProcAttr() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	uid, gid, err := serverUser()
	attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	return attr, err
}

// chownToServerUser gives a folder to the user of the server.
func chownToServerUser(folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := serverUser()
	if err != nil {
		return err
	}
	return os.Chown(folder, int(uid), int(gid))
}

func serverUser() (uid, gid uint32, err error) {
	account, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, fmt.Errorf("root cannot run PostgreSQL, create the user postgres: %w", err)
	}
	u, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	g, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	return uint32(u), uint32(g), errors.Join(uidErr, gidErr)
}
