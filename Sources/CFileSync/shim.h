// Of the C library, which declares it for _GNU_SOURCE only: waits until a whole file system is on its disk.
int syncfs(int fd);
