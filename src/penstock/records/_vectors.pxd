# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory that grows, for the native twins; whoever has a vector frees its data."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

cdef enum:
    SMALLEST_CAPACITY = 256
    NO_MEMORY = 100     # beside the reasons of `_records.pxd`


cdef struct Vector:
    char* data
    size_t size
    size_t capacity


cdef inline int reserve(Vector* vector, size_t more) noexcept nogil:
    cdef size_t wanted = vector.size + more
    cdef size_t capacity
    cdef char* moved
    if wanted <= vector.capacity:
        return 0
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
    return 0


cdef inline int push_int32(Vector* vector, int32_t value) noexcept nogil:
    if reserve(vector, 4):
        return NO_MEMORY
    memcpy(vector.data + vector.size, &value, 4)
    vector.size += 4
    return 0


cdef inline int push_int64(Vector* vector, int64_t value) noexcept nogil:
    if reserve(vector, 8):
        return NO_MEMORY
    memcpy(vector.data + vector.size, &value, 8)
    vector.size += 8
    return 0


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
    return 0


cdef inline int push_bytes(Vector* out, const uint8_t* data, size_t size) noexcept nogil:
    if reserve(out, size):
        return NO_MEMORY
    memcpy(out.data + out.size, data, size)
    out.size += size
    return 0
