#define _GNU_SOURCE
#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

enum { MAXIMUM_GROUPS = 1024 };

static const char *const step_names[] = {
    "setpgid", "prctl(PR_SET_PDEATHSIG)", "open /dev/null", "dup2", "execve",
};
enum step { STEP_GROUP, STEP_DEATH_SIGNAL, STEP_NULL, STEP_DUP, STEP_EXEC };

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

int cspawn_peek(pid_t pid, int *status) {
    siginfo_t information = {0};
    while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno != EINTR) return -1;
    }
    if (information.si_pid == 0) return 0;
    *status = information.si_status;
    return information.si_code == CLD_EXITED ? 1 : 2;
}

// The guardian's whole life, in a forked copy of the caller: async-signal-safe calls and its own stack only.
static void guard(int tells) {
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
    _exit(0);
}

int cspawn_guardian_start(pid_t *pid) {
    int tells[2];  // packets, so that a tell arrives whole
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, tells) != 0) return -1;
    pid_t child = fork_quietly();
    if (child == 0) guard(tells[0]);
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
