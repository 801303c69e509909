package telemetry

import (
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// A result of a backup is a label value, and the end of the name of an empty file beside the store. The time of the file
// is the time of the last backup with this result: so the service knows of the backups of other processes.
type result string

const succeeded, failed result = "succeeded", "failed"

func (r result) path(store string) string { return store + ".backup-" + string(r) }

// RecordBackup records that a backup of the SQLite store at a path has ended now, with err or without an error. It does
// nothing if there is no store.
func RecordBackup(store string, err error) error {
	if _, err := os.Stat(store); err != nil {
		return nil //nolint:nilerr // the command has said so
	}
	path := succeeded.path(store)
	if err != nil {
		path = failed.path(store)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the store
	if err != nil {
		return err
	}
	_ = file.Close() // nothing was written
	now := time.Now()
	return os.Chtimes(path, now, now)
}

const restored = ".restored-from" // the end of the name of a file beside the store, see RecordRestore

// RecordRestore records that a backup has replaced the SQLite store at a path now, for the next start of the service. The
// record is a file beside the store with the path of the backup. The time of the file is that of the restore.
func RecordRestore(store, backup string) error {
	return os.WriteFile(store+restored, []byte(backup+"\n"), 0o644) //nolint:gosec // for a service of another user, without a secret
}

var (
	fileBytes = prometheus.NewDesc("petstore_file_bytes", "Size of the SQLite file (store) and of its WAL (wal).", []string{"file"}, nil)
	diskFree  = prometheus.NewDesc("petstore_disk_free_bytes", "Free space for the service on the disk of the SQLite store.", nil, nil)
	diskSize  = prometheus.NewDesc("petstore_disk_size_bytes", "Size of the disk of the SQLite store.", nil, nil)
	backup    = prometheus.NewDesc("petstore_backup_timestamp_seconds",
		"When petstore backup has last succeeded or failed, in seconds since 1970, or 0.", []string{"result"}, nil)
)

// A StoreFile collects metrics of the file of a SQLite store: its size, its disk and its backups. Its value is the path.
type StoreFile string

// Describe implements prometheus.Collector.
func (StoreFile) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{fileBytes, diskFree, diskSize, backup} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f StoreFile) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for label, suffix := range map[string]string{"store": "", "wal": "-wal"} {
		if info, err := os.Stat(string(f) + suffix); err == nil {
			gauge(fileBytes, float64(info.Size()), label)
		}
	}
	for _, result := range []result{succeeded, failed} {
		seconds := 0.0
		if info, err := os.Stat(result.path(string(f))); err == nil {
			seconds = float64(info.ModTime().UnixMilli()) / 1000
		}
		gauge(backup, seconds, string(result))
	}
	if disk, err := diskOf(string(f)); err == nil {
		gauge(diskFree, float64(disk.free))
		gauge(diskSize, float64(disk.size))
	}
}

// FileSystem returns the name of the file system of the store if SQLite may lose data on it, as on network file systems.
func (f StoreFile) FileSystem() string {
	disk, err := diskOf(string(f))
	if err != nil {
		return ""
	}
	return disk.unsafe
}

// LogRestore logs when a backup has replaced the store, and which, unless an earlier start has logged it.
func (f StoreFile) LogRestore(log *zap.Logger) {
	path := string(f) + restored
	info, err := os.Stat(path)
	if f == "" || err != nil {
		return
	}
	from, err := os.ReadFile(path) //nolint:gosec // the operator names the store
	log.Info("the store was restored", zap.Time("at", info.ModTime().UTC()), zap.String("from", strings.TrimSpace(string(from))), zap.Error(err))
	if err := os.Remove(path); err != nil {
		log.Warn("the next start will log this restore again", zap.Error(err))
	}
}

// A disk is the file system of a file, with its free space and its size in bytes. unsafe is its name if SQLite may lose
// data on it.
type disk struct {
	free, size uint64
	unsafe     string
}
