// Starts processes that cannot outlive the process that started them. No Swift may run between fork and exec: hence C.
#ifndef CSPAWN_H
#define CSPAWN_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/// One resource limit: a resource of setrlimit(2), and the value, all bits set for none.
struct cspawn_limit {
    int resource;
    uint64_t value;
};

/// What to start. Every pointer must stay valid during the call only.
struct cspawn_request {
    const char *path;           ///< absolute path of the executable
    char *const *argv;          ///< ends with NULL
    char *const *envp;          ///< ends with NULL
    int output;                 ///< becomes stdout
    int error;                  ///< becomes stderr
    int guardian;               ///< of `cspawn_guardian_start`, which is told of the new group before exec; or -1
    const int32_t *cpus;        ///< processors it may run on, 0 to 1023; all of them must be there
    int cpu_count;              ///< 0: as the caller
    int nice;                   ///< niceness; INT_MAX: as the caller
    int policy;                 ///< of sched_setscheduler(2); -1: as the caller
    int priority;               ///< real-time priority of `policy`
    const struct cspawn_limit *limits;
    int limit_count;
};

/// A request that leaves everything but the program and its output as the caller has it.
static inline struct cspawn_request cspawn_plain_request(
    const char *path, char *const *argv, char *const *envp, int output, int error) {
    struct cspawn_request request = {
        .path = path, .argv = argv, .envp = envp, .output = output, .error = error,
        .guardian = -1, .nice = INT_MAX, .policy = -1};
    return request;
}

/// How a child ended and what it used.
struct cspawn_end {
    int kind;                 ///< 1 exited, 2 killed by a signal, 3 killed by a signal with a core file, -1 unknown child
    int status;               ///< exit status, or the signal
};

/// What a reaped child used.
struct cspawn_usage {
    int64_t peak_bytes;       ///< largest resident size
    int64_t cpu_microseconds; ///< user and system time
};

/// Starts a process in its own process group, with stdin from /dev/null, no inherited descriptor above 2, default signal
/// dispositions and an empty signal mask. The kernel kills it (SIGKILL) when the calling *thread* ends, so call from a
/// thread that lives as long as the processes should. Returns 0 and the pid, or the errno of the step that failed, which
/// `*step` names ("fork", "execve", ...).
int cspawn_start(const struct cspawn_request *request, pid_t *pid, const char **step);

/// A descriptor that becomes readable when the process ends, close-on-exec; -1 with errno on failure.
int cspawn_pidfd(pid_t pid);

/// How a child ended, without reaping it; kind 0 while it runs.
struct cspawn_end cspawn_peek(pid_t pid);

/// Waits for a child and tells what it and the children it waited for used.
struct cspawn_usage cspawn_reap(pid_t pid);

/// The processors that the caller may use, ascending, at most `capacity`; returns how many, or -1.
int cspawn_allowed_cpus(int32_t *cpus, int capacity);

/// Raises the caller's own limit of open files as far as allowed; processes are started with the limit it had before.
void cspawn_raise_file_limit(void);

/// Starts a guardian: a process that holds one end of a socket and, when the other end is closed (the caller ended, by
/// kill -9 too), kills the process groups it was told of that are still registered. Children of children are so reached
/// as well, which the parent-death signal alone does not do. Then it kills every process whose environment holds `mark`, at
/// most 255 bytes: also those that left their group. It looks until none is left and no process is just becoming another program, whose
/// environment cannot be read yet, and for 5 s at most. Returns the caller's end and the guardian's pid, or -1 with errno.
int cspawn_guardian_start(const char *mark, pid_t *pid);

/// Removes a process group from the guardian's list: call it before its leader is reaped, while its id is still its own.
void cspawn_guardian_forget(int guardian, pid_t group);

/// A pipe with a close-on-exec flag on both ends and a read end that does not block. Returns 0, or errno.
int cspawn_pipe(int ends[2]);

/// The process's environment, ended by NULL.
char *const *cspawn_environment(void);

/// From now on SIGINT, SIGTERM and SIGHUP (unless it was ignored: nohup) write their number as one byte to `descriptor`, and
/// SIGPIPE is ignored. Unblocks them in the calling thread, which may have inherited a mask.
void cspawn_watch_signals(int descriptor);

/// Gives SIGINT, SIGTERM, SIGHUP and SIGPIPE back the dispositions they had before `cspawn_watch_signals`, and the calling thread its mask.
void cspawn_unwatch_signals(void);

#endif
