# cython: language_level=3
"""CRC32C without the GIL: three streams at once with the CPU's instruction, by tables elsewhere."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #define CRC_BLOCK 1360  /* of each stream, a multiple of eight */

    static uint32_t crc_bytes[8][256];
    static uint32_t crc_shift[4][256];  /* what CRC_BLOCK zero bytes make of each byte of a value */

    static uint32_t crc_by_tables(uint32_t crc, const uint8_t* data, size_t size) {
        uint64_t word;
        while (size >= 8) {
            memcpy(&word, data, 8);
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            word = __builtin_bswap64(word);
    #endif
            word ^= crc;
            crc = crc_bytes[7][word & 255] ^ crc_bytes[6][word >> 8 & 255] ^ crc_bytes[5][word >> 16 & 255]
                ^ crc_bytes[4][word >> 24 & 255] ^ crc_bytes[3][word >> 32 & 255] ^ crc_bytes[2][word >> 40 & 255]
                ^ crc_bytes[1][word >> 48 & 255] ^ crc_bytes[0][word >> 56];
            data += 8;
            size -= 8;
        }
        while (size--) crc = crc_bytes[0][(crc ^ *data++) & 255] ^ crc >> 8;
        return crc;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #define CRC_HAS_INSTRUCTION __builtin_cpu_supports("sse4.2")
    static uint32_t crc_shifted(uint32_t crc) {
        return crc_shift[0][crc & 255] ^ crc_shift[1][crc >> 8 & 255] ^ crc_shift[2][crc >> 16 & 255] ^ crc_shift[3][crc >> 24];
    }
    __attribute__((target("sse4.2")))
    static uint32_t crc_by_instruction(uint32_t crc, const uint8_t* data, size_t size) {
        uint64_t one = crc, two, three, word;
        size_t index;
        while (size >= 3 * CRC_BLOCK) {
            two = three = 0;
            for (index = 0; index < CRC_BLOCK; index += 8) {
                memcpy(&word, data + index, 8);
                one = __builtin_ia32_crc32di(one, word);
                memcpy(&word, data + CRC_BLOCK + index, 8);
                two = __builtin_ia32_crc32di(two, word);
                memcpy(&word, data + 2 * CRC_BLOCK + index, 8);
                three = __builtin_ia32_crc32di(three, word);
            }
            one = crc_shifted(crc_shifted((uint32_t) one) ^ (uint32_t) two) ^ three;
            data += 3 * CRC_BLOCK;
            size -= 3 * CRC_BLOCK;
        }
        while (size >= 8) {
            memcpy(&word, data, 8);
            one = __builtin_ia32_crc32di(one, word);
            data += 8;
            size -= 8;
        }
        while (size--) one = __builtin_ia32_crc32qi((uint32_t) one, *data++);
        return (uint32_t) one;
    }
    #else
    #define CRC_HAS_INSTRUCTION 0
    #define crc_by_instruction crc_by_tables
    #endif

    /* Once, before anything else. */
    static void crc_prepare(void) {
        static const uint8_t zeros[CRC_BLOCK];
        uint32_t value, bit, index, place;
        for (index = 0; index < 256; index++) {
            value = index;
            for (bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ 0x82F63B78u : value >> 1;
            crc_bytes[0][index] = value;
        }
        for (place = 1; place < 8; place++)
            for (index = 0; index < 256; index++) {
                value = crc_bytes[place - 1][index];
                crc_bytes[place][index] = crc_bytes[0][value & 255] ^ value >> 8;
            }
        for (place = 0; place < 4; place++)
            for (index = 0; index < 256; index++)
                crc_shift[place][index] = crc_by_tables(index << 8 * place, zeros, CRC_BLOCK);
    }

    static uint32_t crc32c_of(const uint8_t* data, size_t size, int by_tables) {
        if (CRC_HAS_INSTRUCTION && !by_tables) return ~crc_by_instruction(0xFFFFFFFFu, data, size);
        return ~crc_by_tables(0xFFFFFFFFu, data, size);
    }
    """
    void crc_prepare() nogil
    uint32_t crc32c_of(const uint8_t* data, size_t size, bint by_tables) nogil
