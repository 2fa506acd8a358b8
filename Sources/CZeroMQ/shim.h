#include <zmq.h>
// A wait on sockets ends from another thread through an eventfd, and many sockets share one descriptor through epoll;
// Swift's Glibc module leaves both out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
// prctl takes variable arguments, which Swift cannot pass.
#include <sys/prctl.h>

/// Names the calling thread for debuggers and top, at most 15 bytes of `name`.
static inline void navbus_name_thread(const char *name) { prctl(PR_SET_NAME, name); }
