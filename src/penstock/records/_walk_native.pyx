# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The walk over a batch's records without the GIL; see `_walk_pure` and `_keys_pure` for what it means, and for the words of
every refusal.

Input is hostile: each byte is read only after its position was compared with the end of what holds it, and sizes are compared
by subtraction, so that nothing overflows. Memory grows with what was read, never with what a number in the input promises.
"""

from cpython.buffer cimport PyBuffer_FillInfo, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from crc32c import crc32c

from penstock.records._keys_pure import SECRET_BYTES, Sifted, most_keys
from penstock.records._walk_pure import BinaryColumn, Columns, HeaderColumns, check_count, refusal, trailing
from penstock.records.batch import HEADER, BatchHeader, CorruptBatch

# The same numbers as in _walk_pure.REASONS; the last is our own.
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
    NO_MEMORY = 100

cdef enum:
    SMALLEST_CAPACITY = 256
    HEADER_BYTES = 61
    TRANSACTIONAL = 0x10
    # A walk of a few microseconds keeps the GIL: to get it back among many connections would take longer than that.
    KEEP_GIL_BYTES = 65536


cdef struct Vector:
    char* data
    size_t size
    size_t capacity


cdef struct Binary:
    Vector offsets      # int32, row count + 1
    Vector data
    Vector valid        # one byte a row; packed to bits when taken
    size_t nulls


cdef struct Mark:
    size_t rows
    size_t end
    size_t nulls


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


# ---- memory ---------------------------------------------------------------------------------------------------------

cdef inline int reserve(Vector* vector, size_t more) noexcept nogil:
    cdef size_t wanted = vector.size + more
    cdef size_t capacity
    cdef char* moved
    if wanted <= vector.capacity:
        return OK
    capacity = vector.capacity * 2
    if capacity < wanted:
        capacity = wanted
    if capacity < SMALLEST_CAPACITY:
        capacity = SMALLEST_CAPACITY
    moved = <char*> realloc(vector.data, capacity)
    if moved == NULL:
        return NO_MEMORY
    vector.data = moved
    vector.capacity = capacity
    return OK


cdef inline int push_int32(Vector* vector, int32_t value) noexcept nogil:
    if reserve(vector, 4):
        return NO_MEMORY
    memcpy(vector.data + vector.size, &value, 4)
    vector.size += 4
    return OK


cdef inline int push_int64(Vector* vector, int64_t value) noexcept nogil:
    if reserve(vector, 8):
        return NO_MEMORY
    memcpy(vector.data + vector.size, &value, 8)
    vector.size += 8
    return OK


cdef inline int push_field(Binary* column, Field field) noexcept nogil:
    """A row. Columns stay below 2 GiB because `add` compares the payloads' sizes first."""
    if column.offsets.size == 0 and push_int32(&column.offsets, 0):
        return NO_MEMORY
    if field.size > 0:
        if reserve(&column.data, field.size):
            return NO_MEMORY
        memcpy(column.data.data + column.data.size, field.data, field.size)
        column.data.size += field.size
    if reserve(&column.valid, 1):
        return NO_MEMORY
    column.valid.data[column.valid.size] = field.size >= 0
    column.valid.size += 1
    column.nulls += field.size < 0
    return push_int32(&column.offsets, <int32_t> column.data.size)


cdef inline Mark mark(Binary* column) noexcept nogil:
    cdef Mark here
    here.rows = column.valid.size
    here.end = column.data.size
    here.nulls = column.nulls
    return here


cdef inline void rewind(Binary* column, Mark here) noexcept nogil:
    column.valid.size = here.rows
    column.data.size = here.end
    column.nulls = here.nulls
    if column.offsets.size:
        column.offsets.size = 4 * (here.rows + 1)


cdef class Chunk:
    """Memory that a vector has handed over, readable through the buffer protocol and freed with this object."""

    cdef char* data
    cdef Py_ssize_t size

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 1, flags)

    def __len__(self):
        return self.size


