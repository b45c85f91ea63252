# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The walk over a batch's records without the GIL; see `_walk_pure` for what it means, and for the words of every refusal.

Input is hostile: each byte is read only after its position was compared with the end of what holds it, and sizes are compared
by subtraction, so that nothing overflows. Memory grows with what was read, never with what a number in the input promises.
"""

from cpython.buffer cimport PyBuffer_FillInfo, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from penstock.records._walk_pure import BinaryColumn, Columns, HeaderColumns, check_count, refusal, trailing
from penstock.records.batch import CorruptBatch

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
    NO_MEMORY = 100

cdef enum:
    SMALLEST_CAPACITY = 256


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
    size_t end


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
    cdef int error = read_int32(cursor, &size)
    if error:
        return error
    if size < 0 or <size_t> size > cursor.end - cursor.position:
        return RECORD_SIZE
    cursor.end = cursor.position + size
    if size == 0:
        return NO_ATTRIBUTES
    cursor.position += 1
    error = read_varint(cursor, 64, &record.timestamp_delta)
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


cdef int walk_valid(
    Cursor* cursor, int32_t count, int64_t base_timestamp, bint require_keys, int32_t* index
) noexcept nogil:
    cdef Record record
    cdef size_t end = cursor.end
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
        if require_keys and record.key.size < 0:
            return NULL_KEY
    cursor.end = end
    return OK


cdef object finish(int error, int32_t index, Cursor* cursor):
    if error == NO_MEMORY:
        raise MemoryError
    if error:
        raise refusal(index, error)
    if cursor.position != cursor.end:
        raise trailing(cursor.end - cursor.position)


def validate(payload, count, *, int64_t base_timestamp=0, bint require_keys=False):
    """Raise `CorruptBatch` unless `payload` (decompressed) is exactly `count` records such as a client may send."""
    cdef Py_buffer view
    cdef Cursor cursor
    cdef int32_t index = 0, wanted
    cdef int error
    if count == 0:
        raise CorruptBatch("a batch without records")
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        check_count(count, view.len)
        wanted = count
        cursor.data = <const uint8_t*> view.buf
        cursor.position = 0
        cursor.end = view.len
        with nogil:
            error = walk_valid(&cursor, wanted, base_timestamp, require_keys, &index)
        finish(error, index, &cursor)
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
