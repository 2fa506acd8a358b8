// One publisher and any number of subscribers, each in a separate process: throughput, fan-out, one-way latency.
#define _GNU_SOURCE
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char topic[] = "/bench/data";

/// Processes subscriptions and unsubscriptions until there are `wanted` subscribers.
static void wait_for_subscribers(void *publisher, long *present, long wanted) {
    zmq_msg_t event;
    zmq_msg_init(&event);
    while (*present != wanted) {
        check(zmq_msg_recv(&event, publisher, 0), "subscription");
        if (zmq_msg_size(&event) > 0) *present += *(const char *)zmq_msg_data(&event) ? 1 : -1;
    }
    zmq_msg_close(&event);
}

int run_pub(const struct settings *settings) {
    void *context = make_context();
    void *publisher = make_socket(context, ZMQ_XPUB, settings);
    bind_to(publisher, settings, "data");
    long present = 0;
    wait_for_subscribers(publisher, &present, settings->subscribers);
    unsigned char *payload = malloc((size_t)settings->size);
    if (!payload) die("memory");
    memset(payload, 7, (size_t)settings->size);
    int64_t interval = settings->rate > 0 ? 1000000000 / settings->rate : 0;
    int64_t start = now_ns(), next = start;
    for (long index = 0; index < settings->count; index++) {
        if (interval > 0) sleep_until(next += interval);
        publish(publisher, topic, interval > 0 ? now_ns() : start, payload, (size_t)settings->size);
    }
    int64_t end = now_ns();
    printf("count %ld\nstart %lld\nend %lld\n", settings->count, (long long)start, (long long)end);
    // Subscribers disconnect when they have received all messages.
    wait_for_subscribers(publisher, &present, 0);
    return 0;
}

int run_sub(const struct settings *settings) {
    void *context = make_context();
    void *subscriber = make_socket(context, ZMQ_SUB, settings);
    check(zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, topic, sizeof topic), "subscribe");
    connect_to(subscriber, settings, "data");
    int64_t *ways = settings->rate > 0 ? calloc((size_t)settings->count, sizeof *ways) : NULL;
    struct message message;
    message_init(&message);
    long count = 0;
    while (count < settings->count) {
        receive(subscriber, &message);
        if (ways) ways[count] = now_ns() - stamp_of(&message);
        count++;
    }
    printf("count %ld\nend %lld\n", count, (long long)now_ns());
    if (ways) write_samples(settings, "way", ways, count);
    free(ways);
    zmq_close(subscriber);
    zmq_ctx_term(context);
    return 0;
}
