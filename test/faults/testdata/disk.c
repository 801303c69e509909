// A layer between SQLite and libc, for LD_PRELOAD. It logs all writes and syncs of the store, so
// that a test can build each state that a power loss may leave, and it injects slow and failing
// calls. The -shm file is not logged: SQLite builds it anew.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The faults, which the test changes while the program runs. Zero injects none.
struct control {
	int32_t sync_delay;  // milliseconds
	int32_t sync_error;  // errno
	int32_t write_error; // errno
	int32_t read_error;  // errno
	int32_t good_syncs;  // before sync_error
};

enum file { OTHER, DATABASE, WAL, FOLDER };
enum operation { WRITE = 1, TRUNCATE, SYNC, FAILED_SYNC, CREATE };

struct record {
	int64_t time, operation, file, offset, length; // WRITE: length bytes follow
};

static struct control *control;
static const char *store; // the path of the database
static int log_fd = -1;
static unsigned char files[65536]; // enum file, by descriptor
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void init(void) {
	real_open = dlsym(RTLD_NEXT, "open");
	real_close = dlsym(RTLD_NEXT, "close");
	real_pread = dlsym(RTLD_NEXT, "pread64");
	real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
	real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
	real_fsync = dlsym(RTLD_NEXT, "fsync");
	real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
	store = getenv("DISK_STORE");
	const char *path = getenv("DISK_CONTROL");
	int fd = path ? real_open(path, O_RDWR) : -1;
	if (fd >= 0) control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if ((path = getenv("DISK_LOG"))) log_fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static void record(enum operation operation, enum file file, int64_t offset, const void *data, int64_t length) {
	if (log_fd < 0 || file == OTHER) return;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	struct record r = {now.tv_sec * 1000000000LL + now.tv_nsec, operation, file, offset, length};
	struct iovec parts[2] = {{&r, sizeof r}, {(void *)data, data ? length : 0}};
	pthread_mutex_lock(&lock);
	if (writev(log_fd, parts, 2) < 0) abort();
	pthread_mutex_unlock(&lock);
}

static enum file file_at(const char *path) {
	size_t n = store ? strlen(store) : 0;
	if (!n) return OTHER;
	if (!strncmp(path, store, n)) return !path[n] ? DATABASE : !strcmp(path + n, "-wal") ? WAL : OTHER;
	const char *slash = strrchr(store, '/');
	return slash && strlen(path) == (size_t)(slash - store) && !strncmp(path, store, slash - store) ? FOLDER : OTHER;
}

static int open_file(const char *path, int flags, mode_t mode) {
	enum file file = file_at(path);
	int is_new = file == WAL && (flags & O_CREAT) && access(path, F_OK) != 0;
	int fd = real_open(path, flags, mode);
	if (fd >= 0 && fd < (int)sizeof files) {
		files[fd] = file;
		if (is_new) record(CREATE, file, 0, NULL, 0);
	}
	return fd;
}

#define OPEN(name) \
	int name(const char *path, int flags, ...) { \
		va_list args; \
		va_start(args, flags); \
		mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0; \
		va_end(args); \
		return open_file(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

static enum file file_of(int fd) { return fd >= 0 && fd < (int)sizeof files ? files[fd] : OTHER; }

int close(int fd) {
	if (fd >= 0 && fd < (int)sizeof files) files[fd] = OTHER;
	return real_close(fd);
}

static int fails(int32_t error) {
	if (error) errno = error;
	return error;
}

ssize_t pread64(int fd, void *data, size_t length, off_t offset) {
	if (file_of(fd) != OTHER && control && fails(control->read_error)) return -1;
	return real_pread(fd, data, length, offset);
}
ssize_t pread(int fd, void *data, size_t length, off_t offset) { return pread64(fd, data, length, offset); }

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
	enum file file = file_of(fd);
	if (file != OTHER && control && fails(control->write_error)) return -1;
	ssize_t n = real_pwrite(fd, data, length, offset);
	if (n > 0) record(WRITE, file, offset, data, n);
	return n;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

int ftruncate64(int fd, off_t length) {
	int failed = real_ftruncate(fd, length);
	if (!failed) record(TRUNCATE, file_of(fd), length, NULL, 0);
	return failed;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int sync_file(int fd, int (*real)(int)) {
	enum file file = file_of(fd);
	if (file != OTHER && control) {
		if (control->sync_delay) usleep(control->sync_delay * 1000);
		if (control->sync_error && __atomic_fetch_sub(&control->good_syncs, 1, __ATOMIC_SEQ_CST) <= 0 && fails(control->sync_error)) {
			record(FAILED_SYNC, file, 0, NULL, 0);
			errno = control->sync_error;
			return -1;
		}
	}
	int failed = real(fd);
	if (!failed) record(SYNC, file, 0, NULL, 0);
	return failed;
}
int fsync(int fd) { return sync_file(fd, real_fsync); }
int fdatasync(int fd) { return sync_file(fd, real_fdatasync); }
