package telemetry

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

func TestFileSystemsWithoutItsLocksAreUnsafeForSQLite(t *testing.T) {
	t.Parallel()
	for kind, want := range map[int64]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.CIFS_SUPER_MAGIC: "CIFS", -11317950: "CIFS", // 0xff534d42 in 32 bits with a sign
		unix.SMB2_SUPER_MAGIC: "SMB", unix.FUSE_SUPER_MAGIC: "FUSE", unix.EXT4_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.XFS_SUPER_MAGIC: "",
	} {
		testkit.Equal(t, "the name of an unsafe file system", want, unsafeName(kind))
	}
	testkit.Equal(t, "the name without a file", "", StoreFile(filepath.Join(t.TempDir(), "none")).FileSystem())
}
