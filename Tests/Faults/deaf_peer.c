// The C clients of the deafness run: a publisher and many subscribers on libzmq, without navbus code.
//
//   deaf_peer listen COUNT ENDPOINT...        opens COUNT sockets, each connected to all endpoints; prints a line for each tick:
//                                             SOCKET TOPIC INDEX MONOTONIC_NS
//   deaf_peer publish ENDPOINT TOPIC SCHEDULE BOOT_ID plays the schedule's lines "SECONDS BYTES" after a line on stdin, with 20
//                                             ticks per second between them; prints a line for each blob: INDEX MONOTONIC_NS
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static int64_t boot_id;

static int64_t now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec * INT64_C(1000000000) + moment.tv_nsec;
}

static void put(uint8_t *bytes, uint8_t field, int64_t value) {
    bytes[0] = field;
    memcpy(bytes + 1, &value, 8);
}

static void send_message(void *socket, const char *kind, const char *topic, int64_t sequence, int64_t index, size_t size) {
    char name[64];
    snprintf(name, sizeof name, "/rig/%s-%s", kind, topic);
    uint8_t header[36];
    put(header, 0x09, sequence);
    put(header + 9, 0x11, now());
    put(header + 18, 0x19, boot_id);
    put(header + 27, 0x21, 0);
    zmq_send(socket, name, strlen(name) + 1, ZMQ_SNDMORE);
    zmq_send(socket, header, sizeof header, ZMQ_SNDMORE);
    // A navbus.v1.LogEntry with only its stamp, or zeros up to the size of the blob.
    zmq_msg_t payload;
    zmq_msg_init_size(&payload, size);
    memset(zmq_msg_data(&payload), 0, size);
    put(zmq_msg_data(&payload), 0x09, index);
    zmq_msg_send(&payload, socket, 0);
}

static int publish(void *context, const char *endpoint, const char *topic, const char *schedule) {
    void *socket = zmq_socket(context, ZMQ_XPUB);
    int linger = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    if (zmq_bind(socket, endpoint) != 0) return perror("bind"), 1;
    FILE *file = fopen(schedule, "r");
    if (!file) return perror(schedule), 1;
    if (getchar() == EOF) return 1;
    int64_t begin = now(), ticks = 0, blobs = 0;
    double due = 0;
    size_t size = 0;
    int more = fscanf(file, "%lf %zu", &due, &size) == 2;
    // Ticks continue for twenty seconds after the last blob, or until the standard input is closed.
    double end = 1e9;
    for (;;) {
        double elapsed = (double)(now() - begin) / 1e9;
        if (elapsed > end) break;
        if (more && elapsed >= due) {
            blobs++;
            printf("%" PRId64 " %" PRId64 "\n", blobs, now());
            fflush(stdout);
            send_message(socket, "blob", topic, blobs, blobs, size);
            more = fscanf(file, "%lf %zu", &due, &size) == 2;
            if (!more) end = elapsed + 20;
        } else if (elapsed * 20 >= (double)ticks) {
            ticks++;
            send_message(socket, "tick", topic, ticks, now(), 9);
        } else {
            struct pollfd input = {.fd = 0, .events = POLLIN};
            if (poll(&input, 1, 5) > 0 && (input.revents & POLLHUP)) break;
        }
    }
    zmq_close(socket);
    return 0;
}

static int listen_to(void *context, int count, int endpoints, char **endpoint) {
    zmq_pollitem_t *items = calloc((size_t)count + 1, sizeof *items);
    for (int i = 0; i < count; i++) {
        items[i].socket = zmq_socket(context, ZMQ_SUB);
        items[i].events = ZMQ_POLLIN;
        zmq_setsockopt(items[i].socket, ZMQ_SUBSCRIBE, "/rig/", 5);
        for (int j = 0; j < endpoints; j++) zmq_connect(items[i].socket, endpoint[j]);
    }
    items[count].fd = 0;
    items[count].events = ZMQ_POLLIN;
    for (;;) {
        if (zmq_poll(items, count + 1, -1) < 0) break;
        char rest[64];
        if (items[count].revents && read(0, rest, sizeof rest) <= 0) break;
        for (int i = 0; i < count; i++) {
            if (!(items[i].revents & ZMQ_POLLIN)) continue;
            char topic[64] = "";
            zmq_recv(items[i].socket, topic, sizeof topic - 1, 0);
            zmq_msg_t frame;
            zmq_msg_init(&frame);
            int64_t index = 0, parts = 1;
            do {
                zmq_msg_recv(&frame, items[i].socket, 0);
                parts++;
                if (parts == 3 && zmq_msg_size(&frame) >= 9) memcpy(&index, (char *)zmq_msg_data(&frame) + 1, 8);
            } while (zmq_msg_more(&frame));
            zmq_msg_close(&frame);
            if (strncmp(topic, "/rig/tick", 9) == 0) printf("%d %s %" PRId64 " %" PRId64 "\n", i, topic, index, now());
        }
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **words) {
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4096);
    if (count >= 4 && strcmp(words[1], "listen") == 0) return listen_to(context, atoi(words[2]), count - 3, words + 3);
    if (count == 6 && strcmp(words[1], "publish") == 0) {
        boot_id = strtoll(words[5], NULL, 10);
        return publish(context, words[2], words[3], words[4]);
    }
    fprintf(stderr, "usage: deaf_peer listen COUNT ENDPOINT... | publish ENDPOINT TOPIC SCHEDULE BOOT_ID\n");
    return 2;
}
