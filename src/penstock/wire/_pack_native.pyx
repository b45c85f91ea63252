# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packing columns into records without the GIL; see `_pack_pure` for what it means."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from penstock.wire._pack_pure import Packed

cdef enum:
    OK = 0
    FULL = 1
    NO_ROW = 2
    SHORT = 3
    OUTSIDE = 4
    NO_HEADER_KEY = 5
    TOO_LARGE = 6
    NO_MEMORY = 7
    MOST_VIEWS = 16

_REASONS = {
    SHORT: "a column is shorter than its rows",
    OUTSIDE: "a column's offsets point outside its data",
    NO_HEADER_KEY: "a row has a header without a key",
    TOO_LARGE: "a row is too large for a record",
}


cdef struct Column:
    const uint8_t* offsets
    size_t offsets_size
    const uint8_t* data
    size_t data_size
    const uint8_t* validity     # NULL: every row is there
    size_t validity_size
    size_t first
    bint present


cdef struct Field:
    const uint8_t* data
    int32_t size                # -1 is null


cdef struct Span:
    int32_t begin
    int32_t end


cdef class Views:
    """Buffers that are held open while columns point into them."""

    cdef Py_buffer held[MOST_VIEWS]
    cdef int count

    def __dealloc__(self):
        cdef int index
        for index in range(self.count):
            PyBuffer_Release(&self.held[index])

    cdef const uint8_t* open(self, object source, size_t* size) except? NULL:
        cdef Py_buffer* view
        assert self.count < MOST_VIEWS
        view = &self.held[self.count]
        PyObject_GetBuffer(source, view, PyBUF_SIMPLE)
        self.count += 1
        size[0] = view.len
        return <const uint8_t*> view.buf

    cdef int column(self, object source, Column* column) except -1:
        column.present = source is not None
        if source is None:
            return 0
        column.offsets = self.open(source.offsets, &column.offsets_size)
        column.data = self.open(source.data, &column.data_size)
        column.first = source.first
        self.validity(source.validity, column)
        return 0

    cdef int validity(self, object source, Column* column) except -1:
        column.validity = NULL
        column.validity_size = 0
        if source is not None:
            column.validity = self.open(source, &column.validity_size)
        return 0


# ---- reading columns ------------------------------------------------------------------------------------------------

cdef inline int span_of(Column* column, size_t row, Span* span) noexcept nogil:
    """Where a row's items stand; an empty span with begin -1 when it is null."""
    cdef size_t place = column.first + row
    span.begin = span.end = -1
    if column.validity != NULL:
        if place >> 3 >= column.validity_size:
            return SHORT
        if not (column.validity[place >> 3] >> (place & 7)) & 1:
            return OK
    if (place + 2) * 4 > column.offsets_size:
        return SHORT
    memcpy(&span.begin, column.offsets + place * 4, 4)
    memcpy(&span.end, column.offsets + place * 4 + 4, 4)
    if span.begin < 0 or span.end < span.begin:
        return OUTSIDE
    return OK


cdef inline int field_of(Column* column, size_t row, Field* field) noexcept nogil:
    cdef Span span
    cdef int error
    field.data = NULL
    field.size = -1
    if not column.present:
        return OK
    error = span_of(column, row, &span)
    if error or span.begin < 0:
        return error
    if <size_t> span.end > column.data_size:
        return OUTSIDE
    field.data = column.data + span.begin
    field.size = span.end - span.begin
    return OK


# ---- writing records ------------------------------------------------------------------------------------------------

cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)


cdef inline size_t varint_size(int64_t value) noexcept nogil:
    cdef uint64_t rest = zigzag(value)
    cdef size_t size = 1
    while rest > 0x7F:
        rest >>= 7
        size += 1
    return size


cdef inline char* write_varint(char* out, int64_t value) noexcept nogil:
    cdef uint64_t rest = zigzag(value)
    while rest > 0x7F:
        out[0] = <char> (rest & 0x7F | 0x80)
        out += 1
        rest >>= 7
    out[0] = <char> rest
    return out + 1


cdef inline size_t field_size(Field field) noexcept nogil:
    return varint_size(field.size) + (field.size if field.size > 0 else 0)


cdef inline char* write_field(char* out, Field field) noexcept nogil:
    out = write_varint(out, field.size)
    if field.size > 0:
        memcpy(out, field.data, field.size)
        out += field.size
    return out


