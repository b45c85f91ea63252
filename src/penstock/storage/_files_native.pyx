# cython: language_level=3
"""Small writes with the GIL held; see `penstock.storage.writing`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t
from libc.string cimport strerror
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.unistd cimport pwrite

cdef enum:
    NOT_NOW = -1

cdef int64_t SLOW_NS = 5_000_000
cdef int64_t CAUTIOUS_NS = 1_000_000_000
cdef int64_t cautious_until = 0


cdef int64_t now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t> time.tv_sec * 1_000_000_000 + time.tv_nsec


def write_now(int fd, data, int64_t position):
    global cautious_until
    cdef Py_buffer buffer
    cdef ssize_t count
    cdef int error
    cdef int64_t began = now(), ended
    if began < cautious_until:
        return NOT_NOW
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
        return NOT_NOW
    raise OSError(error, strerror(error).decode("utf-8", "replace"))
