#define _GNU_SOURCE
#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

enum { MAXIMUM_GROUPS = 1024, MAXIMUM_CPUS = 1024, MAXIMUM_MARK = 255 };

static const char *const step_names[] = {
    "setpgid", "prctl(PR_SET_PDEATHSIG)", "open /dev/null", "dup2", "cpus", "nice", "scheduler",
    "core_limit", "memory_limit", "open_files", "execve",
};
enum step {
    STEP_GROUP, STEP_DEATH_SIGNAL, STEP_NULL, STEP_DUP, STEP_CPUS, STEP_NICE, STEP_SCHEDULER,
    STEP_CORE, STEP_MEMORY, STEP_FILES, STEP_EXEC,
};

/// The limit of open files before `cspawn_raise_file_limit`.
static struct rlimit first_file_limit;
static bool file_limit_is_raised = false;

struct failure {
    int error;
    int step;
};

static void fail(int report, enum step step) {
    struct failure failure = {errno, step};
    ssize_t ignored = write(report, &failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &standard, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/// A copy of `descriptor` above 2, so that the dup2 calls below cannot overwrite one another's source.
static int lifted(int descriptor, int report) {
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) fail(report, STEP_DUP);
    return copy;
}

/// Tells the guardian of a new group (above 0) or of one that has ended (below 0).
static void tell(int guardian, int32_t group) {
    if (guardian < 0) return;
    while (send(guardian, &group, sizeof group, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

static void choose_cpus(const struct cspawn_request *request, int report) {
    cpu_set_t wanted, granted;
    CPU_ZERO(&wanted);
    for (int index = 0; index < request->cpu_count; index++) {
        int32_t cpu = request->cpus[index];
        if (cpu < 0 || cpu >= MAXIMUM_CPUS) {
            errno = EINVAL;
            fail(report, STEP_CPUS);
        }
        CPU_SET(cpu, &wanted);
    }
    if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) fail(report, STEP_CPUS);
    // The kernel leaves out processors that are not there without a word.
    if (sched_getaffinity(0, sizeof granted, &granted) != 0) fail(report, STEP_CPUS);
    if (!CPU_EQUAL(&wanted, &granted)) {
        errno = EINVAL;
        fail(report, STEP_CPUS);
    }
}

static enum step limit_step(int resource) {
    return resource == RLIMIT_CORE ? STEP_CORE : resource == RLIMIT_DATA ? STEP_MEMORY : STEP_FILES;
}

/// Sets the limit that counts; the hard one is raised only where it must be.
static void limit(const struct cspawn_limit *wanted, int report) {
    struct rlimit limit;
    if (getrlimit(wanted->resource, &limit) != 0) fail(report, limit_step(wanted->resource));
    limit.rlim_cur = wanted->value == UINT64_MAX ? RLIM_INFINITY : (rlim_t)wanted->value;
    if (limit.rlim_max != RLIM_INFINITY && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > limit.rlim_max)) {
        limit.rlim_max = limit.rlim_cur;
    }
    if (setrlimit(wanted->resource, &limit) != 0) fail(report, limit_step(wanted->resource));
}

static void apply_settings(const struct cspawn_request *request, int report) {
    if (file_limit_is_raised) setrlimit(RLIMIT_NOFILE, &first_file_limit);
    for (int index = 0; index < request->limit_count; index++) {
        limit(&request->limits[index], report);
    }
    if (request->cpu_count > 0) choose_cpus(request, report);
    if (request->nice != INT_MAX && setpriority(PRIO_PROCESS, 0, request->nice) != 0) fail(report, STEP_NICE);
    if (request->policy >= 0) {
        struct sched_param parameters = {.sched_priority = request->priority};
        if (sched_setscheduler(0, request->policy, &parameters) != 0) fail(report, STEP_SCHEDULER);
    }
}

// Runs in the child between fork and exec: async-signal-safe calls only.
static void become(const struct cspawn_request *request, pid_t parent, int report) {
    if (setpgid(0, 0) != 0) fail(report, STEP_GROUP);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report, STEP_DEATH_SIGNAL);
    if (getppid() != parent) _exit(127);  // the parent ended before the line above
    tell(request->guardian, getpid());

    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) fail(report, STEP_NULL);
    report = lifted(report, report);
    null = lifted(null, report);
    int output = lifted(request->output, report);
    int error = lifted(request->error, report);
    if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) fail(report, STEP_DUP);
    syscall(SYS_close_range, 3U, UINT_MAX, CLOSE_RANGE_CLOEXEC);  // before Linux 5.11 the descriptors' own flags must do

    apply_settings(request, report);
    reset_signals();
    execve(request->path, request->argv, request->envp);
    fail(report, STEP_EXEC);
}

