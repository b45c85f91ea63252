# cython: language_level=3
"""Reading and writing at a place in a file, what is small with the GIL held; see `penstock.storage.positioned`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t
from libc.string cimport strerror
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.unistd cimport pwrite

from os import pread as ordinary_read
from os import pwrite as ordinary_write

cdef extern from *:
    """
    #include <sys/uio.h>
    #ifdef RWF_NOWAIT
    static ssize_t read_now(int fd, void* data, size_t size, off_t position) {
        struct iovec into = {data, size};
        return preadv2(fd, &into, 1, position, RWF_NOWAIT);
    }
    #else  /* not a Linux, or an old one: every read is an ordinary one */
    static ssize_t read_now(int fd, void* data, size_t size, off_t position) { return -1; }
    #endif
    """
    ssize_t read_now(int fd, void* data, size_t size, int64_t position)

cdef Py_ssize_t SMALL_BYTES = 65536
cdef int64_t SLOW_NS = 5_000_000
cdef int64_t CAUTIOUS_NS = 1_000_000_000
cdef int64_t cautious_until = 0


cdef int64_t now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t> time.tv_sec * 1_000_000_000 + time.tv_nsec


def read(int fd, Py_ssize_t size, int64_t position):
    cdef bytes data
    cdef ssize_t count
    if 0 <= size <= SMALL_BYTES and position >= 0:  # a negative position has a meaning of its own there
        data = PyBytes_FromStringAndSize(NULL, size)
        count = read_now(fd, PyBytes_AS_STRING(data), size, position)
        if count == size:
            return data
        if count > 0:
            return data[:count]
    # Not in memory, or at the end, or something is wrong: the ordinary call finds out which.
    return ordinary_read(fd, size, position)


def write(int fd, data, int64_t position):
    global cautious_until
    cdef Py_buffer buffer
    cdef ssize_t count
    cdef int error
    cdef int64_t began = now(), ended
    if len(data) > SMALL_BYTES or began < cautious_until:
        return ordinary_write(fd, data, position)
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    count = pwrite(fd, buffer.buf, buffer.len, position)
    error = errno
    PyBuffer_Release(&buffer)
    ended = now()
    if ended - began > SLOW_NS:
        cautious_until = ended + CAUTIOUS_NS
    if count >= 0:
        return count
    if error == EINTR:
        return ordinary_write(fd, data, position)
    raise OSError(error, strerror(error).decode("utf-8", "replace"))
