// A library that the rig preloads into the programs under test.
//
// It steps the host's clock by adding the nanoseconds in the file RIG_CLOCK to the wall clock. Monotonic clocks are not
// changed. (libfaketime offers more, but reads its file at every access to the clock and interferes with waits by the
// monotonic clock.) It also crashes the program: on the signal SIGRTMAX - 3 a thread writes to an invalid address, because
// a SIGSEGV sent from outside does not recur after it has been handled.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

static void crash(int number) {
    (void)number;
    *(volatile int *)16 = 1;
}

__attribute__((constructor)) static void set_up(void) {
    signal(SIGRTMAX - 3, crash);
    const char *path = getenv("RIG_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shift = page;
    close(file);
}

static struct timespec shifted(struct timespec moment, int64_t by) {
    int64_t nanoseconds = moment.tv_nsec + by % 1000000000;
    moment.tv_sec += by / 1000000000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
    moment.tv_nsec = nanoseconds - 1000000000 * ((nanoseconds >= 1000000000) - (nanoseconds < 0));
    return moment;
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *moment) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = NEXT(clock_gettime);
    int result = next(clock, moment);
    if (result == 0 && shift && is_wall(clock)) *moment = shifted(*moment, *shift);
    return result;
}

int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *moment) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (moment) *moment = now.tv_sec;
    return now.tv_sec;
}

// The kernel waits by its own wall clock, so absolute times are shifted back.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!next) next = NEXT(pthread_cond_timedwait);
    // Conditions that wait by the monotonic clock have far smaller times and are not shifted.
    struct timespec moment = *until;
    if (shift && until->tv_sec > 1000000000) moment = shifted(moment, -*shift);
    return next(condition, mutex, &moment);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    static int (*next)(sem_t *, const struct timespec *);
    if (!next) next = NEXT(sem_timedwait);
    struct timespec moment = *until;
    if (shift) moment = shifted(moment, -*shift);
    return next(semaphore, &moment);
}
