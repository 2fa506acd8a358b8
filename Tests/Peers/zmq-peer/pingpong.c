// Round trips over two PUB/SUB pairs between two processes or within one.
#define _GNU_SOURCE
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ping_topic[] = "/bench/ping", pong_topic[] = "/bench/pong";
/// The index of the message that ends the echo.
static const uint64_t last_index = UINT64_MAX;

static void subscribe(void *socket, const char *topic) {
    check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, strlen(topic) + 1), "subscribe");
}

static bool has_message(void *socket, long milliseconds) {
    zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
    return zmq_poll(&item, 1, milliseconds) > 0;
}

/// Forwards the payload without copying, with its time of arrival in the header. False for the last message.
static bool echo_one(void *publisher, void *subscriber, struct message *message) {
    receive(subscriber, message);
    unsigned char header[HEADER_SIZE];
    write_header(header, now_ns());
    uint64_t index = 0;
    if (zmq_msg_size(&message->payload) >= sizeof index) {
        memcpy(&index, zmq_msg_data(&message->payload), sizeof index);
    }
    if (index == last_index) return false;
    check(zmq_send(publisher, pong_topic, sizeof pong_topic, ZMQ_SNDMORE), "send");
    check(zmq_send(publisher, header, HEADER_SIZE, ZMQ_SNDMORE), "send");
    check(zmq_msg_send(&message->payload, publisher, 0), "send");
    return true;
}

int run_echo(const struct settings *settings) {
    void *context = make_context();
    void *publisher = make_socket(context, ZMQ_XPUB, settings);
    void *subscriber = make_socket(context, ZMQ_SUB, settings);
    bind_to(publisher, settings, "pong");
    connect_to(subscriber, settings, "ping");
    subscribe(subscriber, ping_topic);
    struct message message;
    message_init(&message);
    long echoed = 0;
    while (echo_one(publisher, subscriber, &message)) echoed++;
    printf("echoed %ld\n", echoed);
    return 0;
}

struct driver {
    const struct settings *settings;
    void *publisher, *subscriber;
    unsigned char *payload;
    struct message message;
    /// The sockets of the echo if this thread also echoes.
    void *echo_publisher, *echo_subscriber;
    struct message echo_message;
};

static void echo_here(struct driver *driver) {
    if (driver->echo_subscriber) {
        echo_one(driver->echo_publisher, driver->echo_subscriber, &driver->echo_message);
    }
}

/// Sends until an echo arrives, then drains the queues: both directions are then connected and empty.
static void meet(struct driver *driver) {
    const struct settings *settings = driver->settings;
    memset(driver->payload, 7, (size_t)settings->size);
    bool met = false;
    for (int attempt = 0; attempt < 1000 && !met; attempt++) {
        publish(driver->publisher, ping_topic, now_ns(), driver->payload, (size_t)settings->size);
        if (driver->echo_subscriber && has_message(driver->echo_subscriber, 20)) echo_here(driver);
        met = has_message(driver->subscriber, 20);
    }
    if (!met) die("no echo");
    while (has_message(driver->subscriber, 50)) receive(driver->subscriber, &driver->message);
}

static void measure(struct driver *driver) {
    const struct settings *settings = driver->settings;
    int64_t *trips = calloc((size_t)settings->count, sizeof *trips);
    int64_t *ways = calloc((size_t)settings->count, sizeof *ways);
    if (!trips || !ways) die("memory");
    int64_t interval = settings->rate > 0 ? 1000000000 / settings->rate : 0, next = now_ns();
    long kept = 0;
    for (long index = 0; index < settings->warmup + settings->count; index++) {
        if (interval > 0 && index >= settings->warmup) sleep_until(next += interval);
        uint64_t number = (uint64_t)index, answer = last_index;
        memcpy(driver->payload, &number, sizeof number);
        int64_t start = now_ns();
        publish(driver->publisher, ping_topic, start, driver->payload, (size_t)settings->size);
        echo_here(driver);
        receive(driver->subscriber, &driver->message);
        int64_t end = now_ns();
        if (interval > 0 && index < settings->warmup) next = end;
        if (zmq_msg_size(&driver->message.payload) == (size_t)settings->size) {
            memcpy(&answer, zmq_msg_data(&driver->message.payload), sizeof answer);
        }
        if (answer != number) {
            fprintf(stderr, "navbus-bench-peer: the answer to %ld has another index\n", index);
            exit(1);
        }
        if (index < settings->warmup) continue;
        trips[kept] = end - start;
        ways[kept++] = stamp_of(&driver->message) - start;
    }
    write_samples(settings, "trip", trips, kept);
    write_samples(settings, "way", ways, kept);
    printf("count %ld\n", kept);
    free(trips);
    free(ways);
}

static void start(struct driver *driver, const struct settings *settings, void *context) {
    memset(driver, 0, sizeof *driver);
    driver->settings = settings;
    driver->payload = malloc((size_t)settings->size);
    if (!driver->payload) die("memory");
    message_init(&driver->message);
    driver->publisher = make_socket(context, ZMQ_XPUB, settings);
    driver->subscriber = make_socket(context, ZMQ_SUB, settings);
    bind_to(driver->publisher, settings, "ping");
    subscribe(driver->subscriber, pong_topic);
}

static void stop_echo(struct driver *driver) {
    memcpy(driver->payload, &last_index, sizeof last_index);
    publish(driver->publisher, ping_topic, now_ns(), driver->payload, (size_t)driver->settings->size);
}

int run_ping(const struct settings *settings) {
    void *context = make_context();
    struct driver driver;
    start(&driver, settings, context);
    connect_to(driver.subscriber, settings, "pong");
    meet(&driver);
    measure(&driver);
    stop_echo(&driver);
    zmq_close(driver.publisher);
    zmq_close(driver.subscriber);
    zmq_ctx_term(context);
    return 0;
}

struct echo_thread {
    void *publisher, *subscriber;
};

static void *echo_forever(void *argument) {
    struct echo_thread *echo = argument;
    struct message message;
    message_init(&message);
    while (echo_one(echo->publisher, echo->subscriber, &message)) {
    }
    return NULL;
}

int run_inproc(const struct settings *settings) {
    void *context = make_context();
    struct driver driver;
    start(&driver, settings, context);
    struct echo_thread echo = {make_socket(context, ZMQ_XPUB, settings), make_socket(context, ZMQ_SUB, settings)};
    bind_to(echo.publisher, settings, "pong");
    connect_to(echo.subscriber, settings, "ping");
    subscribe(echo.subscriber, ping_topic);
    connect_to(driver.subscriber, settings, "pong");
    pthread_t thread;
    if (settings->threads == 1) {
        driver.echo_publisher = echo.publisher;
        driver.echo_subscriber = echo.subscriber;
        message_init(&driver.echo_message);
        // The publisher processes the subscription when it next polls its socket.
        has_message(echo.publisher, 100);
    } else if (pthread_create(&thread, NULL, echo_forever, &echo) != 0) {
        die("pthread_create");
    }
    meet(&driver);
    measure(&driver);
    if (settings->threads != 1) {
        stop_echo(&driver);
        pthread_join(thread, NULL);
    }
    return 0;
}
