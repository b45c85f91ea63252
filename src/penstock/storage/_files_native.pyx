# cython: language_level=3
"""Writing at a place in a file, small writes with the GIL held; see `penstock.storage.writing`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t
from libc.string cimport strerror
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.unistd cimport pwrite

from os import pwrite as ordinary_write

cdef Py_ssize_t SMALL_BYTES = 65536
cdef int64_t SLOW_NS = 5_000_000
cdef int64_t CAUTIOUS_NS = 1_000_000_000
cdef int64_t cautious_until = 0


cdef int64_t now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t> time.tv_sec * 1_000_000_000 + time.tv_nsec


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
