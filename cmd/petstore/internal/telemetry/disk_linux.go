package telemetry

import "golang.org/x/sys/unix"

// unsafeFileSystems are names of file systems by their magic number (statfs(2)).
var unsafeFileSystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.FUSE_SUPER_MAGIC: "FUSE",
}

// diskOf returns the disk of a file.
func diskOf(path string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return disk{}, err
	}
	block := uint64(s.Bsize)                                                                            //nolint:gosec // is positive
	return disk{free: s.Bavail * block, size: s.Blocks * block, unsafe: unsafeName(int64(s.Type))}, nil //nolint:unconvert // an int32 elsewhere
}

// unsafeName returns the name of a file system if SQLite may lose data on it. Some machines have its type with a sign.
func unsafeName(kind int64) string { return unsafeFileSystems[uint32(kind)] } //nolint:gosec // has 32 bits
