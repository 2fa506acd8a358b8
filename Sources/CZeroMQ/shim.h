#include <zmq.h>
// A wait on sockets ends from another thread through an eventfd, which Swift's Glibc module leaves out.
#include <sys/eventfd.h>
