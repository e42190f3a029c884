/*
 * Stands between a process and the C library (LD_PRELOAD, Linux with glibc) for the files below one folder. It writes down
 * in their order what the process writes, truncates, syncs, makes and removes there; and it can make such calls fail.
 *
 *   PAWL_SHIM_FOLDER   the folder, as an absolute path without links; without it nothing is touched
 *   PAWL_SHIM_TRACE    where to write it down; without it nothing is written down
 *   PAWL_SHIM_FAULTS   what shall fail: one or more of `call:error:when[:option…]`, with `;` between them
 *       call     write, sync, open, truncate, unlink
 *       error    ENOSPC, EIO, EDQUOT, EACCES, EMFILE, EROFS, or `short`: only a part of a write is written
 *       when     at=N (only the N-th call, from 1 on), from=N (that one and all later ones), or p=0.01 (by chance)
 *       options  seed=N for p, file=TEXT (only files whose name ends so), while=PATH (only while there is such a file)
 *   PAWL_SHIM_FAULT_LOG  gets a line for each call that was made to fail
 *
 * A record of the trace, little-endian: u32 length of what follows; u8 kind; u8 flag; u16 length of the name; u64 offset;
 * u64 size; the name, relative to the folder; the bytes written. Each record is one append, so that several processes and
 * threads may share a trace. Kinds: see `trace.ts`.
 *
 * A write, a truncation, a new or removed name is written down after it has succeeded, before the caller knows. A sync is
 * written down twice: what was written before it began is safe once it has ended, and nothing else is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FD_MAX 4096
#define NAME_MAX_BYTES 512
#define FAULTS_MAX 8

enum kind { CREATED = 1, WRITTEN, TRUNCATED, SYNC_BEGUN, SYNC_ENDED, REMOVED, RENAMED, MAPPED, ALLOCATED };
enum call { ON_WRITE, ON_SYNC, ON_OPEN, ON_TRUNCATE, ON_UNLINK };
enum { SHORT_WRITE = -1 };

struct watched {
  int is_used;
  dev_t device;
  ino_t inode;
  char name[NAME_MAX_BYTES];
};

struct fault {
  enum call call;
  int error;
  enum { AT, FROM, BY_CHANCE } when;
  uint64_t count;
  double probability;
  uint64_t random;
  char file[64];
  char only_while[NAME_MAX_BYTES];
  uint64_t seen;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct watched table[FD_MAX];
static struct fault faults[FAULTS_MAX];
static int fault_count;
static char folder[NAME_MAX_BYTES];
static size_t folder_length;
static int trace_fd = -1;
static int fault_log_fd = -1;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fallocate)(int, int, off64_t, off64_t);
static int (*real_posix_fallocate)(int, off64_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_rename)(const char *, const char *);
static int (*real_close)(int);
static void *(*real_mmap)(void *, size_t, int, int, int, off64_t);

static void *find(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) {
    fprintf(stderr, "file-shim: the C library has no %s\n", name);
    abort();
  }
  return symbol;
}

static int error_of(const char *name) {
  static const struct { const char *name; int value; } known[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EACCES", EACCES},
    {"EMFILE", EMFILE}, {"EROFS", EROFS}, {"short", SHORT_WRITE},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].value;
  fprintf(stderr, "file-shim: unknown error %s\n", name);
  abort();
}

static enum call call_of(const char *name) {
  static const char *const known[] = {"write", "sync", "open", "truncate", "unlink"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i], name) == 0) return (enum call)i;
  fprintf(stderr, "file-shim: unknown call %s\n", name);
  abort();
}

static void read_fault(char *text) {
  if (fault_count == FAULTS_MAX) return;
  struct fault *fault = &faults[fault_count++];
  char *rest = NULL;
  int place = 0;
  for (char *part = strtok_r(text, ":", &rest); part != NULL; part = strtok_r(NULL, ":", &rest), place++) {
    if (place == 0) fault->call = call_of(part);
    else if (place == 1) fault->error = error_of(part);
    else if (strncmp(part, "at=", 3) == 0) fault->when = AT, fault->count = strtoull(part + 3, NULL, 10);
    else if (strncmp(part, "from=", 5) == 0) fault->when = FROM, fault->count = strtoull(part + 5, NULL, 10);
    else if (strncmp(part, "p=", 2) == 0) fault->when = BY_CHANCE, fault->probability = strtod(part + 2, NULL);
    else if (strncmp(part, "seed=", 5) == 0) fault->random = strtoull(part + 5, NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    else if (strncmp(part, "file=", 5) == 0) snprintf(fault->file, sizeof fault->file, "%s", part + 5);
    else if (strncmp(part, "while=", 6) == 0) snprintf(fault->only_while, sizeof fault->only_while, "%s", part + 6);
    else fprintf(stderr, "file-shim: unknown part %s\n", part), abort();
  }
}

static int open_log(const char *variable) {
  const char *path = getenv(variable);
  if (path == NULL) return -1;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd == -1) {
    fprintf(stderr, "file-shim: cannot write to %s\n", path);
    abort();
  }
  return fd;
}

static void prepare(void) {
  real_open = find("open64");
  real_openat = find("openat64");
  real_write = find("write");
  real_pwrite = find("pwrite64");
  real_writev = find("writev");
  real_pwritev = find("pwritev64");
  real_ftruncate = find("ftruncate64");
  real_fallocate = find("fallocate64");
  real_posix_fallocate = find("posix_fallocate64");
  real_fsync = find("fsync");
  real_fdatasync = find("fdatasync");
  real_unlink = find("unlink");
  real_unlinkat = find("unlinkat");
  real_rename = find("rename");
  real_close = find("close");
  real_mmap = find("mmap64");
  const char *named = getenv("PAWL_SHIM_FOLDER");
  if (named == NULL) return;
  snprintf(folder, sizeof folder, "%s", named);
  folder_length = strlen(folder);
  trace_fd = open_log("PAWL_SHIM_TRACE");
  fault_log_fd = open_log("PAWL_SHIM_FAULT_LOG");
  const char *given = getenv("PAWL_SHIM_FAULTS");
  if (given == NULL) return;
  char *copy = strdup(given), *rest = NULL;
  for (char *one = strtok_r(copy, ";", &rest); one != NULL; one = strtok_r(NULL, ";", &rest)) read_fault(one);
  free(copy);
}

/* Other libraries may open files in their own constructors, before ours has run. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void ready(void) { pthread_once(&once, prepare); }
__attribute__((constructor)) static void construct(void) { ready(); }

/* The name below the folder, "" for the folder itself, or NULL when it is none of ours. */
static const char *name_of_path(const char *path) {
  if (folder_length == 0 || path == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  if (path[folder_length] == '\0') return "";
  return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

/* A descriptor may have been closed behind our back and mean another file now, or a socket: so its file is compared. */
static const char *name_of_fd(int fd) {
  if (folder_length == 0 || fd < 0 || fd >= FD_MAX || !table[fd].is_used) return NULL;
  struct stat64 now;
  if (fstat64(fd, &now) == 0 && now.st_dev == table[fd].device && now.st_ino == table[fd].inode) return table[fd].name;
  table[fd].is_used = 0;
  return NULL;
}

static void watch(int fd, const char *name) {
  struct stat64 now;
  if (fd < 0 || fd >= FD_MAX || fstat64(fd, &now) != 0) return;
  table[fd] = (struct watched){.is_used = 1, .device = now.st_dev, .inode = now.st_ino};
  snprintf(table[fd].name, sizeof table[fd].name, "%s", name);
}

static void note(enum kind kind, int flag, const char *name, uint64_t offset, uint64_t size, const struct iovec *data,
                 int parts, size_t bytes) {
  if (trace_fd == -1) return;
  struct __attribute__((packed)) {
    uint32_t length;
    uint8_t kind, flag;
    uint16_t name_length;
    uint64_t offset, size;
  } head;
  size_t name_length = strlen(name);
  head.length = (uint32_t)(sizeof head - sizeof head.length + name_length + bytes);
  head.kind = (uint8_t)kind;
  head.flag = (uint8_t)flag;
  head.name_length = (uint16_t)name_length;
  head.offset = offset;
  head.size = size;
  struct iovec all[2 + 64] = {{&head, sizeof head}, {(void *)name, name_length}};
  int count = 2;
  size_t left = bytes;
  for (int i = 0; i < parts && left > 0 && count < 66; i++) {
    size_t length = data[i].iov_len < left ? data[i].iov_len : left;
    all[count++] = (struct iovec){data[i].iov_base, length};
    left -= length;
  }
  int before = errno;
  pthread_mutex_lock(&lock);
  ssize_t written = syscall(SYS_writev, trace_fd, all, count);
  pthread_mutex_unlock(&lock);
  if (left > 0 || written != (ssize_t)(head.length + sizeof head.length)) {
    fprintf(stderr, "file-shim: the trace cannot be written\n");
    abort();
  }
  errno = before;
}

static double next_random(struct fault *fault) {
  fault->random ^= fault->random << 13;
  fault->random ^= fault->random >> 7;
  fault->random ^= fault->random << 17;
  return (double)(fault->random >> 11) / 9007199254740992.0;
}

static int ends_with(const char *name, const char *end) {
  size_t length = strlen(name), tail = strlen(end);
  return length >= tail && strcmp(name + length - tail, end) == 0;
}

static int is_due(struct fault *fault) {
  if (fault->only_while[0] != '\0' && syscall(SYS_faccessat, AT_FDCWD, fault->only_while, F_OK) != 0) return 0;
  fault->seen++;
  switch (fault->when) {
    case AT: return fault->seen == fault->count;
    case FROM: return fault->seen >= fault->count;
    default: return next_random(fault) < fault->probability;
  }
}

/* The error that this call shall meet; 0: none. */
static int fault_for(enum call call, const char *name) {
  if (fault_count == 0) return 0;
  int before = errno, found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < fault_count; i++) {
    struct fault *fault = &faults[i];
    if (fault->call != call || !ends_with(name, fault->file) || !is_due(fault) || found != 0) continue;
    found = fault->error;
    if (fault_log_fd != -1) {
      char line[NAME_MAX_BYTES + 64];
      int length = snprintf(line, sizeof line, "%d %d %s\n", (int)call, found, name);
      syscall(SYS_write, fault_log_fd, line, (size_t)length);
    }
  }
  pthread_mutex_unlock(&lock);
  errno = before;
  return found;
}

static int is_refused(enum call call, const char *name) {
  int error = fault_for(call, name);
  if (error <= 0) return 0;
  errno = error;
  return 1;
}

static int open_watched(int at, const char *path, int flags, mode_t mode) {
  ready();
  const char *name = at == AT_FDCWD || (path != NULL && path[0] == '/') ? name_of_path(path) : NULL;
  if (name == NULL) return at == AT_FDCWD ? real_open(path, flags, mode) : real_openat(at, path, flags, mode);
  int error = fault_for(ON_OPEN, name);
  /* What may only be read can be opened to be read. */
  int is_writing = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  if (error > 0 && (is_writing || (error != EROFS && error != EACCES))) {
    errno = error;
    return -1;
  }
  int was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  int fd = real_open(path, flags, mode);
  if (fd == -1) return -1;
  watch(fd, name);
  if ((flags & O_CREAT) != 0 && !was_there) note(CREATED, 0, name, 0, 0, NULL, 0, 0);
  else if ((flags & O_TRUNC) != 0) note(TRUNCATED, 0, name, 0, 0, NULL, 0, 0);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

#define WITH_MODE(flags) \
  va_list rest; \
  va_start(rest, flags); \
  mode_t mode = mode_of(flags, rest); \
  va_end(rest);

int open(const char *path, int flags, ...) { WITH_MODE(flags) return open_watched(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { WITH_MODE(flags) return open_watched(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { WITH_MODE(flags) return open_watched(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { WITH_MODE(flags) return open_watched(at, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return open_watched(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }
int __open_2(const char *path, int flags) { return open_watched(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_watched(AT_FDCWD, path, flags | O_LARGEFILE, 0); }

static void note_written(int fd, const char *name, off64_t offset, const struct iovec *data, int parts, ssize_t written) {
  if (written <= 0) return;
  /* Without an offset of its own, the write has moved the descriptor to its end. */
  off64_t start = offset >= 0 ? offset : lseek64(fd, 0, SEEK_CUR) - written;
  note(WRITTEN, 0, name, (uint64_t)start, (uint64_t)written, data, parts, (size_t)written);
}

/* How much of this write may be done; -1: nothing, with errno set. */
static ssize_t allowed(const char *name, size_t bytes) {
  int error = fault_for(ON_WRITE, name);
  if (error > 0) {
    errno = error;
    return -1;
  }
  return error == SHORT_WRITE && bytes > 1 ? (ssize_t)(bytes / 2) : (ssize_t)bytes;
}

static ssize_t write_watched(int fd, const void *bytes, size_t count, off64_t offset) {
  ready();
  const char *name = name_of_fd(fd);
  ssize_t may = name == NULL ? (ssize_t)count : allowed(name, count);
  if (may < 0) return -1;
  ssize_t written = offset >= 0 ? real_pwrite(fd, bytes, (size_t)may, offset) : real_write(fd, bytes, (size_t)may);
  struct iovec data = {(void *)bytes, count};
  if (name != NULL) note_written(fd, name, offset, &data, 1, written);
  return written;
}

ssize_t write(int fd, const void *bytes, size_t count) { return write_watched(fd, bytes, count, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return write_watched(fd, bytes, count, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return write_watched(fd, bytes, count, offset); }

static ssize_t writev_watched(int fd, const struct iovec *data, int parts, off64_t offset) {
  ready();
  const char *name = name_of_fd(fd);
  if (name != NULL && is_refused(ON_WRITE, name)) return -1;
  ssize_t written = offset >= 0 ? real_pwritev(fd, data, parts, offset) : real_writev(fd, data, parts);
  if (name != NULL) note_written(fd, name, offset, data, parts, written);
  return written;
}

ssize_t writev(int fd, const struct iovec *data, int parts) { return writev_watched(fd, data, parts, -1); }
ssize_t pwritev(int fd, const struct iovec *data, int parts, off_t offset) { return writev_watched(fd, data, parts, offset); }
ssize_t pwritev64(int fd, const struct iovec *data, int parts, off64_t offset) { return writev_watched(fd, data, parts, offset); }

int ftruncate64(int fd, off64_t length) {
  ready();
  const char *name = name_of_fd(fd);
  if (name != NULL && is_refused(ON_TRUNCATE, name)) return -1;
  int result = real_ftruncate(fd, length);
  if (name != NULL && result == 0) note(TRUNCATED, 0, name, 0, (uint64_t)length, NULL, 0, 0);
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  ready();
  const char *name = name_of_fd(fd);
  if (name != NULL && is_refused(ON_WRITE, name)) return -1;
  int result = real_fallocate(fd, mode, offset, length);
  if (name != NULL && result == 0) note(ALLOCATED, 0, name, (uint64_t)offset, (uint64_t)length, NULL, 0, 0);
  return result;
}
int fallocate(int fd, int mode, off_t offset, off_t length) { return fallocate64(fd, mode, offset, length); }

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  ready();
  const char *name = name_of_fd(fd);
  if (name != NULL && is_refused(ON_WRITE, name)) return errno;
  int result = real_posix_fallocate(fd, offset, length);
  if (name != NULL && result == 0) note(ALLOCATED, 0, name, (uint64_t)offset, (uint64_t)length, NULL, 0, 0);
  return result;
}
int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

static int sync_watched(int fd, int (*sync)(int)) {
  const char *name = name_of_fd(fd);
  if (name == NULL) return sync(fd);
  if (is_refused(ON_SYNC, name)) return -1;
  note(SYNC_BEGUN, 0, name, 0, 0, NULL, 0, 0);
  int result = sync(fd);
  if (result == 0) note(SYNC_ENDED, 0, name, 0, 0, NULL, 0, 0);
  return result;
}

int fsync(int fd) { ready(); return sync_watched(fd, real_fsync); }
int fdatasync(int fd) { ready(); return sync_watched(fd, real_fdatasync); }

int unlink(const char *path) {
  ready();
  const char *name = name_of_path(path);
  if (name != NULL && is_refused(ON_UNLINK, name)) return -1;
  int result = real_unlink(path);
  if (name != NULL && result == 0) note(REMOVED, 0, name, 0, 0, NULL, 0, 0);
  return result;
}

int unlinkat(int at, const char *path, int flags) {
  ready();
  const char *name = path[0] == '/' ? name_of_path(path) : NULL;
  if (name != NULL && is_refused(ON_UNLINK, name)) return -1;
  int result = real_unlinkat(at, path, flags);
  if (name != NULL && result == 0) note(REMOVED, 0, name, 0, 0, NULL, 0, 0);
  return result;
}

int rename(const char *from, const char *to) {
  ready();
  int result = real_rename(from, to);
  const char *name = name_of_path(from), *other = name_of_path(to);
  if (result == 0 && name != NULL && other != NULL) {
    struct iovec data = {(void *)other, strlen(other)};
    note(RENAMED, 0, name, 0, 0, &data, 1, data.iov_len);
  }
  return result;
}

/* What is written through a shared mapping is not seen here. So it is told, for whoever reads the trace to judge. */
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
  ready();
  void *result = real_mmap(address, length, protection, flags, fd, offset);
  const char *name = fd >= 0 && (flags & MAP_SHARED) != 0 && result != MAP_FAILED ? name_of_fd(fd) : NULL;
  if (name != NULL) note(MAPPED, (protection & PROT_WRITE) != 0, name, (uint64_t)offset, length, NULL, 0, 0);
  return result;
}
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(address, length, protection, flags, fd, offset);
}

int close(int fd) {
  ready();
  if (fd >= 0 && fd < FD_MAX) table[fd].is_used = 0;
  return real_close(fd);
}
