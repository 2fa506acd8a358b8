#include <zmq.h>
// A wait on sockets ends from another thread through an eventfd, and many sockets share one descriptor through epoll;
// Swift's Glibc module leaves both out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
