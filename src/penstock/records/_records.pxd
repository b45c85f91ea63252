# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reading records for the native twins, without the GIL; `_walk_pure` has the words for every refusal.

Input is hostile: each byte is read only after its position was compared with the end of what holds it, and sizes are compared
by subtraction, so that nothing overflows.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t

# The same numbers as in _walk_pure.REASONS.
cdef enum:
    OK = 0
    VARINT_ENDS = 1
    VARINT_LARGE = 2
    RECORD_SIZE = 3
    NO_ATTRIBUTES = 4
    FIELD_SIZE = 5
    HEADER_COUNT = 6
    HEADER_KEY = 7
    RECORD_LENGTH = 8
    TIMESTAMP = 9
    OFFSET = 10
    OFFSET_ORDER = 11
    NULL_KEY = 12
    TIMESTAMP_RANGE = 13


cdef struct Cursor:
    const uint8_t* data
    size_t position
    size_t end


cdef struct Field:
    const uint8_t* data
    int32_t size        # -1 is null


cdef struct Record:
    int64_t timestamp_delta
    int32_t offset_delta
    Field key
    Field value
    int32_t header_count
    size_t start        # where its length begins
    size_t rest         # where what follows its timestamp begins


cdef inline int read_varint(Cursor* cursor, int bits, int64_t* value) noexcept nogil:
    """A zigzag varint of 32 or 64 bits. The last byte may hold only the bits that are left of the type."""
    cdef uint64_t zigzag = 0
    cdef uint64_t byte
    cdef int shift = 0
    while shift < bits:
        if cursor.position >= cursor.end:
            return VARINT_ENDS
        byte = cursor.data[cursor.position]
        cursor.position += 1
        if bits - shift < 7 and (byte & 0x7F) >> (bits - shift) and byte < 0x80:
            return VARINT_LARGE
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            value[0] = <int64_t> (zigzag >> 1) ^ -<int64_t> (zigzag & 1)
            return OK
        shift += 7
    return VARINT_LARGE


cdef inline int read_int32(Cursor* cursor, int32_t* value) noexcept nogil:
    cdef int64_t wide = 0
    cdef int error = read_varint(cursor, 32, &wide)
    value[0] = <int32_t> wide
    return error


cdef inline int read_field(Cursor* cursor, Field* field) noexcept nogil:
    cdef int error
    field.data = NULL
    error = read_int32(cursor, &field.size)
    if error:
        return error
    if field.size == -1:
        return OK
    if field.size < 0 or <size_t> field.size > cursor.end - cursor.position:
        return FIELD_SIZE
    field.data = cursor.data + cursor.position
    cursor.position += field.size
    return OK


cdef inline int read_record_start(Cursor* cursor, Record* record) noexcept nogil:
    """All of a record up to its headers. `cursor.end` becomes the record's own end."""
    cdef int32_t size = 0
    cdef int error
    record.start = cursor.position
    error = read_int32(cursor, &size)
    if error:
        return error
    if size < 0 or <size_t> size > cursor.end - cursor.position:
        return RECORD_SIZE
    cursor.end = cursor.position + size
    if size == 0:
        return NO_ATTRIBUTES
    cursor.position += 1
    error = read_varint(cursor, 64, &record.timestamp_delta)
    record.rest = cursor.position
    if not error:
        error = read_int32(cursor, &record.offset_delta)
    if not error:
        error = read_field(cursor, &record.key)
    if not error:
        error = read_field(cursor, &record.value)
    if not error:
        error = read_int32(cursor, &record.header_count)
    if error:
        return error
    if record.header_count < 0 or <size_t> record.header_count > cursor.end - cursor.position:
        return HEADER_COUNT
    return OK


cdef inline int read_header(Cursor* cursor, Field* key, Field* value) noexcept nogil:
    cdef int error = read_field(cursor, key)
    if error:
        return error
    if key.size < 0:
        return HEADER_KEY
    return read_field(cursor, value)


cdef inline int skip_headers(Cursor* cursor, int32_t count) noexcept nogil:
    """Look at the headers of one record, which end where it ends."""
    cdef Field key, value
    cdef int error
    cdef int32_t index
    for index in range(count):
        error = read_header(cursor, &key, &value)
        if error:
            return error
    return OK if cursor.position == cursor.end else RECORD_LENGTH


cdef inline bint sum_overflows(int64_t left, int64_t right) noexcept nogil:
    if right >= 0:
        return left > INT64_MAX - right
    return left < -INT64_MAX - 1 - right