/// Forks with every signal blocked, so that no handler of the parent runs in the child.
static pid_t fork_quietly(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int error = errno;
    if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

int cspawn_start(const struct cspawn_request *request, pid_t *pid, const char **step) {
    int report[2];
    *step = "pipe2";
    if (pipe2(report, O_CLOEXEC) != 0) return errno;
    pid_t parent = getpid();
    pid_t child = fork_quietly();
    if (child == 0) become(request, parent, report[1]);
    int fork_error = errno;
    close(report[1]);
    if (child < 0) {
        close(report[0]);
        *step = "fork";
        return fork_error;
    }

    // The pipe closes by itself when exec succeeds.
    struct failure failure;
    ssize_t count;
    do {
        count = read(report[0], &failure, sizeof failure);
    } while (count < 0 && errno == EINTR);
    close(report[0]);
    if (count == (ssize_t)sizeof failure) {
        tell(request->guardian, -child);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
        *step = step_names[failure.step];
        return failure.error;
    }
    *pid = child;
    return 0;
}

int cspawn_pidfd(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

struct cspawn_end cspawn_peek(pid_t pid) {
    struct cspawn_end end = {0, 0};
    siginfo_t information = {0};
    while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR) continue;
        end.kind = -1;
        return end;
    }
    if (information.si_pid == 0) return end;
    end.status = information.si_status;
    end.kind = information.si_code == CLD_EXITED ? 1 : information.si_code == CLD_DUMPED ? 3 : 2;
    return end;
}

struct cspawn_usage cspawn_reap(pid_t pid) {
    struct rusage usage = {0};
    while (wait4(pid, NULL, 0, &usage) < 0 && errno == EINTR) {
    }
    struct cspawn_usage result = {
        .peak_bytes = (int64_t)usage.ru_maxrss * 1024,
        .cpu_microseconds = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
            + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
    };
    return result;
}

int cspawn_allowed_cpus(int32_t *cpus, int capacity) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    int count = 0;
    for (int cpu = 0; cpu < MAXIMUM_CPUS && count < capacity; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) cpus[count++] = cpu;
    }
    return count;
}

void cspawn_raise_file_limit(void) {
    struct rlimit limit;
    if (file_limit_is_raised || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    first_file_limit = limit;
    limit.rlim_cur = limit.rlim_max;
    file_limit_is_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// What getdents64(2) fills in.
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/// Opens a file of a process, given by its folder's name in /proc; below 0 when there is none any more.
static int open_of(const char *process, const char *file) {
    char path[64] = "/proc/";
    size_t process_length = strlen(process), file_length = strlen(file);
    if (process_length > 16 || file_length > 16) return -1;
    memcpy(path + 6, process, process_length);
    path[6 + process_length] = '/';
    memcpy(path + 7 + process_length, file, file_length + 1);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/// What the environment of a process says.
enum marking { UNMARKED, MARKED, EMPTY };

/// Whether the environment of a process holds `mark`.
static enum marking marking_of(const char *process, const char *mark) {
    static char text[1 << 16];
    size_t mark_length = strlen(mark), kept = 0;
    int file = open_of(process, "environ");
    if (file < 0) return UNMARKED;
    bool found = false, empty = true;
    ssize_t count;
    while (!found && (count = read(file, text + kept, sizeof text - kept)) > 0) {
        size_t length = kept + (size_t)count;
        empty = false;
        found = memmem(text, length, mark, mark_length) != NULL;
        kept = length < mark_length ? length : mark_length - 1;
        memmove(text, text + length - kept, kept);
    }
    close(file);
    return found ? MARKED : empty ? EMPTY : UNMARKED;
}

/// Whether a process whose environment read as empty may have one: it is becoming another program, or became one between the two reads
/// (proc(5): the file shows the memory from before). Only one that was given an empty environment has a place for it of no length.
static bool may_be_marked(const char *process) {
    static char text[2048];
    int file = open_of(process, "stat");
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return false;
    text[count] = '\0';
    // proc(5): "PID (NAME) STATE" and numbers, of which the 9th is the flags and the 50th and 51st are where the environment begins and
    // ends; a name may hold anything.
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return false;
    at += 3;
    uint64_t number = 0, begin = 0;
    for (int field = 4; field <= 51; field++) {
        while (*at == ' ') at++;
        if (*at == '-') at++;
        if (*at < '0' || *at > '9') return false;
        for (number = 0; *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint64_t)(*at - '0');
        enum { PF_EXITING = 0x00000004, PF_KTHREAD = 0x00200000 };
        if (field == 9 && (number & (PF_EXITING | PF_KTHREAD)) != 0) return false;
        if (field == 50) begin = number;
    }
    return begin == 0 || begin != number;
}

/// What a look at all processes has found.
struct look {
    /// Those that were killed.
    int killed;
    /// Those of which it cannot be told yet.
    int becoming;
};

/// Kills every process whose environment holds `mark`.
static struct look kill_marked(const char *mark) {
    static _Alignas(8) char entries[1 << 15];
    struct look look = {0, 0};
    int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return look;
    long size;
    while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at < size;) {
            const struct directory_entry *entry = (const struct directory_entry *)(entries + at);
            at += entry->length;
            pid_t pid = 0;
            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++) pid = pid * 10 + (*digit - '0');
            if (pid <= 1 || pid == getpid()) continue;
            enum marking marking = marking_of(entry->name, mark);
            if (marking == MARKED && kill(pid, SIGKILL) == 0) look.killed++;
            if (marking == EMPTY && may_be_marked(entry->name)) look.becoming++;
        }
    }
    close(folder);
    return look;
}

