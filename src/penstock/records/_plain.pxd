# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a plain batch is, for the native twins, without the GIL: exactly one, uncompressed or small and in LZ4, in which nothing at
all is wrong. `_walk_native.accept` and the tail of a log (`penstock.storage._tail_native`) take such batches; any other is looked at
by `penstock.storage.incoming`, which has the words for what is wrong."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from penstock.records._lz4 cimport unpack_lz4
from penstock.records._records cimport *
from penstock.records._vectors cimport Vector

cdef enum:
    HEADER_BYTES = 61
    LZ4 = 3
    TRANSACTIONAL = 0x10
    SMALL_LZ4_BYTES = 65536     # the library unpacks larger ones faster


cdef struct Bounds:
    int64_t earliest    # of timestamps, both included
    int64_t latest
    bint require_keys


cdef inline int read_whole(Cursor* cursor, int32_t index, int64_t base_timestamp, Record* record) noexcept nogil:
    """The next record, whatever a topic may think of it; what is wrong with its bytes otherwise."""
    cdef int error = read_record_start(cursor, record)
    if not error:
        error = skip_headers(cursor, record.header_count)
    if error:
        return error
    if record.offset_delta != index:
        return OFFSET_ORDER
    if sum_overflows(base_timestamp, record.timestamp_delta):
        return TIMESTAMP
    return OK


cdef inline int walk_valid(
    Cursor* cursor, int32_t count, int64_t base_timestamp, Bounds bounds, int32_t* index, int64_t* max_timestamp
) noexcept nogil:
    cdef Record record
    cdef size_t end = cursor.end
    cdef int64_t timestamp
    cdef int error
    for index[0] in range(count):
        cursor.end = end
        error = read_whole(cursor, index[0], base_timestamp, &record)
        if error:
            return error
        if bounds.require_keys and record.key.size < 0:
            return NULL_KEY
        timestamp = base_timestamp + record.timestamp_delta
        if timestamp != -1 and (timestamp < bounds.earliest or timestamp > bounds.latest):
            return TIMESTAMP_RANGE
        if timestamp > max_timestamp[0]:
            max_timestamp[0] = timestamp
    cursor.end = end
    return OK


cdef inline uint64_t big_endian(const uint8_t* data, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int index
    for index in range(size):
        value = value << 8 | data[index]
    return value


cdef inline int unpack_and_walk(
    Cursor* cursor, int attributes, Vector* unpacked, int32_t count, int64_t base_timestamp, Bounds bounds, int64_t* max_timestamp
) noexcept nogil:
    """Whether exactly these records stand behind the header, plain or in LZ4; `max_timestamp` is theirs. Otherwise what is wrong,
    in one number that nobody needs."""
    cdef int32_t index = 0
    cdef int error
    if attributes & LZ4:
        error = unpack_lz4(cursor.data + cursor.position, cursor.end - cursor.position, unpacked)
        if error:
            return error
        cursor.data = <const uint8_t*> unpacked.data
        cursor.position = 0
        cursor.end = unpacked.size
    error = walk_valid(cursor, count, base_timestamp, bounds, &index, max_timestamp)
    return error if error else cursor.position != cursor.end


cdef inline Bounds bounds_at(int64_t now_ms, int64_t before_ms, int64_t after_ms, bint require_keys) noexcept nogil:
    """Timestamps from `before_ms` ago to in `after_ms`."""
    cdef Bounds bounds
    bounds.earliest = -INT64_MAX - 1 if sum_overflows(now_ms, -before_ms) else now_ms - before_ms
    bounds.latest = INT64_MAX if sum_overflows(now_ms, after_ms) else now_ms + after_ms
    bounds.require_keys = require_keys
    return bounds


cdef inline bint has_plain_header(const uint8_t* data, size_t size) noexcept nogil:
    """Whether `size` bytes, 61 at least, are one batch with the header of a plain one; its CRC is checked by the caller."""
    cdef int attributes = <int> big_endian(data + 21, 2)
    cdef int64_t producer_id = <int64_t> big_endian(data + 43, 8)
    cdef int32_t sequence = <int32_t> big_endian(data + 53, 4)
    cdef int32_t count = <int32_t> big_endian(data + 57, 4)
    return (
        big_endian(data, 8) == 0
        and big_endian(data + 8, 4) == <uint64_t> size - 12
        and data[16] == 2
        and (attributes & ~TRANSACTIONAL == 0 or (attributes & ~TRANSACTIONAL == LZ4 and size < SMALL_LZ4_BYTES))
        and count > 0
        and <int32_t> big_endian(data + 23, 4) == count - 1
        # Without a producer id there is no transaction; with one there is a sequence.
        and (sequence >= 0 if producer_id >= 0 else not attributes & TRANSACTIONAL)
    )


cdef inline bint has_plain_records(const uint8_t* data, size_t size, Bounds bounds, Vector* unpacked) noexcept nogil:
    """Whether the records behind a plain header are what it says, within `bounds`."""
    cdef Cursor cursor
    cdef int64_t max_timestamp = -1
    cdef int error
    cursor.data = data
    cursor.position = HEADER_BYTES
    cursor.end = size
    error = unpack_and_walk(
        &cursor,
        <int> big_endian(data + 21, 2),
        unpacked,
        <int32_t> big_endian(data + 57, 4),
        <int64_t> big_endian(data + 27, 8),
        bounds,
        &max_timestamp,
    )
    return not error and max_timestamp == <int64_t> big_endian(data + 35, 8)
