# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The last offset of each key without the GIL: the twin of `_keys_pure`, which says what it means."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from penstock.records._records cimport *
from penstock.records._vectors cimport *

from penstock.records._keys_pure import SECRET_BYTES, Sifted, most_keys
from penstock.records._walk_pure import check_count, check_end


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
                check_end(error, index, cursor.end - cursor.position)
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
            check_end(error, index, cursor.end - cursor.position)
            sieve.set_horizon = sieve.set_horizon and sieve.tombstones
            if sieve.kept == wanted and not sieve.set_horizon:
                return Sifted(sieve.kept, False, sieve.max_timestamp, None)
            cursor.position = 0
            with nogil:
                error = self._copy(&cursor, wanted, &sieve, keep, &index, &out)
            check_end(error, index, cursor.end - cursor.position)
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
        error = skip_headers(cursor, record.header_count)
    if error:
        return error
    if record.offset_delta < 0 or sum_overflows(base_offset, record.offset_delta):
        return OFFSET
    if record.offset_delta <= previous[0]:
        return OFFSET_ORDER
    previous[0] = record.offset_delta
    return OK