// The guardian's whole life, in a forked copy of the caller: async-signal-safe calls and memory of its own only.
static void guard(int tells, const char *mark) {
    static int32_t groups[MAXIMUM_GROUPS];
    int count = 0;
    setsid();
    prctl(PR_SET_NAME, "navbus-guardian");
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &ignore, NULL);
    }
    if (tells != 0) dup2(tells, 0);
    syscall(SYS_close_range, 1U, UINT_MAX, 0U);

    for (;;) {
        int32_t told;
        ssize_t got = read(0, &told, sizeof told);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof told) break;
        if (told > 0 && count < MAXIMUM_GROUPS) {
            groups[count++] = told;
        }
        for (int index = 0; told < 0 && index < count; index++) {
            if (groups[index] == -told) {
                groups[index] = groups[--count];
                break;
            }
        }
    }
    for (int index = 0; index < count; index++) {
        kill(-groups[index], SIGKILL);
    }
    // Those that left their group. One that is just being forked shows up in the next look, and so does one that becomes another program;
    // a process that was killed has no environment any more.
    // On a machine that hardly runs us, the looks count, not the time that has passed between them. One look that finds nothing is not
    // enough: for a moment of its exec a process shows an environment of no length.
    enum { LOOK_SECONDS = 5, LEAST_LOOKS = 100, QUIET_LOOKS = 4, PAUSE_MILLISECONDS = 2 };
    int quiet = 0;
    struct timespec now, last;
    clock_gettime(CLOCK_MONOTONIC, &last);
    last.tv_sec += LOOK_SECONDS;
    for (int looks = 1; mark[0] != '\0'; looks++) {
        struct look look = kill_marked(mark);
        clock_gettime(CLOCK_MONOTONIC, &now);
        quiet = look.killed == 0 && look.becoming == 0 ? quiet + 1 : 0;
        if (quiet == QUIET_LOOKS || (now.tv_sec > last.tv_sec && looks >= LEAST_LOOKS)) break;
        poll(NULL, 0, PAUSE_MILLISECONDS);
    }
    _exit(0);
}

int cspawn_guardian_start(const char *mark, pid_t *pid) {
    if (strlen(mark) > MAXIMUM_MARK) {
        errno = EINVAL;
        return -1;
    }
    int tells[2];  // packets, so that a tell arrives whole
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, tells) != 0) return -1;
    pid_t child = fork_quietly();
    if (child == 0) guard(tells[0], mark);
    int error = errno;
    close(tells[0]);
    if (child < 0) {
        close(tells[1]);
        errno = error;
        return -1;
    }
    *pid = child;
    return tells[1];
}

void cspawn_guardian_forget(int guardian, pid_t group) {
    tell(guardian, -group);
}

int cspawn_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

char *const *cspawn_environment(void) {
    return environ;
}

static volatile sig_atomic_t signal_descriptor = -1;
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { WATCHED = sizeof watched / sizeof watched[0] };
static struct sigaction previous[WATCHED];
static sigset_t previous_mask;

static void pass_on(int number) {
    int error = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t ignored = write(signal_descriptor, &byte, 1);
    (void)ignored;
    errno = error;
}

void cspawn_watch_signals(int descriptor) {
    signal_descriptor = descriptor;
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int index = 0; index < WATCHED; index++) {
        sigaddset(&wanted, watched[index]);
        struct sigaction action = {.sa_flags = SA_RESTART};
        action.sa_handler = watched[index] == SIGPIPE ? SIG_IGN : pass_on;
        sigfillset(&action.sa_mask);
        sigaction(watched[index], &action, &previous[index]);
        if (watched[index] == SIGHUP && previous[index].sa_handler == SIG_IGN) {
            sigaction(SIGHUP, &previous[index], NULL);
        }
    }
    pthread_sigmask(SIG_UNBLOCK, &wanted, &previous_mask);
}

void cspawn_unwatch_signals(void) {
    for (int index = 0; index < WATCHED; index++) {
        sigaction(watched[index], &previous[index], NULL);
    }
    pthread_sigmask(SIG_SETMASK, &previous_mask, NULL);
    signal_descriptor = -1;
}
