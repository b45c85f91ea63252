# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Records laid out as columns without the GIL: the twin of `_columns_pure`, which says what it means.

Memory grows with what was read, never with what a number in the input promises.
"""

from cpython.buffer cimport PyBuffer_FillInfo, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from penstock.records._records cimport *
from penstock.records._vectors cimport *

from penstock.records._columns_pure import BinaryColumn, Columns, HeaderColumns
from penstock.records._walk_pure import check_count, check_end


cdef struct Binary:
    Vector offsets      # int32, row count + 1
    Vector data
    Vector valid        # one byte a row; packed to bits when taken
    size_t nulls


cdef struct Mark:
    size_t rows
    size_t end
    size_t nulls


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


cdef inline int take_headers(Cursor* cursor, int32_t count, Binary* keys, Binary* values) noexcept nogil:
    """The headers of one record, which end where it ends, into `keys` and `values`."""
    cdef Field key, value
    cdef int error
    cdef int32_t index
    for index in range(count):
        error = read_header(cursor, &key, &value)
        if error:
            return error
        if push_field(keys, key) or push_field(values, value):
            return NO_MEMORY
    return OK if cursor.position == cursor.end else RECORD_LENGTH


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
            check_end(error, index, cursor.end - cursor.position)
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
                error = take_headers(cursor, record.header_count, &self.header_key, &self.header_value)
            else:
                error = skip_headers(cursor, record.header_count)
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