cdef class Packer:
    """Gathers rows into the records section of one batch of at most `max_bytes`."""

    cdef char* data
    cdef size_t size, capacity, max_bytes
    cdef readonly int32_t count
    cdef int64_t base_timestamp, max_timestamp

    def __init__(self, size_t max_bytes):
        self.max_bytes = max_bytes

    def __dealloc__(self):
        free(self.data)

    @property
    def size_bytes(self):
        return self.size

    def add(self, columns, rows, size_t start=0):
        """Add the rows whose numbers (int32) stand in `rows` from `start` on; where the room ended."""
        cdef Views views = Views.__new__(Views)
        cdef Column key, value, lists, header_key, header_value
        cdef size_t numbers_size = 0, times_size = 0, position = start, wanted = columns.rows
        cdef const uint8_t* numbers = views.open(rows, &numbers_size)
        cdef const uint8_t* times = views.open(columns.timestamps_ms, &times_size)
        cdef int error
        views.column(columns.key, &key)
        views.column(columns.value, &value)
        lists.present = columns.headers is not None
        header_key.present = header_value.present = False
        if columns.headers is not None:
            lists.offsets = views.open(columns.headers.list_offsets, &lists.offsets_size)
            lists.first = columns.headers.first
            views.validity(columns.headers.validity, &lists)
            views.column(columns.headers.key, &header_key)
            views.column(columns.headers.value, &header_value)
        if times_size // 8 < wanted:
            wanted = times_size // 8
        with nogil:
            error = self._add(
                numbers, numbers_size // 4, times, wanted, &key, &value, &lists, &header_key, &header_value, &position
            )
        if error == NO_MEMORY:
            raise MemoryError
        if error == NO_ROW:
            raise ValueError(f"there is no row {memoryview(rows).cast('B').cast('i')[position]}")
        if error > FULL:
            raise ValueError(_REASONS[error])
        return position

    cdef int _add(
        self, const uint8_t* numbers, size_t count, const uint8_t* times, size_t rows, Column* key, Column* value,
        Column* lists, Column* header_key, Column* header_value, size_t* position,
    ) noexcept nogil:
        cdef int32_t row
        cdef int64_t timestamp
        cdef int error
        while position[0] < count:
            memcpy(&row, numbers + position[0] * 4, 4)
            if row < 0 or <size_t> row >= rows:
                return NO_ROW
            memcpy(&timestamp, times + <size_t> row * 8, 8)
            error = self._add_row(row, timestamp, key, value, lists, header_key, header_value)
            if error:
                return error
            position[0] += 1
        return OK

    cdef inline int _add_row(
        self, size_t row, int64_t timestamp, Column* key_column, Column* value_column, Column* lists,
        Column* header_key, Column* header_value,
    ) noexcept nogil:
        cdef int64_t base = self.base_timestamp if self.count else timestamp
        cdef int64_t delta = <int64_t> (<uint64_t> timestamp - <uint64_t> base)
        cdef Field key, value, name, content
        cdef Span headers
        cdef size_t body
        cdef int32_t index
        cdef char* out
        cdef int error
        headers.begin = headers.end = 0
        error = field_of(key_column, row, &key)
        if not error:
            error = field_of(value_column, row, &value)
        if not error and lists.present:
            error = span_of(lists, row, &headers)
        if error:
            return error
        body = 1 + varint_size(delta) + varint_size(self.count) + field_size(key) + field_size(value)
        body += varint_size(headers.end - headers.begin)
        for index in range(headers.begin, headers.end):
            error = field_of(header_key, index, &name)
            if not error and name.size < 0:
                error = NO_HEADER_KEY
            if not error:
                error = field_of(header_value, index, &content)
            if error:
                return error
            body += field_size(name) + field_size(content)
        if body > INT32_MAX:
            return TOO_LARGE
        if self.count and self.size + varint_size(<int64_t> body) + body > self.max_bytes:
            return FULL
        if self._reserve(body + 5):
            return NO_MEMORY
        out = write_varint(self.data + self.size, <int64_t> body)
        out[0] = 0
        out = write_varint(out + 1, delta)
        out = write_varint(out, self.count)
        out = write_field(out, key)
        out = write_field(out, value)
        out = write_varint(out, headers.end - headers.begin)
        for index in range(headers.begin, headers.end):
            field_of(header_key, index, &name)
            field_of(header_value, index, &content)
            out = write_field(out, name)
            out = write_field(out, content)
        self.size = out - self.data
        if not self.count or timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.base_timestamp = base
        self.count += 1
        return OK

    cdef inline int _reserve(self, size_t more) noexcept nogil:
        cdef size_t capacity = self.capacity * 2
        cdef char* moved
        if self.size + more <= self.capacity:
            return OK
        if capacity < self.size + more:
            capacity = self.size + more
        moved = <char*> realloc(self.data, capacity)
        if moved == NULL:
            return NO_MEMORY
        self.data = moved
        self.capacity = capacity
        return OK

    def take(self):
        """What was gathered; the packer is empty afterwards and keeps its memory for the next batch."""
        packed = Packed(
            PyBytes_FromStringAndSize(self.data, self.size), self.count, self.base_timestamp, self.max_timestamp
        )
        self.size = 0
        self.count = 0
        self.base_timestamp = self.max_timestamp = 0
        return packed


# ---- partitions -----------------------------------------------------------------------------------------------------

cdef inline uint32_t murmur2(const uint8_t* data, size_t size) noexcept nogil:
    cdef uint32_t multiplier = <uint32_t> 0x5BD1E995U
    cdef uint32_t mixed = <uint32_t> 0x9747B28CU ^ <uint32_t> size
    cdef uint32_t word
    while size >= 4:
        memcpy(&word, data, 4)
        word *= multiplier
        word ^= word >> 24
        word *= multiplier
        mixed *= multiplier
        mixed ^= word
        data += 4
        size -= 4
    if size > 2:
        mixed ^= <uint32_t> data[2] << 16
    if size > 1:
        mixed ^= <uint32_t> data[1] << 8
    if size > 0:
        mixed ^= data[0]
        mixed *= multiplier
    mixed ^= mixed >> 13
    mixed *= multiplier
    return mixed ^ (mixed >> 15)


def partitions_of_keys(key, size_t rows, uint32_t partition_count, int32_t without_key):
    """The partition (int32) of each row by its key, or `without_key`."""
    cdef Views views = Views.__new__(Views)
    cdef Column column
    cdef Field field
    cdef size_t row
    cdef int32_t chosen
    cdef int error = OK
    cdef bytes out = PyBytes_FromStringAndSize(NULL, rows * 4)
    cdef char* target = out
    views.column(key, &column)
    with nogil:
        for row in range(rows):
            error = field_of(&column, row, &field)
            if error:
                break
            chosen = without_key
            if field.size >= 0:
                chosen = <int32_t> ((murmur2(field.data, field.size) & <uint32_t> INT32_MAX) % partition_count)
            memcpy(target + row * 4, &chosen, 4)
    if error:
        raise ValueError(_REASONS[error])
    return out
