#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// MARK: Crashes. From here on to the next mark all runs in a signal handler: async-signal-safe calls and memory of its own only.

static const struct {
    int number;
    const char *name;
} crashes[] = {
    {SIGILL, "SIGILL"}, {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
    {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},   {SIGSEGV, "SIGSEGV"},
};
enum { CRASHES = sizeof crashes / sizeof crashes[0], MAXIMUM_FRAMES = 64, REPORT_SECONDS = 1, ALTERNATE_STACK = 1 << 16 };

static atomic_flag is_reporting = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t reported = SIGABRT;

struct text {
    size_t length;
    char bytes[256];
};

static void add(struct text *text, const char *more) {
    while (*more != '\0' && text->length < sizeof text->bytes) text->bytes[text->length++] = *more++;
}

static void add_number(struct text *text, uintptr_t number, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    add(text, digits + at);
}

static void let_it_end(int number) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(number, &standard, NULL);
}

/// The report takes too long: stderr does not take it, or a lock that the crash has left behind is needed.
static void give_up(int alarm_number) {
    (void)alarm_number;
    let_it_end(reported);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, reported);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), reported);
}

static void report(int number, siginfo_t *information, void *context) {
    (void)context;
    if (atomic_flag_test_and_set(&is_reporting)) {
        for (;;) pause();  // another thread reports its own crash, and then the process ends
    }
    reported = number;
    struct sigaction limit = {.sa_handler = give_up};
    sigaction(SIGALRM, &limit, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(REPORT_SECONDS);

    const char *name = "a signal";
    for (int index = 0; index < CRASHES; index++) {
        if (crashes[index].number == number) name = crashes[index].name;
    }
    char thread[17] = "";
    prctl(PR_GET_NAME, thread);
    struct text line = {0};
    add(&line, program_invocation_short_name);
    add(&line, ": crashed: ");
    add(&line, name);
    if (information->si_code <= 0 && information->si_pid != 0) {
        add(&line, information->si_pid == getpid() ? ", raised by itself" : ", sent by process ");
        if (information->si_pid != getpid()) add_number(&line, (uintptr_t)information->si_pid, 10);
    } else {
        add(&line, " at address 0x");
        add_number(&line, (uintptr_t)information->si_addr, 16);
    }
    add(&line, ", process ");
    add_number(&line, (uintptr_t)getpid(), 10);
    add(&line, ", thread '");
    add(&line, thread);
    add(&line, "'; the return addresses (addr2line -e PROGRAM 0x...):\n");
    ssize_t ignored = write(STDERR_FILENO, line.bytes, line.length);
    (void)ignored;
    void *frames[MAXIMUM_FRAMES];
    int count = backtrace(frames, MAXIMUM_FRAMES);
    // The first is this handler.
    if (count > 1) backtrace_symbols_fd(frames + 1, count - 1, STDERR_FILENO);

    // It is blocked until this handler returns, and then ends the process at the place of the crash.
    let_it_end(number);
    raise(number);
}

static atomic_int watched_signals = -1;

static void count_signal(int number) {
    (void)number;
    int kept = errno;
    uint64_t one = 1;
    ssize_t written = write(atomic_load(&watched_signals), &one, sizeof one);
    (void)written;
    errno = kept;
}

enum { REMOVED = 16 };
static _Atomic(char *) removed[REMOVED];

static void remove_and_end(int number) {
    char *folders[REMOVED];
    for (int place = 0; place < REMOVED; place++) {
        // Taken, since another thread may free it meanwhile.
        folders[place] = atomic_exchange(&removed[place], NULL);
        if (folders[place] != NULL && unlink(folders[place]) == 0) folders[place] = NULL;
    }
    for (int place = 0; place < REMOVED; place++) {
        if (folders[place] != NULL) rmdir(folders[place]);
    }
    // It is blocked until this handler returns, and then ends the process.
    let_it_end(number);
    raise(number);
}

// MARK: Outside of handlers

int cprocess_remove_on_signal(const char *path) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    char *copy = strdup(path);
    if (copy == NULL) return -1;
    for (int place = 0; place < REMOVED; place++) {
        char *none = NULL;
        if (!atomic_compare_exchange_strong(&removed[place], &none, copy)) continue;
        for (size_t index = 0; index < sizeof ends / sizeof ends[0]; index++) {
            struct sigaction action = {0};
            // One that is ignored (nohup) or handled stays so.
            if (sigaction(ends[index], NULL, &action) != 0 || action.sa_handler != SIG_DFL) continue;
            action.sa_handler = remove_and_end;
            sigfillset(&action.sa_mask);
            sigaction(ends[index], &action, NULL);
        }
        return place;
    }
    free(copy);
    return -1;
}

void cprocess_keep_on_signal(int place) {
    if (place >= 0 && place < REMOVED) free(atomic_exchange(&removed[place], NULL));
}

int cprocess_watch_signals(const int *signals, int count) {
    int counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (counter < 0) return -1;
    atomic_store(&watched_signals, counter);
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = count_signal;
    for (int index = 0; index < count; index++) sigaction(signals[index], &action, NULL);
    return counter;
}

void cprocess_report_crashes(void) {
    const char *wish = getenv("SWIFT_BACKTRACE");
    if (wish != NULL && wish[0] != '\0' && strstr(wish, "enable=no") == NULL && strstr(wish, "enable=off") == NULL) return;
    // The first call loads the unwinder, which a handler must not.
    void *frame;
    backtrace(&frame, 1);
    static _Alignas(16) char stack[ALTERNATE_STACK];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = report;
    sigfillset(&action.sa_mask);
    for (int index = 0; index < CRASHES; index++) sigaction(crashes[index].number, &action, NULL);
}

void cprocess_hold_standard_streams(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        // Opened the wrong way round, so that using it still fails.
        int held = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
        if (held >= 0 && held != descriptor) close(held);
    }
}

void cprocess_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

const char *cprocess_commit(void) { return NAVBUS_COMMIT; }

int cprocess_flush_output(void) {
    if (fflush(stdout) != 0) return errno != 0 ? errno : EIO;
    if (!ferror(stdout)) return 0;
    // The write that failed was an earlier one.
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0 ? EPIPE : EIO;
}

void cprocess_notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path == NULL ? 0 : strlen(path);
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return;
    ssize_t ignored = sendto(
        descriptor, state, strlen(state), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    (void)ignored;
    close(descriptor);
}

int cprocess_notify_socket(char name[CPROCESS_NOTIFY_NAME]) {
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    int yes = 1;
    // unix(7): a name of no length is replaced by a free one of five digits, outside of the file system.
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
        bind(descriptor, (struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    size_t count = length - offsetof(struct sockaddr_un, sun_path);
    if (count < 2 || count >= CPROCESS_NOTIFY_NAME) count = 1;
    memcpy(name, address.sun_path, count);
    name[0] = '@';
    name[count] = '\0';
    return descriptor;
}

pid_t cprocess_notify_read(int socket) {
    char text[256];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return errno == EINTR ? 0 : -1;
    text[count] = '\0';
    const char *found = strstr(text, "WATCHDOG=1");
    if (found == NULL || (found != text && found[-1] != '\n')) return 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
        struct ucred sender;
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
        pid_t group = getpgid(sender.pid);
        return group > 0 ? group : 0;
    }
    return 0;
}
