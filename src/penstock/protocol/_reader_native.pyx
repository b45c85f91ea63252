# cython: language_level=3, boundscheck=False, wraparound=False
"""The cursor over a message, natively; see `_reader_pure` for what it means, and for the words of every refusal.

Input is hostile: each byte is read only after its place was compared with the end, and sizes are compared by subtraction.

The Produce request is read here too: it comes so often that Python's own calls of the cursor would count.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_Check
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from penstock.protocol._produce_pure import NO_TOPIC_ID, TOPIC_IDS_FROM, PartitionData, ProduceRequest, TopicData
from penstock.protocol._reader_pure import MAX_ITEMS, NO_FIELDS, MalformedMessage

cdef Py_ssize_t ITEMS = MAX_ITEMS


cdef class Reader:
    cdef readonly object buffer
    cdef public Py_ssize_t position
    cdef readonly Py_ssize_t end
    cdef public bint flexible
    cdef Py_ssize_t _items
    cdef const uint8_t* _data

    def __cinit__(self, buffer not None, Py_ssize_t position=0, *, bint flexible=False):
        cdef Py_buffer view
        if not PyMemoryView_Check(buffer):
            raise TypeError(f"a memoryview is read, not {type(buffer).__name__}")
        # The memory stays where it is as long as the view lives and nobody releases it. An export of the view itself would
        # keep the collector from clearing it where both are part of a cycle.
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        self._data = <const uint8_t*> view.buf
        self.end = view.len
        PyBuffer_Release(&view)
        self.buffer = buffer
        self.position = position
        self.flexible = flexible

    @property
    def remaining(self):
        return self.end - self.position

    cdef Py_ssize_t _take(self, Py_ssize_t size) except -1:
        cdef Py_ssize_t start = self.position
        if size < 0 or start < 0 or size > self.end - start:
            raise MalformedMessage(f"{size} bytes wanted at {start}, {self.end - start} remain")
        self.position = start + size
        return start

    cdef int _number(self, int size, uint64_t* value) except -1:
        """A big-endian number of `size` bytes, without its sign."""
        cdef Py_ssize_t start = self._take(size)
        cdef uint64_t found = 0
        cdef Py_ssize_t index
        for index in range(start, start + size):
            found = found << 8 | self._data[index]
        value[0] = found
        return 0

    cdef Py_ssize_t _varint(self) except -1:
        cdef Py_ssize_t value = 0
        cdef int shift = 0
        cdef uint8_t byte
        while True:
            byte = self._data[self._take(1)]
            value |= <Py_ssize_t> (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedMessage("a varint of more than five bytes")

    cdef Py_ssize_t _length(self, int fixed) except -2:
        """The length before a string, bytes or an array; -1 stands for null in both forms. Other negative ones come back as
        they are, but for -2, which says that there is an exception: such a length is refused here."""
        cdef uint64_t value
        cdef Py_ssize_t length
        if self.flexible:
            return self._varint() - 1
        self._number(fixed, &value)
        length = <int16_t> value if fixed == 2 else <int32_t> value
        if length < -1:
            raise MalformedMessage(f"{length} bytes wanted at {self.position}, {self.end - self.position} remain")
        return length

    cdef int _count(self, Py_ssize_t items) except -1:
        self._items += items
        if self._items > ITEMS:
            raise MalformedMessage(f"more than {MAX_ITEMS} items in one message")
        return 0

    def unpack(self, layout):
        cdef Py_ssize_t start = self._take(layout.size)
        return layout.unpack_from(self.buffer, start)

    def int8(self):
        cdef uint64_t value
        self._number(1, &value)
        return <int8_t> value

    cpdef int16(self):
        cdef uint64_t value
        self._number(2, &value)
        return <int16_t> value

    cpdef int32(self):
        cdef uint64_t value
        self._number(4, &value)
        return <int32_t> value

    def int64(self):
        cdef uint64_t value
        self._number(8, &value)
        return <int64_t> value

    def float64(self):
        cdef uint64_t value
        cdef double number
        self._number(8, &value)
        memcpy(&number, &value, 8)
        return number

    def boolean(self):
        return self._data[self._take(1)] != 0

    cpdef uuid(self):
        return PyBytes_FromStringAndSize(<const char*> self._data + self._take(16), 16)

    def unsigned_varint(self):
        return self._varint()

    cpdef nullable_string(self):
        cdef Py_ssize_t size = self._length(2)
        return None if size == -1 else self.text(size)

    cpdef text(self, Py_ssize_t size):
        cdef Py_ssize_t start = self._take(size)
        try:
            return PyUnicode_DecodeUTF8(<const char*> self._data + start, size, NULL)
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"a string that is not UTF-8: {error}") from None

    cpdef string(self):
        value = self.nullable_string()
        if value is None:
            raise MalformedMessage("null where a string must stand")
        return value

    cpdef nullable_bytes(self):
        cdef Py_ssize_t size = self._length(4)
        cdef Py_ssize_t start
        if size == -1:
            return None
        start = self._take(size)
        return self.buffer[start : start + size]

    cdef Py_ssize_t _array(self, Py_ssize_t item_bytes) except -2:
        cdef uint64_t value
        cdef Py_ssize_t count
        if self.flexible:
            count = self._varint() - 1
        else:
            self._number(4, &value)
            count = <int32_t> value
        # Both are below 2^35: the product does not overflow.
        if count < -1 or count * item_bytes > self.end - self.position:
            raise MalformedMessage(f"an array of {count} items in {self.end - self.position} bytes")
        self._count(count)
        return count

    def nullable_array(self, int item_bytes=1):
        return self._array(item_bytes)

    cpdef array(self, int item_bytes=1):
        cdef Py_ssize_t count = self._array(item_bytes)
        return count if count > 0 else 0

    def int32_array(self):
        return [self.int32() for _ in range(self.array(4))]

    def structures(self, layout, make):
        cdef Py_ssize_t size = layout.size
        cdef Py_ssize_t count = self._array(size)
        cdef Py_ssize_t start
        unpack_from = layout.unpack_from
        items = []
        while count > 0:
            start = self._take(size)
            items.append(make(unpack_from(self.buffer, start)))
            self.tags()
            count -= 1
        return items

    cpdef tags(self):
        cdef Py_ssize_t count = self._varint() if self.flexible else 0
        cdef Py_ssize_t tag, size, start
        if not count:
            return NO_FIELDS
        self._count(count)
        found = {}
        for _ in range(count):
            tag = self._varint()
            size = self._varint()
            start = self._take(size)
            found[tag] = self.buffer[start : start + size]
        return found


cdef object make = tuple.__new__  # of a NamedTuple, without the call of Python that its own `__new__` is


def read_produce_request(Reader reader not None, int version):
    cdef bint by_id = version >= TOPIC_IDS_FROM
    cdef Py_ssize_t topic_count, partition_count
    cdef list topics = [], partitions
    transactional_id = reader.nullable_string()
    acks = reader.int16()
    timeout_ms = reader.int32()
    topic_count = reader._array(4)
    while topic_count > 0:
        topic_count -= 1
        name = "" if by_id else reader.string()
        topic_id = reader.uuid() if by_id else NO_TOPIC_ID
        partitions = []
        partition_count = reader._array(5)
        while partition_count > 0:
            partition_count -= 1
            partition = reader.int32()
            partitions.append(make(PartitionData, (partition, reader.nullable_bytes())))
            reader.tags()
        reader.tags()
        topics.append(make(TopicData, (name, topic_id, partitions)))
    return make(ProduceRequest, (transactional_id, acks, timeout_ms, topics))
