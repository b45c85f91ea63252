# cython: language_level=3, embedsignature=True
"""What each sent record passes, in C; see `_sent_pure` for what it means.

Counting needs no lock here: the GIL is not given up between reading a number and writing it.
"""

import time
from collections import deque

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    ctypedef object (*newfunc)(PyTypeObject *, object, void *)
    newfunc new_of "Py_TYPE_NEW" (PyTypeObject *)
    void PyObject_GC_Track(object)
    void PyObject_GC_UnTrack(object)
    bint PyObject_GC_IsTracked(object)

cdef extern from *:
    """
    #define Py_TYPE_NEW(type) ((type)->tp_new)
    """

from penstock.client.api._sent_pure import waiting as _waiting, metadata_of
from penstock.client.api._sent_pure import ANY_PARTITION, BURST, KEPT_BYTES, OVERHEAD_BYTES
from penstock.client.api.records import RecordMetadata

cdef list waiting = _waiting
cdef object monotonic = time.monotonic
cdef object any_partition = ANY_PARTITION
cdef Py_ssize_t kept_bytes = KEPT_BYTES
cdef Py_ssize_t overhead_bytes = OVERHEAD_BYTES
cdef int burst_records = BURST
cdef object metadata_type = RecordMetadata
cdef tuple nothing = ()

cdef class Sends


cdef class Wave:
    cdef readonly long sent, resolved

    def begin(self):
        self.sent += 1

    def take_back(self):
        self.sent -= 1


cdef class Report:
    cdef public object _report, _error
    cdef public object _callbacks
    cdef public object _owner, _callback
    cdef Wave _wave

    def __init__(self, owner=None, callback=None, Wave wave=None):
        self._owner = owner
        self._callback = callback
        self._wave = wave

    def done(self):
        return self._report is not None or self._error is not None

    def begin(self, Sends sender not None):
        self._wave = sender.wave
        self._wave.sent += 1
        return self._wave

    def __call__(self, error, message):
        cdef Sends owner = <Sends> self._owner
        cdef bint heard = self._callback is not None or owner.hears_all
        if owner._serves_inline and (heard or self._callbacks is not None):
            owner.deferred.append((self, error, message))
            return
        if error is not None or heard:
            self._ended(error, message)
        else:
            if len(message) > kept_bytes:
                message.set_value(None)
            self._report = message
            if self._callbacks is not None or len(waiting):
                self._tell()
        self._wave.resolved += 1

    def _track(self):
        if not PyObject_GC_IsTracked(self):
            PyObject_GC_Track(self)

    def _metadata(self):
        if type(self._report) is not metadata_type:
            self._report = metadata_of(self._report)
        return self._report


cdef class Sends:
    cdef public Wave wave
    cdef public dict known_until
    cdef public bint _plain, _idle, hears_all, _serves_inline
    cdef public int _burst
    cdef public object deferred
    cdef public Py_ssize_t _largest
    cdef public object _make, _produce, _work

    def __init__(self):
        self.wave = Wave()
        self.known_until = {}
        self.deferred = deque()

    def send(self, topic, value=None, key=None, partition=None, headers=None, timestamp=None, callback=None):
        """Queue a record and return its future. Blocks for `max.block.ms` at most, for the topic's metadata
        or for room."""
        cdef Py_ssize_t size = overhead_bytes
        cdef Wave wave
        cdef Report future
        if (
            self._plain
            and headers is None
            and partition is None
            and timestamp is None
            and (value is None or type(value) is bytes)
            and (key is None or type(key) is bytes)
            and type(topic) is str
        ):
            if value is not None:
                size += len(<bytes> value)
            if key is not None:
                size += len(<bytes> key)
            until = self.known_until.get(topic)
            now = monotonic()
            if size <= self._largest and until is not None and until > now:
                wave = self.wave
                future = new_of(<PyTypeObject *> self._make)(<PyTypeObject *> self._make, nothing, NULL)
                future._owner = self
                future._callback = callback
                future._wave = wave
                if callback is None:
                    # It can be no part of a cycle until it has an error or a callback. A million futures
                    # under way would be walked by the collector again and again.
                    PyObject_GC_UnTrack(future)
                wave.sent += 1
                try:
                    self._produce(topic, value, key, any_partition, future)
                except Exception:
                    wave.sent -= 1
                else:
                    if self._idle:
                        self._work.set()
                    self._burst += 1
                    if self._burst >= burst_records:
                        self._serve_burst(now)
                    return future
        return self._send_long(topic, value, key, partition, headers, timestamp, callback)
