// navbus-bench's counterpart: what a good C programmer writes with libzmq for the patterns that NavBus offers.
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

/// What the command line asks for. Sizes in bytes, rates in hertz.
struct settings {
    const char *role;
    const char *transport;  ///< ipc, tcp or inproc
    const char *folder;     ///< sockets, port files and samples lie here
    const char *name;       ///< of the files this process writes
    long size;
    long count;             ///< measured messages
    long warmup;            ///< messages before them
    long rate;              ///< 0 is as fast as it goes
    long subscribers;
    long window;            ///< credit of a stream, messages
    long hwm;
    long threads;           ///< of inproc: 1 or 2
};

/// The header frame: the layout of `navbus.v1.Header`, four fixed64 fields with their tags.
enum { HEADER_SIZE = 36 };

struct message {
    zmq_msg_t topic, header, payload;
};

/// Nanoseconds of CLOCK_MONOTONIC.
int64_t now_ns(void);
/// Sleeps until `deadline`, nanoseconds of CLOCK_MONOTONIC.
void sleep_until(int64_t deadline);
/// Ends the program with what failed and libzmq's reason.
_Noreturn void die(const char *what);
/// Ends the program when `result` is negative.
void check(int result, const char *what);

/// A context with libzmq's defaults.
void *make_context(void);
/// A socket with the settings' high-water marks.
void *make_socket(void *context, int type, const struct settings *settings);
/// Binds at `name`; with tcp the port is left in a file for `connect_to`.
void bind_to(void *socket, const struct settings *settings, const char *name);
/// Connects to who binds at `name`, now or within ten seconds.
void connect_to(void *socket, const struct settings *settings, const char *name);

/// Sends topic (its NUL included), header and payload as three frames.
void publish(void *socket, const char *topic, int64_t stamp, const void *payload, size_t size);
void message_init(struct message *message);
/// Receives three frames.
void receive(void *socket, struct message *message);
/// The stamp of a received header.
int64_t stamp_of(struct message *message);
/// Writes a header.
void write_header(unsigned char header[HEADER_SIZE], int64_t stamp);

/// Writes `count` samples, 64-bit nanoseconds, to `<folder>/<name>.<kind>`.
void write_samples(const struct settings *settings, const char *kind, const int64_t *samples, long count);

int run_ping(const struct settings *settings);
int run_echo(const struct settings *settings);
int run_inproc(const struct settings *settings);
int run_pub(const struct settings *settings);
int run_sub(const struct settings *settings);
int run_server(const struct settings *settings);
int run_unary(const struct settings *settings);
int run_stream(const struct settings *settings);

#endif