cdef Chunk hand_over(Vector* vector):
    """The vector's memory as an object; the vector is empty and has room for as much again."""
    cdef Chunk chunk = Chunk.__new__(Chunk)
    cdef size_t likely = vector.size
    if reserve(vector, 1):  # so that the pointer is never NULL
        raise MemoryError
    chunk.data = vector.data
    chunk.size = vector.size
    vector.data = NULL
    vector.size = 0
    vector.capacity = 0
    if likely:
        reserve(vector, likely)
    return chunk


cdef object take_binary(Binary* column):
    cdef size_t rows = column.valid.size
    cdef size_t index
    cdef Vector bits
    if column.offsets.size == 0 and push_int32(&column.offsets, 0):
        raise MemoryError
    validity = None
    if column.nulls:
        bits.data = NULL
        bits.size = bits.capacity = 0
        if reserve(&bits, (rows + 7) // 8):
            raise MemoryError
        bits.size = (rows + 7) // 8
        memset(bits.data, 0, bits.size)
        for index in range(rows):
            bits.data[index >> 3] |= column.valid.data[index] << (index & 7)
        validity = hand_over(&bits)
        free(bits.data)
    column.valid.size = 0
    column.nulls = 0
    return BinaryColumn(hand_over(&column.offsets), hand_over(&column.data), validity)


cdef void release(Binary* column) noexcept:
    free(column.offsets.data)
    free(column.data.data)
    free(column.valid.data)


# ---- reading --------------------------------------------------------------------------------------------------------

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


cdef inline int read_headers(Cursor* cursor, int32_t count, Binary* keys, Binary* values) noexcept nogil:
    """The headers of one record into `keys` and `values`, or nowhere when these are NULL."""
    cdef Field key, value
    cdef int error
    cdef int32_t index
    for index in range(count):
        error = read_header(cursor, &key, &value)
        if error:
            return error
        if keys != NULL and (push_field(keys, key) or push_field(values, value)):
            return NO_MEMORY
    if cursor.position != cursor.end:
        return RECORD_LENGTH
    return OK


cdef inline bint sum_overflows(int64_t left, int64_t right) noexcept nogil:
    if right >= 0:
        return left > INT64_MAX - right
    return left < -INT64_MAX - 1 - right


cdef struct Bounds:
    int64_t earliest    # of timestamps, both included
    int64_t latest
    bint require_keys


cdef int walk_valid(
    Cursor* cursor, int32_t count, int64_t base_timestamp, Bounds bounds, int32_t* index, int64_t* max_timestamp
) noexcept nogil:
    cdef Record record
    cdef size_t end = cursor.end
    cdef int64_t timestamp
    cdef int error
    for index[0] in range(count):
        cursor.end = end
        error = read_record_start(cursor, &record)
        if not error:
            error = read_headers(cursor, record.header_count, NULL, NULL)
        if error:
            return error
        if record.offset_delta != index[0]:
            return OFFSET_ORDER
        if sum_overflows(base_timestamp, record.timestamp_delta):
            return TIMESTAMP
        if bounds.require_keys and record.key.size < 0:
            return NULL_KEY
        timestamp = base_timestamp + record.timestamp_delta
        if timestamp != -1 and (timestamp < bounds.earliest or timestamp > bounds.latest):
            return TIMESTAMP_RANGE
        if timestamp > max_timestamp[0]:
            max_timestamp[0] = timestamp
    cursor.end = end
    return OK


cdef object finish(int error, int32_t index, Cursor* cursor):
    if error == NO_MEMORY:
        raise MemoryError
    if error:
        raise refusal(index, error)
    if cursor.position != cursor.end:
        raise trailing(cursor.end - cursor.position)


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
        finish(error, index, &cursor)
    finally:
        PyBuffer_Release(&view)
    return max_timestamp


cdef inline uint64_t big_endian(const uint8_t* data, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int index
    for index in range(size):
        value = value << 8 | data[index]
    return value


cdef object make = tuple.__new__  # of a NamedTuple, without the call of Python that its own `_make` is


def accept(batch, int64_t max_bytes, bint require_keys, int64_t now_ms, int64_t before_ms, int64_t after_ms):
    """The header of a batch as nearly every producer sends it, if nothing at all is wrong with it: exactly one, uncompressed,
    whole, with the timestamps of its records. None of any other, good or bad: `penstock.storage.incoming` looks closer then,
    and has the words for what is wrong."""
    cdef Py_buffer view
    cdef Cursor cursor
    cdef Bounds bounds
    cdef const uint8_t* data
    cdef int64_t base_timestamp, producer_id, max_timestamp = -1, stated
    cdef int32_t count, sequence, index = 0
    cdef int attributes, error
    cdef bint is_plain
    bounds.earliest = -INT64_MAX - 1 if sum_overflows(now_ms, -before_ms) else now_ms - before_ms
    bounds.latest = INT64_MAX if sum_overflows(now_ms, after_ms) else now_ms + after_ms
    bounds.require_keys = require_keys
    PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE)
    try:
        if not HEADER_BYTES <= view.len <= max_bytes:
            return None
        data = <const uint8_t*> view.buf
        attributes = <int> big_endian(data + 21, 2)
        base_timestamp = <int64_t> big_endian(data + 27, 8)
        stated = <int64_t> big_endian(data + 35, 8)
        producer_id = <int64_t> big_endian(data + 43, 8)
        sequence = <int32_t> big_endian(data + 53, 4)
        count = <int32_t> big_endian(data + 57, 4)
        is_plain = (
            big_endian(data, 8) == 0
            and big_endian(data + 8, 4) == <uint64_t> view.len - 12
            and data[16] == 2
            and attributes & ~TRANSACTIONAL == 0
            and count > 0
            and <int32_t> big_endian(data + 23, 4) == count - 1
            # Without a producer id there is no transaction; with one there is a sequence.
            and (sequence >= 0 if producer_id >= 0 else attributes == 0)
        )
        if not is_plain or crc32c(batch[21:]) != big_endian(data + 17, 4):
            return None
        cursor.data = data
        cursor.position = HEADER_BYTES
        cursor.end = view.len
        if view.len < KEEP_GIL_BYTES:
            error = walk_valid(&cursor, count, base_timestamp, bounds, &index, &max_timestamp)
        else:
            with nogil:
                error = walk_valid(&cursor, count, base_timestamp, bounds, &index, &max_timestamp)
        if error or cursor.position != cursor.end or max_timestamp != stated:
            return None
        return make(BatchHeader, HEADER.unpack_from(batch))
    finally:
        PyBuffer_Release(&view)


cdef class ColumnBuilder:
    """Gathers the records of batch after batch into columns. A batch that is refused leaves nothing behind."""

    cdef bint want_keys, want_values, want_headers
    cdef Vector offsets, timestamps, types, lists
    cdef Binary key, value, header_key, header_value
    cdef readonly Py_ssize_t size_bytes

    def __init__(self, *, bint keys=True, bint values=True, bint headers=True):
        self.want_keys = keys
        self.want_values = values
        self.want_headers = headers

    def __dealloc__(self):
        free(self.offsets.data)
        free(self.timestamps.data)
        free(self.types.data)
        free(self.lists.data)
        release(&self.key)
        release(&self.value)
        release(&self.header_key)
        release(&self.header_value)

    @property
    def rows(self):
        return self.offsets.size // 8

    def add(
        self,
        payload,
        count,
        int64_t base_offset,
        int64_t base_timestamp,
        log_append_time=None,
        int64_t lower=0,
        int64_t upper=INT64_MAX,
    ):
        """Add those of the `count` records in `payload` (decompressed) whose offset is at least `lower` and below `upper`."""
        cdef Py_buffer view
        cdef Cursor cursor
        cdef int32_t index = 0, wanted
        cdef bint appended = log_append_time is not None
        cdef int64_t append_time = log_append_time if appended else 0
        cdef int error
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            if self.size_bytes + view.len > INT32_MAX:
                raise OverflowError("the columns would exceed what Arrow can address: take them first")
            check_count(count, view.len)
            wanted = count
            cursor.data = <const uint8_t*> view.buf
            cursor.position = 0
            cursor.end = view.len
            self._add(&cursor, wanted, base_offset, base_timestamp, appended, append_time, lower, upper)
            self.size_bytes += view.len
        finally:
            PyBuffer_Release(&view)

    cdef object _add(
        self, Cursor* cursor, int32_t count, int64_t base_offset, int64_t base_timestamp, bint appended,
        int64_t append_time, int64_t lower, int64_t upper,
    ):
        cdef size_t rows = self.offsets.size // 8
        cdef Mark key = mark(&self.key), value = mark(&self.value)
        cdef Mark header_key = mark(&self.header_key), header_value = mark(&self.header_value)
        cdef int32_t index = 0
        cdef int error
        with nogil:
            error = self._walk(
                cursor, count, base_offset, base_timestamp, appended, append_time, lower, upper, &index
            )
        try:
            finish(error, index, cursor)
        except BaseException:
            self.offsets.size = self.timestamps.size = 8 * rows
            self.types.size = 4 * rows
            if self.lists.size:
                self.lists.size = 4 * (rows + 1)
            rewind(&self.key, key)
            rewind(&self.value, value)
            rewind(&self.header_key, header_key)
            rewind(&self.header_value, header_value)
            raise

    cdef int _walk(
        self, Cursor* cursor, int32_t count, int64_t base_offset, int64_t base_timestamp, bint appended,
        int64_t append_time, int64_t lower, int64_t upper, int32_t* index,
    ) noexcept nogil:
        cdef Record record
        cdef size_t end = cursor.end
        cdef int64_t offset, timestamp
        cdef bint wanted
        cdef int error
        for index[0] in range(count):
            cursor.end = end
            error = read_record_start(cursor, &record)
            if error:
                return error
            # Headers come last in a record: whether to keep them is known before they are read.
            wanted = record.offset_delta >= 0 and not sum_overflows(base_offset, record.offset_delta)
            offset = base_offset + record.offset_delta if wanted else -1
            wanted = wanted and lower <= offset < upper
            if wanted and self.want_headers:
                error = read_headers(cursor, record.header_count, &self.header_key, &self.header_value)
            else:
                error = read_headers(cursor, record.header_count, NULL, NULL)
            if error:
                return error
            if record.offset_delta < 0 or sum_overflows(base_offset, record.offset_delta):
                return OFFSET
            if appended:
                timestamp = append_time
            elif sum_overflows(base_timestamp, record.timestamp_delta):
                return TIMESTAMP
            else:
                timestamp = base_timestamp + record.timestamp_delta
            if wanted and self._keep(&record, offset, timestamp, appended):
                return NO_MEMORY
        cursor.end = end
        return OK

    cdef inline int _keep(self, Record* record, int64_t offset, int64_t timestamp, int32_t timestamp_type) noexcept nogil:
        if push_int64(&self.offsets, offset) or push_int64(&self.timestamps, timestamp):
            return NO_MEMORY
        if push_int32(&self.types, timestamp_type):
            return NO_MEMORY
        if self.want_keys and push_field(&self.key, record.key):
            return NO_MEMORY
        if self.want_values and push_field(&self.value, record.value):
            return NO_MEMORY
        if not self.want_headers:
            return OK
        if self.lists.size == 0 and push_int32(&self.lists, 0):
            return NO_MEMORY
        return push_int32(&self.lists, <int32_t> self.header_key.valid.size)

    def take(self):
        """What was gathered since the last time; the builder is empty afterwards."""
        rows = self.offsets.size // 8
        headers = None
        if self.want_headers:
            if self.lists.size == 0 and push_int32(&self.lists, 0):
                raise MemoryError
            count = self.header_key.valid.size
            headers = HeaderColumns(
                hand_over(&self.lists), count, take_binary(&self.header_key), take_binary(&self.header_value)
            )
        self.size_bytes = 0
        return Columns(
            rows,
            hand_over(&self.offsets),
            hand_over(&self.timestamps),
            hand_over(&self.types),
            take_binary(&self.key) if self.want_keys else None,
            take_binary(&self.value) if self.want_values else None,
            headers,
        )


# ---- keys for the cleaner -------------------------------------------------------------------------------------------

cdef struct Slot:
    uint64_t low        # SipHash-2-4 of the key, 128 bits
    uint64_t high
    int64_t after       # the key's last offset + 1; 0 in a free slot


SLOT_BYTES = sizeof(Slot)
"""A hash of 16 bytes and an offset, as in Kafka's map."""


cdef struct Hash:
    uint64_t low
    uint64_t high


cdef struct Sip:
    uint64_t v0
    uint64_t v1
    uint64_t v2
    uint64_t v3


cdef inline uint64_t rotated(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline void sip_rounds(Sip* state, int count) noexcept nogil:
    cdef int index
    for index in range(count):
        state.v0 += state.v1
        state.v1 = rotated(state.v1, 13) ^ state.v0
        state.v0 = rotated(state.v0, 32)
        state.v2 += state.v3
        state.v3 = rotated(state.v3, 16) ^ state.v2
        state.v0 += state.v3
        state.v3 = rotated(state.v3, 21) ^ state.v0
        state.v2 += state.v1
        state.v1 = rotated(state.v1, 17) ^ state.v2
        state.v2 = rotated(state.v2, 32)


cdef inline uint64_t little_endian(const uint8_t* data, size_t size) noexcept nogil:
    cdef uint64_t value = 0
    cdef size_t index
    for index in range(size):
        value |= <uint64_t> data[index] << (8 * index)
    return value


cdef Hash hash_key(const uint8_t* data, size_t size, uint64_t k0, uint64_t k1) noexcept nogil:
    cdef Sip state
    cdef Hash result
    cdef uint64_t word
    cdef size_t index = 0
    state.v0 = k0 ^ 0x736F6D6570736575ULL
    state.v1 = k1 ^ 0x646F72616E646F6DULL ^ 0xEE
    state.v2 = k0 ^ 0x6C7967656E657261ULL
    state.v3 = k1 ^ 0x7465646279746573ULL
    while index <= size:
        if size - index >= 8:
            word = little_endian(data + index, 8)
        else:
            word = little_endian(data + index, size - index) | <uint64_t> (size & 0xFF) << 56
        state.v3 ^= word
        sip_rounds(&state, 2)
        state.v0 ^= word
        index += 8
    state.v2 ^= 0xEE
    sip_rounds(&state, 4)
    result.low = state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    state.v1 ^= 0xDD
    sip_rounds(&state, 4)
    result.high = state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    return result


def key_hash(bytes key, bytes secret):
    """The hash by which `OffsetMap` knows a key, for the test that it is SipHash."""
    cdef const uint8_t* data = key
    cdef const uint8_t* words = secret
    cdef Hash found = hash_key(data, len(key), little_endian(words, 8), little_endian(words + 8, 8))
    return (<object> found.low).to_bytes(8, "little") + (<object> found.high).to_bytes(8, "little")


cdef inline int push_varlong(Vector* out, int64_t value) noexcept nogil:
    cdef uint64_t zigzag = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    if reserve(out, 10):
        return NO_MEMORY
    while zigzag > 0x7F:
        out.data[out.size] = <char> (zigzag & 0x7F | 0x80)
        out.size += 1
        zigzag >>= 7
    out.data[out.size] = <char> zigzag
    out.size += 1
    return OK


cdef inline int push_bytes(Vector* out, const uint8_t* data, size_t size) noexcept nogil:
    if reserve(out, size):
        return NO_MEMORY
    memcpy(out.data + out.size, data, size)
    out.size += size
    return OK


cdef inline size_t varlong_size(int64_t value) noexcept nogil:
    cdef uint64_t zigzag = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    cdef size_t size = 1
    while zigzag > 0x7F:
        zigzag >>= 7
        size += 1
    return size


cdef struct Sieve:
    int64_t base_offset
    int64_t base_timestamp
    int64_t latest_offset       # records behind it stay as they are
    int64_t horizon             # what takes the place of the base timestamp once a tombstone is kept
    bint set_horizon
    bint keep_tombstones
    int32_t kept
    bint tombstones
    int64_t max_timestamp


cdef class OffsetMap:
    """The last offset of each key, in memory of a fixed size. Keys are known by 128 bits of a keyed hash."""

    cdef Slot* table
    cdef size_t slots
    cdef uint64_t k0, k1
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t capacity

    def __cinit__(self, Py_ssize_t slots, bytes secret):
        if slots < 1 or len(secret) != SECRET_BYTES:
            raise ValueError(f"{slots} slots and a secret of {len(secret)} bytes make no map")
        self.slots = slots
        self.capacity = most_keys(slots)
        self.k0 = little_endian(secret, 8)
        self.k1 = little_endian(<const uint8_t*> secret + 8, 8)
        self.table = <Slot*> calloc(slots, sizeof(Slot))
        if self.table == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table)

    cdef inline Slot* _slot(self, Field key) noexcept nogil:
        """The slot of this key, or the free one that it would get. One is always free."""
        cdef Hash wanted = hash_key(key.data, key.size, self.k0, self.k1)
        cdef size_t index = wanted.low % self.slots
        cdef Slot* slot
        while True:
            slot = &self.table[index]
            if slot.after == 0:
                slot.low = wanted.low
                slot.high = wanted.high
                return slot
            if slot.low == wanted.low and slot.high == wanted.high:
                return slot
            index += 1
            if index == self.slots:
                index = 0

    def get(self, bytes key):
        """The last offset of this key, or -1."""
        cdef Field field
        field.data = key
        field.size = len(key)
        return self._slot(field).after - 1

    def add(self, payload, count, int64_t base_offset, int64_t start_offset):
        """Take in the keys of the records from `start_offset` on. False when there was no room for all of them."""
        cdef Py_buffer view
        cdef Cursor cursor
        cdef int32_t index = 0, wanted
        cdef bint room = True
        cdef int error
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            check_count(count, view.len)
            wanted = count
            cursor.data = <const uint8_t*> view.buf
            cursor.position = 0
            cursor.end = view.len
            with nogil:
                error = self._add(&cursor, wanted, base_offset, start_offset, &index, &room)
            if room:
                finish(error, index, &cursor)
        finally:
            PyBuffer_Release(&view)
        return bool(room)

    cdef int _add(
        self, Cursor* cursor, int32_t count, int64_t base_offset, int64_t start_offset, int32_t* index, bint* room
    ) noexcept nogil:
        cdef Record record
        cdef Slot* slot
        cdef size_t end = cursor.end
        cdef int64_t offset
        cdef int32_t previous = -1
        cdef int error
        for index[0] in range(count):
            cursor.end = end
            error = next_record(cursor, base_offset, &previous, &record)
            if error:
                return error
            offset = base_offset + record.offset_delta
            if record.key.size < 0 or offset < start_offset:
                continue
            if self.size >= self.capacity:
                room[0] = False
                return OK
            slot = self._slot(record.key)
            if slot.after == 0:
                self.size += 1
            if slot.after <= offset:
                slot.after = offset + 1
        cursor.end = end
        return OK

    def sift(
        self,
        payload,
        count,
        *,
        int64_t base_offset,
        int64_t base_timestamp,
        int64_t latest_offset,
        bint keep_tombstones,
        horizon=None,
    ):
        """What compaction leaves of a batch's records; see the pure twin for the rules."""
        cdef Py_buffer view
        cdef Cursor cursor
        cdef Sieve sieve
        cdef Vector out
        cdef int32_t index = 0, wanted
        cdef uint8_t* keep = NULL
        cdef int error
        sieve.base_offset = base_offset
        sieve.base_timestamp = base_timestamp
        sieve.latest_offset = latest_offset
        sieve.set_horizon = horizon is not None
        sieve.horizon = horizon if horizon is not None else 0
        sieve.keep_tombstones = keep_tombstones
        sieve.kept = 0
        sieve.tombstones = False
        sieve.max_timestamp = -1
        out.data = NULL
        out.size = out.capacity = 0
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            check_count(count, view.len)
            wanted = count
            keep = <uint8_t*> malloc(wanted + 1)
            if keep == NULL:
                raise MemoryError
            cursor.data = <const uint8_t*> view.buf
            cursor.position = 0
            cursor.end = view.len
            with nogil:
                error = self._choose(&cursor, wanted, &sieve, keep, &index)
            finish(error, index, &cursor)
            sieve.set_horizon = sieve.set_horizon and sieve.tombstones
            if sieve.kept == wanted and not sieve.set_horizon:
                return Sifted(sieve.kept, False, sieve.max_timestamp, None)
            cursor.position = 0
            with nogil:
                error = self._copy(&cursor, wanted, &sieve, keep, &index, &out)
            finish(error, index, &cursor)
            return Sifted(sieve.kept, bool(sieve.set_horizon), sieve.max_timestamp, out.data[:out.size] if out.size else b"")
        finally:
            free(keep)
            free(out.data)
            PyBuffer_Release(&view)

    cdef int _choose(self, Cursor* cursor, int32_t count, Sieve* sieve, uint8_t* keep, int32_t* index) noexcept nogil:
        cdef Record record
        cdef size_t end = cursor.end
        cdef int64_t offset
        cdef int32_t previous = -1
        cdef int error
        for index[0] in range(count):
            cursor.end = end
            error = next_record(cursor, sieve.base_offset, &previous, &record)
            if error:
                return error
            if sum_overflows(sieve.base_timestamp, record.timestamp_delta):
                return TIMESTAMP
            offset = sieve.base_offset + record.offset_delta
            if offset > sieve.latest_offset:
                keep[index[0]] = True
            elif record.key.size < 0 or (record.value.size < 0 and not sieve.keep_tombstones):
                keep[index[0]] = False
            else:
                keep[index[0]] = offset + 1 >= self._slot(record.key).after
            if keep[index[0]]:
                sieve.kept += 1
                sieve.tombstones = sieve.tombstones or record.value.size < 0
                if sieve.base_timestamp + record.timestamp_delta > sieve.max_timestamp:
                    sieve.max_timestamp = sieve.base_timestamp + record.timestamp_delta
        cursor.end = end
        return OK

    cdef int _copy(
        self, Cursor* cursor, int32_t count, Sieve* sieve, uint8_t* keep, int32_t* index, Vector* out
    ) noexcept nogil:
        cdef Record record
        cdef size_t end = cursor.end
        cdef int64_t timestamp, delta
        cdef int32_t previous = -1
        cdef int error
        for index[0] in range(count):
            cursor.end = end
            error = next_record(cursor, sieve.base_offset, &previous, &record)
            if error:
                return error
            if not keep[index[0]]:
                continue
            if not sieve.set_horizon:
                error = push_bytes(out, cursor.data + record.start, cursor.end - record.start)
            else:
                timestamp = sieve.base_timestamp + record.timestamp_delta
                if difference_overflows(timestamp, sieve.horizon):
                    return TIMESTAMP
                delta = timestamp - sieve.horizon
                error = push_varlong(out, <int64_t> (1 + varlong_size(delta) + cursor.end - record.rest))
                if not error:  # the attributes stand before the timestamp
                    error = push_bytes(out, cursor.data + record.start + size_bytes(cursor.data + record.start), 1)
                if not error:
                    error = push_varlong(out, delta)
                if not error:
                    error = push_bytes(out, cursor.data + record.rest, cursor.end - record.rest)
            if error:
                return error
        cursor.end = end
        return OK


cdef inline size_t size_bytes(const uint8_t* data) noexcept nogil:
    """Bytes of the varint at `data`, which was read before."""
    cdef size_t size = 1
    while data[size - 1] >= 0x80:
        size += 1
    return size


cdef inline bint difference_overflows(int64_t left, int64_t right) noexcept nogil:
    if right >= 0:
        return left < -INT64_MAX - 1 + right
    return left > INT64_MAX + right


cdef inline int next_record(Cursor* cursor, int64_t base_offset, int32_t* previous, Record* record) noexcept nogil:
    """A whole record, whose offset is larger than the one before."""
    cdef int error = read_record_start(cursor, record)
    if not error:
        error = read_headers(cursor, record.header_count, NULL, NULL)
    if error:
        return error
    if record.offset_delta < 0 or sum_overflows(base_offset, record.offset_delta):
        return OFFSET
    if record.offset_delta <= previous[0]:
        return OFFSET_ORDER
    previous[0] = record.offset_delta
    return OK
