# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batches validated without the GIL: the twin of `_walk_pure`, which says what it means."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from penstock.records._plain cimport *
from penstock.records._records cimport *
from penstock.records._vectors cimport Vector

from crc32c import crc32c

from penstock.records._walk_pure import check_count, check_end
from penstock.records.batch import HEADER, BatchHeader, CorruptBatch

cdef enum:
    # A walk of a few microseconds keeps the GIL: to get it back among many connections would take longer than that.
    KEEP_GIL_BYTES = 65536


def validate(
    payload,
    count,
    *,
    int64_t base_timestamp=0,
    bint require_keys=False,
    int64_t earliest=-INT64_MAX - 1,
    int64_t latest=INT64_MAX,
):
    """Raise `CorruptBatch` unless `payload` (decompressed) is exactly `count` records such as a client may send. The largest
    timestamp among them."""
    cdef Py_buffer view
    cdef Cursor cursor
    cdef Bounds bounds
    cdef int32_t index = 0, wanted
    cdef int64_t max_timestamp = -1
    cdef int error
    if count == 0:
        raise CorruptBatch("a batch without records")
    bounds.earliest = earliest
    bounds.latest = latest
    bounds.require_keys = require_keys
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        check_count(count, view.len)
        wanted = count
        cursor.data = <const uint8_t*> view.buf
        cursor.position = 0
        cursor.end = view.len
        if view.len < KEEP_GIL_BYTES:
            error = walk_valid(&cursor, wanted, base_timestamp, bounds, &index, &max_timestamp)
        else:
            with nogil:
                error = walk_valid(&cursor, wanted, base_timestamp, bounds, &index, &max_timestamp)
        check_end(error, index, cursor.end - cursor.position)
    finally:
        PyBuffer_Release(&view)
    return max_timestamp


cdef struct Refusal:
    int32_t index
    int32_t reason
    int64_t timestamp


cdef struct Refusals:
    Refusal* found
    int32_t most        # that `found` has room for
    int32_t total       # may be more than `most`


cdef int walk_refusals(
    Cursor* cursor, int32_t count, int64_t base_timestamp, Bounds bounds, int32_t* index, Refusals* refused
) noexcept nogil:
    cdef Record record
    cdef size_t end = cursor.end
    cdef int64_t timestamp
    cdef int error, reason
    for index[0] in range(count):
        cursor.end = end
        error = read_whole(cursor, index[0], base_timestamp, &record)
        if error:
            return error
        timestamp = base_timestamp + record.timestamp_delta
        if bounds.require_keys and record.key.size < 0:
            reason = NULL_KEY
        elif timestamp != -1 and (timestamp < bounds.earliest or timestamp > bounds.latest):
            reason = TIMESTAMP_RANGE
        else:
            continue
        if refused.total < refused.most:
            refused.found[refused.total].index = index[0]
            refused.found[refused.total].reason = reason
            refused.found[refused.total].timestamp = timestamp
        refused.total += 1
    cursor.end = end
    return OK


def refusals(
    payload,
    count,
    int32_t most,
    *,
    int64_t base_timestamp=0,
    bint require_keys=False,
    int64_t earliest=-INT64_MAX - 1,
    int64_t latest=INT64_MAX,
):
    """Every record that a topic refuses for want of a key or for its timestamp: how many there are, and of the first `most` the
    index, the reason and the timestamp. Raises `CorruptBatch` when the payload is not `count` whole records."""
    cdef Py_buffer view
    cdef Cursor cursor
    cdef Bounds bounds
    cdef Refusals refused
    cdef int32_t index = 0, wanted, place
    cdef int error
    bounds.earliest = earliest
    bounds.latest = latest
    bounds.require_keys = require_keys
    refused.found = NULL
    refused.total = 0
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        check_count(count, view.len)
        wanted = count
        refused.most = min(most, wanted)
        refused.found = <Refusal*> malloc((refused.most + 1) * sizeof(Refusal))
        if refused.found is NULL:
            raise MemoryError
        cursor.data = <const uint8_t*> view.buf
        cursor.position = 0
        cursor.end = view.len
        with nogil:
            error = walk_refusals(&cursor, wanted, base_timestamp, bounds, &index, &refused)
        check_end(error, index, cursor.end - cursor.position)
        found = [
            (refused.found[place].index, refused.found[place].reason, refused.found[place].timestamp)
            for place in range(min(refused.total, refused.most))
        ]
        return refused.total, found
    finally:
        free(refused.found)
        PyBuffer_Release(&view)


cdef object make = tuple.__new__  # of a NamedTuple, without the call of Python that its own `_make` is


def accept(batch, int64_t max_bytes, bint require_keys, int64_t now_ms, int64_t before_ms, int64_t after_ms):
    """The header of a batch as nearly every producer sends it, if nothing at all is wrong with it: exactly one, uncompressed or
    small and in LZ4, whole, with the timestamps of its records. None of any other, good or bad: `penstock.storage.incoming` looks
    closer then, and has the words for what is wrong."""
    cdef Py_buffer view
    cdef Bounds bounds = bounds_at(now_ms, before_ms, after_ms, require_keys)
    cdef const uint8_t* data
    cdef bint is_good
    cdef Vector unpacked
    unpacked.data = NULL
    unpacked.size = unpacked.capacity = 0
    PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*> view.buf
        if not HEADER_BYTES <= view.len <= max_bytes or not has_plain_header(data, view.len):
            return None
        if crc32c(batch[21:]) != big_endian(data + 17, 4):
            return None
        if view.len < KEEP_GIL_BYTES:
            is_good = has_plain_records(data, view.len, bounds, &unpacked)
        else:
            with nogil:
                is_good = has_plain_records(data, view.len, bounds, &unpacked)
        return make(BatchHeader, HEADER.unpack_from(batch)) if is_good else None
    finally:
        free(unpacked.data)
        PyBuffer_Release(&view)
