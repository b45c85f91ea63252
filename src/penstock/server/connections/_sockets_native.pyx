# cython: language_level=3
"""Receiving and sending what can be received and sent at once, with the GIL held; see `penstock.server.connections.sockets`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EAGAIN, EINTR, errno
from libc.string cimport strerror

cdef extern from "sys/socket.h":
    ssize_t recv(int fd, void* data, size_t size, int flags)
    ssize_t send(int fd, const void* data, size_t size, int flags)
    int MSG_DONTWAIT
    int MSG_NOSIGNAL


cdef enum:
    NOT_NOW = -1


def receive_now(int fd, view):
    cdef Py_buffer buffer
    cdef ssize_t count
    PyObject_GetBuffer(view, &buffer, PyBUF_WRITABLE)
    count = recv(fd, buffer.buf, buffer.len, MSG_DONTWAIT)
    PyBuffer_Release(&buffer)
    return answer(count)


def send_now(int fd, data, int flags):
    cdef Py_buffer buffer
    cdef ssize_t count
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    count = send(fd, buffer.buf, buffer.len, flags | MSG_DONTWAIT | MSG_NOSIGNAL)
    PyBuffer_Release(&buffer)
    return answer(count)


cdef object answer(ssize_t count):
    cdef int error = errno
    if count >= 0:
        return count
    if error == EAGAIN or error == EINTR:
        return NOT_NOW
    raise OSError(error, strerror(error).decode("utf-8", "replace"))
