# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""LZ4 frames of small batches as producers write them, unpacked without the library, which gives up the GIL for each: to get it
back among many producers takes longer than to unpack 16 KB. It is the faster one with large batches.

Input is hostile: whatever is not beyond doubt is NOT_PLAIN, as are frames with a dictionary, a content size or a content checksum;
`penstock.records.codecs` then decides, by the LZ4 library. So every rule of that library is kept here, also those on how a block
ends, and nothing is taken that it would refuse.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from penstock.records._vectors cimport NO_MEMORY, Vector, reserve

cdef enum:
    NOT_PLAIN = 1
    INDEPENDENT_BLOCKS = 0x60           # version 1; Java reads no others
    BLOCK_CHECKSUMS = 0x10
    # So that a bomb does not hold the GIL: what is larger is left to the library.
    LARGEST_BLOCKS = 0x50               # 256 KB
    LARGEST_UNPACKED = 1048576
    # What must be left behind a match: in the input an offset, a token and five literals; in the output five and twelve bytes.
    LEFT_OF_INPUT = 8
    LAST_LITERALS = 5
    LAST_MATCH = 12


cdef inline uint32_t little_endian_32(const uint8_t* data) noexcept nogil:
    return data[0] | <uint32_t> data[1] << 8 | <uint32_t> data[2] << 16 | <uint32_t> data[3] << 24


cdef inline uint32_t turned(uint32_t value, int bits) noexcept nogil:
    return value << bits | value >> (32 - bits)


cdef inline uint32_t mixed(uint32_t lane, const uint8_t* data) noexcept nogil:
    return turned(lane + little_endian_32(data) * <uint32_t> 2246822519, 13) * <uint32_t> 2654435761


cdef inline uint32_t xxh32(const uint8_t* data, size_t size) noexcept nogil:
    """The checksum of LZ4's frames, with the seed 0."""
    cdef uint32_t prime_1 = 2654435761, prime_2 = 2246822519, prime_3 = 3266489917, prime_4 = 668265263, prime_5 = 374761393
    cdef uint32_t a = prime_1 + prime_2, b = prime_2, c = 0, d = 0 - prime_1
    cdef uint32_t value
    cdef size_t at = 0
    if size >= 16:
        while at + 16 <= size:
            a = mixed(a, data + at)
            b = mixed(b, data + at + 4)
            c = mixed(c, data + at + 8)
            d = mixed(d, data + at + 12)
            at += 16
        value = turned(a, 1) + turned(b, 7) + turned(c, 12) + turned(d, 18)
    else:
        value = prime_5
    value += <uint32_t> size
    while at + 4 <= size:
        value = turned(value + little_endian_32(data + at) * prime_3, 17) * prime_4
        at += 4
    while at < size:
        value = turned(value + data[at] * prime_5, 11) * prime_1
        at += 1
    value = (value ^ value >> 15) * prime_2
    value = (value ^ value >> 13) * prime_3
    return value ^ value >> 16


cdef inline int read_length(const uint8_t* data, size_t* at, size_t end, size_t* length) noexcept nogil:
    """What follows a length of fifteen: bytes that are added to it, up to one that is not 255."""
    cdef uint8_t more = 255
    while more == 255:
        if at[0] >= end:
            return NOT_PLAIN
        more = data[at[0]]
        at[0] += 1
        length[0] += more
    return 0


cdef inline int unpack_block(const uint8_t* data, size_t end, uint8_t* out, size_t capacity, size_t* size) noexcept nogil:
    """One block into `out`, which has room for `capacity` bytes: the most that a block of this frame may hold."""
    cdef size_t at = 0, made = 0, length, distance, index
    cdef uint8_t token
    while at < end:
        token = data[at]
        at += 1
        length = token >> 4
        if length == 15 and read_length(data, &at, end, &length):
            return NOT_PLAIN
        if length > end - at or length > capacity - made:
            return NOT_PLAIN
        memcpy(out + made, data + at, length)
        at += length
        made += length
        if at == end:
            size[0] = made
            return 0
        if end - at < LEFT_OF_INPUT or capacity - made < LAST_MATCH:
            return NOT_PLAIN
        distance = data[at] | <size_t> data[at + 1] << 8
        at += 2
        length = token & 15
        if length == 15 and read_length(data, &at, end, &length):
            return NOT_PLAIN
        length += 4
        if distance == 0 or distance > made or length > capacity - made - LAST_LITERALS:
            return NOT_PLAIN
        if distance >= length:
            memcpy(out + made, out + made - distance, length)
        else:  # it repeats what it writes
            for index in range(length):
                out[made + index] = out[made + index - distance]
        made += length
    return NOT_PLAIN  # a block ends with literals


cdef inline int unpack_lz4(const uint8_t* data, size_t end, Vector* out) noexcept nogil:
    """All blocks of a frame that fills `data`, into `out`."""
    cdef size_t at = 7, size, made = 0, block_bytes
    cdef uint32_t word
    cdef bint is_stored, has_checksums
    if end < 11 or memcmp(data, b"\x04\x22\x4d\x18", 4) or (xxh32(data + 4, 2) >> 8 & 0xFF) != data[6]:
        return NOT_PLAIN
    if data[4] & ~BLOCK_CHECKSUMS != INDEPENDENT_BLOCKS or data[5] & 0x8F or not 0x40 <= data[5] <= LARGEST_BLOCKS:
        return NOT_PLAIN
    has_checksums = data[4] & BLOCK_CHECKSUMS
    block_bytes = <size_t> 1 << (8 + 2 * (data[5] >> 4))
    while end - at >= 4:
        word = little_endian_32(data + at)
        at += 4
        if word == 0:
            return 0 if at == end else NOT_PLAIN
        is_stored = word >> 31
        size = word & 0x7FFFFFFF
        if size > block_bytes or size > end - at or (has_checksums and end - at - size < 4) or out.size > LARGEST_UNPACKED:
            return NOT_PLAIN
        if has_checksums and xxh32(data + at, size) != little_endian_32(data + at + size):
            return NOT_PLAIN
        if reserve(out, block_bytes):
            return NO_MEMORY
        if is_stored:
            memcpy(out.data + out.size, data + at, size)
            made = size
        elif unpack_block(data + at, size, <uint8_t*> out.data + out.size, block_bytes, &made):
            return NOT_PLAIN
        out.size += made
        at += size + (4 if has_checksums else 0)
    return NOT_PLAIN
