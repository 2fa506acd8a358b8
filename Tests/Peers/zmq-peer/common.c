#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void sleep_until(int64_t deadline) {
    struct timespec time = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

_Noreturn void die(const char *what) {
    fprintf(stderr, "navbus-bench-peer: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

void check(int result, const char *what) {
    if (result < 0) die(what);
}

static void set(void *socket, int option, int value) {
    check(zmq_setsockopt(socket, option, &value, sizeof value), "zmq_setsockopt");
}

void *make_context(void) {
    void *context = zmq_ctx_new();
    if (!context) die("zmq_ctx_new");
    return context;
}

void *make_socket(void *context, int type, const struct settings *settings) {
    void *socket = zmq_socket(context, type);
    if (!socket) die("zmq_socket");
    set(socket, ZMQ_SNDHWM, (int)settings->hwm);
    set(socket, ZMQ_RCVHWM, (int)settings->hwm);
    set(socket, ZMQ_LINGER, 1000);
    set(socket, ZMQ_RECONNECT_IVL, 10);
    if (type == ZMQ_XPUB) set(socket, ZMQ_XPUB_VERBOSER, 1);
    return socket;
}

static void port_file(char *path, size_t size, const struct settings *settings, const char *name) {
    snprintf(path, size, "%s/%s.tcp", settings->folder, name);
}

void bind_to(void *socket, const struct settings *settings, const char *name) {
    char endpoint[512];
    if (strcmp(settings->transport, "tcp") != 0) {
        snprintf(endpoint, sizeof endpoint, "%s://%s/%s", settings->transport, settings->folder, name);
        check(zmq_bind(socket, endpoint), endpoint);
        return;
    }
    check(zmq_bind(socket, "tcp://127.0.0.1:*"), "bind a port of 127.0.0.1");
    size_t length = sizeof endpoint;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &length), "ZMQ_LAST_ENDPOINT");
    char path[512], fresh[520];
    port_file(path, sizeof path, settings, name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    if (!file || fputs(endpoint, file) < 0 || fclose(file) != 0 || rename(fresh, path) != 0) die(path);
}

void connect_to(void *socket, const struct settings *settings, const char *name) {
    char endpoint[512];
    if (strcmp(settings->transport, "tcp") != 0) {
        snprintf(endpoint, sizeof endpoint, "%s://%s/%s", settings->transport, settings->folder, name);
        check(zmq_connect(socket, endpoint), endpoint);
        return;
    }
    char path[512];
    port_file(path, sizeof path, settings, name);
    FILE *file = NULL;
    for (int attempt = 0; attempt < 1000 && !(file = fopen(path, "r")); attempt++) usleep(10000);
    if (!file || !fgets(endpoint, sizeof endpoint, file)) die(path);
    fclose(file);
    check(zmq_connect(socket, endpoint), endpoint);
}

void write_header(unsigned char header[HEADER_SIZE], int64_t stamp) {
    static uint64_t sequence = 0;
    const uint64_t boot = 0x1122334455667788, schema = 0;
    sequence++;
    header[0] = 0x09;
    memcpy(header + 1, &sequence, 8);
    header[9] = 0x11;
    memcpy(header + 10, &stamp, 8);
    header[18] = 0x19;
    memcpy(header + 19, &boot, 8);
    header[27] = 0x21;
    memcpy(header + 28, &schema, 8);
}

void publish(void *socket, const char *topic, int64_t stamp, const void *payload, size_t size) {
    unsigned char header[HEADER_SIZE];
    write_header(header, stamp);
    check(zmq_send(socket, topic, strlen(topic) + 1, ZMQ_SNDMORE), "send");
    check(zmq_send(socket, header, HEADER_SIZE, ZMQ_SNDMORE), "send");
    check(zmq_send(socket, payload, size, 0), "send");
}

void message_init(struct message *message) {
    zmq_msg_init(&message->topic);
    zmq_msg_init(&message->header);
    zmq_msg_init(&message->payload);
}

void receive(void *socket, struct message *message) {
    check(zmq_msg_recv(&message->topic, socket, 0), "receive");
    check(zmq_msg_recv(&message->header, socket, 0), "receive");
    check(zmq_msg_recv(&message->payload, socket, 0), "receive");
}

int64_t stamp_of(struct message *message) {
    int64_t stamp = 0;
    if (zmq_msg_size(&message->header) == HEADER_SIZE) {
        memcpy(&stamp, (const char *)zmq_msg_data(&message->header) + 10, 8);
    }
    return stamp;
}

void write_samples(const struct settings *settings, const char *kind, const int64_t *samples, long count) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s", settings->folder, settings->name, kind);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(samples, sizeof *samples, (size_t)count, file) != (size_t)count || fclose(file) != 0) die(path);
}
