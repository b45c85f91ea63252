# cython: language_level=3
"""The native tail for those that append without the GIL; `penstock.storage.tail` says what it means."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef unsigned long pthread_t

cdef enum:
    MOST_APPENDED = 256     # batches that the log has not been told of
    HEADER = 61
    SLOTS = 256             # of producers, a power of two
    MOST_PRODUCERS = 128


cdef struct Producer:
    int64_t producer_id     # -1 in an empty slot
    int32_t epoch
    int32_t next_sequence


cdef struct Terms:          # what a batch must be to be appended; the same within a generation
    int64_t generation
    int64_t max_bytes
    int64_t before_ms
    int64_t after_ms
    bint require_keys


cdef struct State:
    pthread_mutex_t mutex
    pthread_t owner         # a thread of Python, 0 when there is none
    int depth
    int references          # under `guard` of the table
    void* tail              # the Tail, borrowed: read with the GIL only
    bint is_open
    bint is_suspended
    int waiting
    Terms terms
    const int* failed       # of the directory
    int fd
    int64_t position
    int64_t end_offset
    int64_t ahead           # the end offset while the log has not been told of it, -1 otherwise
    int64_t base_offset
    int64_t log_start_offset
    int64_t segment_bytes
    int64_t first_timestamp
    int64_t segment_ms
    int64_t last_end_offset
    int64_t batches_left
    int32_t leader_epoch
    int count
    int producer_count
    Producer producers[SLOTS]
    uint8_t appended[MOST_APPENDED * HEADER]


cdef struct Placed:
    int64_t base_offset
    int64_t log_start_offset
    bint has_waiting


cdef class Flag:
    cdef int value
    cpdef void set(self)


cdef class Tail:
    cdef State* state
    cdef object settle
    cdef readonly object wake
    cdef object file
    cdef Flag flag
    cdef int enter(self, int kind) except -1
    cdef int leave(self) except -1


cdef struct Node:
    uint8_t* key
    int32_t size
    int32_t partition
    bint by_id
    State* state
    Node* following


cdef class Tails:
    cdef pthread_mutex_t guard
    cdef Node** buckets
    cdef State* find(self, const uint8_t* key, int32_t size, int32_t partition, bint by_id) noexcept nogil
    cdef void let_go(self, State* state) noexcept nogil


cdef bint look(State* state, Terms* terms) noexcept nogil
cdef bint append(State* state, uint8_t* batch, size_t size, int64_t generation, Placed* placed) noexcept nogil
