// The reference implementation for navbus-bench: the patterns of NavBus in idiomatic C on libzmq.
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

/// The settings from the command line. Sizes in bytes, rates in hertz.
struct settings {
    const char *role;
    const char *transport;  ///< ipc, tcp or inproc
    const char *folder;     ///< folder of sockets, port files and samples
    const char *name;       ///< name of the files that this process writes
    long size;
    long count;             ///< measured messages
    long warmup;            ///< messages before the measured ones
    long rate;              ///< 0 is as fast as possible
    long subscribers;
    long window;            ///< credit of a stream, messages
    long hwm;
    long threads;           ///< number of threads of inproc: 1 or 2
};

/// The header frame: the layout of `navbus.v1.Header`, four fixed64 fields with their tags.
enum { HEADER_SIZE = 36 };

struct message {
    zmq_msg_t topic, header, payload;
};

/// Returns the time of CLOCK_MONOTONIC, ns.
int64_t now_ns(void);
/// Sleeps until `deadline`, ns of CLOCK_MONOTONIC.
void sleep_until(int64_t deadline);
/// Ends the program with a message: `what` failed, and libzmq's reason.
_Noreturn void die(const char *what);
/// Ends the program if `result` is negative.
void check(int result, const char *what);

/// Creates a context with libzmq's defaults.
void *make_context(void);
/// Creates a socket with the high-water marks of the settings.
void *make_socket(void *context, int type, const struct settings *settings);
/// Binds to `name`; with tcp the port is written to a file for `connect_to`.
void bind_to(void *socket, const struct settings *settings, const char *name);
/// Connects to the socket that is bound to `name`; waits up to ten seconds for it.
void connect_to(void *socket, const struct settings *settings, const char *name);

/// Sends topic (with its NUL), header and payload as three frames.
void publish(void *socket, const char *topic, int64_t stamp, const void *payload, size_t size);
void message_init(struct message *message);
/// Receives three frames.
void receive(void *socket, struct message *message);
/// Returns the stamp of a received header.
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
