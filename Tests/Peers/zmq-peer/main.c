#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: navbus-bench-peer version\n"
    "       navbus-bench-peer ping|echo|inproc|pub|sub|server|unary|stream --folder PATH [--transport ipc|tcp|inproc]\n"
    "           [--name NAME] [--size BYTES] [--count N] [--warmup N] [--rate HZ] [--subscribers N] [--window N]\n"
    "           [--hwm N] [--threads 1|2] [--deadline SECONDS]\n";

static _Noreturn void refuse(const char *option, const char *why) {
    fprintf(stderr, "navbus-bench-peer: %s: %s\n%s", option, why, usage);
    exit(2);
}

static long number(const char *option, const char *text, long least, long most) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value < least || value > most) refuse(option, "invalid or out of range");
    return value;
}

static void apply(struct settings *settings, const char *option, const char *value) {
    struct {
        const char *name;
        long *place;
        long least, most;
    } numbers[] = {
        {"--size", &settings->size, 8, 1 << 26},
        {"--count", &settings->count, 1, 100000000},
        {"--warmup", &settings->warmup, 0, 100000000},
        {"--rate", &settings->rate, 0, 1000000},
        {"--subscribers", &settings->subscribers, 1, 1000},
        {"--window", &settings->window, 1, 1000000},
        {"--hwm", &settings->hwm, 1, INT_MAX},
        {"--threads", &settings->threads, 1, 2},
    };
    for (size_t index = 0; index < sizeof numbers / sizeof numbers[0]; index++) {
        if (strcmp(option, numbers[index].name) != 0) continue;
        *numbers[index].place = number(option, value, numbers[index].least, numbers[index].most);
        return;
    }
    if (strcmp(option, "--folder") == 0) settings->folder = value;
    else if (strcmp(option, "--name") == 0) settings->name = value;
    else if (strcmp(option, "--transport") == 0) settings->transport = value;
    else if (strcmp(option, "--deadline") == 0) alarm((unsigned)number(option, value, 1, 3600));
    else refuse(option, "unknown option");
}

static int print_version(void) {
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
#ifdef __OPTIMIZE__
    const char *build = "optimised";
#else
    const char *build = "not optimised";
#endif
    printf("libzmq %d.%d.%d\nbuild %s\n", major, minor, patch, build);
    return 0;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        int (*run)(const struct settings *);
    } roles[] = {
        {"ping", run_ping},     {"echo", run_echo},   {"inproc", run_inproc}, {"pub", run_pub}, {"sub", run_sub},
        {"server", run_server}, {"unary", run_unary}, {"stream", run_stream},
    };
    struct settings settings = {
        .transport = "ipc", .name = "peer", .size = 200, .count = 1000, .subscribers = 1, .window = 64, .hwm = 1000,
        .threads = 2,
    };
    if (count < 2) refuse("no role", "give one of the roles below");
    if (strcmp(words[1], "version") == 0) return print_version();
    settings.role = words[1];
    for (int index = 2; index < count; index += 2) {
        if (index + 1 >= count) refuse(words[index], "needs a value");
        apply(&settings, words[index], words[index + 1]);
    }
    if (!settings.folder) refuse("--folder", "is missing");
    for (size_t index = 0; index < sizeof roles / sizeof roles[0]; index++) {
        if (strcmp(settings.role, roles[index].name) == 0) return roles[index].run(&settings);
    }
    refuse(settings.role, "unknown role");
}
