// A process's dealings with the kernel that no Swift may do: signal handlers, and standard streams as C has them.
#ifndef CPROCESS_H
#define CPROCESS_H

#include <sys/types.h>

/// Bytes of the name of a socket of `cprocess_notify_socket`, its final NUL included.
enum { CPROCESS_NOTIFY_NAME = 16 };

/// Installs a handler for the signals of a crash (SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV). It writes the signal, the address,
/// the thread and the return addresses to stderr, and lets the signal end the process as if there were no handler, within a
/// second even where stderr does not take anything. It replaces the Swift runtime's own handler, which starts another program that
/// takes up to minutes while the process keeps its lock, unless SWIFT_BACKTRACE asks for that one.
void cprocess_report_crashes(void);

/// Has signals counted by an eventfd from now on instead of ending the process: readable from the first one on, also from one that comes
/// before anybody looks. A later call takes over from an earlier one. Returns the descriptor, or -1 with errno.
int cprocess_watch_signals(const int *signals, int count);

/// Has a file, or a folder that is empty once the other paths are removed, removed when SIGINT, SIGTERM or SIGHUP ends the process. Returns
/// the place for `cprocess_keep_on_signal`, or -1 when there is none left. A signal that is ignored or has a handler stays so.
int cprocess_remove_on_signal(const char *path);

/// Ends what `cprocess_remove_on_signal` began.
void cprocess_keep_on_signal(int place);

/// Has the process killed when the thread that started it ends, and with it its parent.
void cprocess_die_with_parent(void);

/// Makes sure that descriptors 0, 1 and 2 are taken, so that no file that is opened later becomes one of them. What was closed fails
/// with EBADF on use, as before.
void cprocess_hold_standard_streams(void);

/// Writes out what C's stdout still holds. Returns 0, or the errno of a write that has failed since the start.
int cprocess_flush_output(void);

/// Returns the commit that this was built from, with `-dirty` for one with changes; "" where the builder did not say.
const char *cprocess_commit(void);

/// Tells the supervisor whose socket `NOTIFY_SOCKET` names, as sd_notify(3) does; nothing without one. Never waits.
void cprocess_notify(const char *state);

/// A socket to which processes tell that they live, as sd_notify(3) does: datagrams, non-blocking, close-on-exec, under a name of its own
/// that `NOTIFY_SOCKET` may hold. Returns the descriptor, or -1 with errno.
int cprocess_notify_socket(char name[CPROCESS_NOTIFY_NAME]);

/// Takes one datagram. Returns the process group of a sender that said `WATCHDOG=1`, 0 for anything else, -1 when there is none.
pid_t cprocess_notify_read(int socket);

#endif
