// Raw round trips over DEALER and ROUTER, and a stream with credit: a message is two frames, header and payload.
#define _GNU_SOURCE
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { UNARY = 1, STREAM = 2, CREDIT = 3, STOP = 4 };

struct frame {
    uint64_t call;
    uint32_t kind;
    uint32_t credit;
    uint64_t count;
};

struct request {
    zmq_msg_t client;
    struct frame frame;
    zmq_msg_t payload;
};

static void receive_frame(void *socket, struct frame *frame, zmq_msg_t *payload) {
    if (zmq_recv(socket, frame, sizeof *frame, 0) != (int)sizeof *frame) die("receive a frame");
    check(zmq_msg_recv(payload, socket, 0), "receive");
}

static void send_frame(void *socket, const struct frame *frame, const void *payload, size_t size) {
    check(zmq_send(socket, frame, sizeof *frame, ZMQ_SNDMORE), "send");
    check(zmq_send(socket, payload, size, 0), "send");
}

struct stream {
    zmq_msg_t client;
    struct frame frame;
    uint64_t left, credit;
};

static void send_stream(void *router, struct stream *stream, const void *payload, size_t size) {
    for (; stream->left > 0 && stream->credit > 0; stream->left--, stream->credit--) {
        check(
            zmq_send(router, zmq_msg_data(&stream->client), zmq_msg_size(&stream->client), ZMQ_SNDMORE), "send");
        send_frame(router, &stream->frame, payload, size);
    }
}

int run_server(const struct settings *settings) {
    void *context = make_context();
    void *router = make_socket(context, ZMQ_ROUTER, settings);
    bind_to(router, settings, "rpc");
    unsigned char *payload = malloc((size_t)settings->size);
    if (!payload) die("memory");
    memset(payload, 7, (size_t)settings->size);
    struct request request;
    struct stream stream = {.left = 0};
    zmq_msg_init(&request.client);
    zmq_msg_init(&request.payload);
    zmq_msg_init(&stream.client);
    long served = 0;
    for (;;) {
        check(zmq_msg_recv(&request.client, router, 0), "receive");
        receive_frame(router, &request.frame, &request.payload);
        switch (request.frame.kind) {
        case STREAM:
            served++;
            zmq_msg_copy(&stream.client, &request.client);
            stream.frame = request.frame;
            stream.left = request.frame.count;
            stream.credit = request.frame.credit;
            send_stream(router, &stream, payload, (size_t)settings->size);
            continue;
        case CREDIT:
            stream.credit += request.frame.credit;
            send_stream(router, &stream, payload, (size_t)settings->size);
            continue;
        default: break;
        }
        served += request.frame.kind == UNARY;
        check(zmq_msg_send(&request.client, router, ZMQ_SNDMORE), "send");
        check(zmq_send(router, &request.frame, sizeof request.frame, ZMQ_SNDMORE), "send");
        check(zmq_msg_send(&request.payload, router, 0), "send");
        if (request.frame.kind == STOP) break;
    }
    printf("served %ld\n", served);
    zmq_close(router);
    zmq_ctx_term(context);
    return 0;
}

struct client {
    const struct settings *settings;
    void *context, *dealer;
    unsigned char *payload;
    zmq_msg_t answer;
    uint64_t call;
};

static void start(struct client *client, const struct settings *settings) {
    client->settings = settings;
    client->context = make_context();
    client->dealer = make_socket(client->context, ZMQ_DEALER, settings);
    connect_to(client->dealer, settings, "rpc");
    client->payload = malloc((size_t)settings->size);
    if (!client->payload) die("memory");
    memset(client->payload, 7, (size_t)settings->size);
    zmq_msg_init(&client->answer);
    client->call = 0;
}

static void call(struct client *client, uint32_t kind) {
    struct frame frame = {.call = ++client->call, .kind = kind}, answer;
    send_frame(client->dealer, &frame, client->payload, (size_t)client->settings->size);
    receive_frame(client->dealer, &answer, &client->answer);
    if (answer.call != frame.call || zmq_msg_size(&client->answer) != (size_t)client->settings->size) {
        fprintf(stderr, "navbus-bench-peer: the answer belongs to another call\n");
        exit(1);
    }
}

static void stop(struct client *client) {
    call(client, STOP);
    zmq_close(client->dealer);
    zmq_ctx_term(client->context);
}

int run_unary(const struct settings *settings) {
    struct client client;
    start(&client, settings);
    int64_t *trips = calloc((size_t)settings->count, sizeof *trips);
    if (!trips) die("memory");
    for (long index = 0; index < settings->warmup; index++) call(&client, UNARY);
    int64_t interval = settings->rate > 0 ? 1000000000 / settings->rate : 0, next = now_ns();
    for (long index = 0; index < settings->count; index++) {
        if (interval > 0) sleep_until(next += interval);
        int64_t begin = now_ns();
        call(&client, UNARY);
        trips[index] = now_ns() - begin;
    }
    write_samples(settings, "trip", trips, settings->count);
    printf("count %ld\n", settings->count);
    free(trips);
    stop(&client);
    return 0;
}

/// Receives a stream and grants half a window after every half window received.
static void take_stream(struct client *client, uint64_t count) {
    uint32_t window = (uint32_t)client->settings->window, half = window / 2 ? window / 2 : 1, taken = 0;
    struct frame frame = {.call = ++client->call, .kind = STREAM, .credit = window, .count = count}, answer;
    send_frame(client->dealer, &frame, client->payload, (size_t)client->settings->size);
    for (uint64_t index = 0; index < count; index++) {
        receive_frame(client->dealer, &answer, &client->answer);
        if (++taken == half && index + 1 < count) {
            struct frame credit = {.call = frame.call, .kind = CREDIT, .credit = taken};
            send_frame(client->dealer, &credit, client->payload, 0);
            taken = 0;
        }
    }
}

int run_stream(const struct settings *settings) {
    struct client client;
    start(&client, settings);
    if (settings->warmup > 0) take_stream(&client, (uint64_t)settings->warmup);
    int64_t begin = now_ns();
    take_stream(&client, (uint64_t)settings->count);
    int64_t end = now_ns();
    printf("count %ld\nstart %lld\nend %lld\n", settings->count, (long long)begin, (long long)end);
    stop(&client);
    return 0;
}
