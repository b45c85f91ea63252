# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Plain produce requests, from the socket to the file and back, without the GIL; see `penstock.server.connections.plain`.

Input is hostile: each byte is read only after its place was compared with the end. Whatever is not beyond doubt is left to Python.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.errno cimport EINTR, errno
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset, strerror
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

from penstock.records._crc cimport crc32c_of, crc_prepare
from penstock.records._plain cimport HEADER_BYTES, big_endian, bounds_at, has_plain_header, has_plain_records
from penstock.records._vectors cimport Vector
from penstock.storage._tail_native cimport Placed, State, Tail, Tails, Terms, append, look

cdef extern from "<sys/socket.h>" nogil:
    ssize_t recv(int fd, void* data, size_t size, int flags)
    ssize_t send(int fd, const void* data, size_t size, int flags)
    int MSG_NOSIGNAL

cdef extern from *:
    int __atomic_load_n(const int* value, int order) nogil
    void __atomic_store_n(int* value, int new, int order) nogil
    int64_t __atomic_add_fetch(int64_t* value, int64_t more, int order) nogil
    int64_t __atomic_exchange_n(int64_t* value, int64_t new, int order) nogil

crc_prepare()

cdef enum:
    OLDEST = 3
    NEWEST = 13
    START_IN_ANSWER_FROM = 5
    ERRORS_IN_ANSWER_FROM = 8
    FLEXIBLE_FROM = 9
    IDS_FROM = 13
    ID_BYTES = 16
    LONGEST_NAME = 249
    MOST_ANSWER_BYTES = 320     # a name and some forty bytes
    MOST_HELD_BYTES = 8192
    TIMED_EVERY = 8
    BUCKETS = 156
    MOST_BITS = 40
    # How a conversation goes on.
    FOR_PYTHON = 0              # the next request, or none at all, is Python's
    WAKE = 1


cdef struct Produce:            # a request that is plain by its form
    int16_t version
    int16_t acks
    int32_t correlation_id
    int32_t partition
    int32_t key_size
    const uint8_t* key          # the topic's name or id
    uint8_t* batch
    size_t batch_size


cdef struct Input:
    uint8_t* data
    size_t at
    size_t end
    bint is_bad


cdef inline uint64_t number(Input* input, size_t size) noexcept nogil:
    cdef uint64_t value
    if size > input.end - input.at:
        input.is_bad = True
        return 0
    value = big_endian(input.data + input.at, size)
    input.at += size
    return value


cdef inline int64_t length(Input* input, bint flexible, int fixed) noexcept nogil:
    """Of a string, bytes or an array; -1 is null."""
    cdef uint64_t value = 0, byte = 0x80
    cdef int shift = 0
    if not flexible:
        return <int16_t> number(input, 2) if fixed == 2 else <int32_t> number(input, 4)
    while byte & 0x80:
        byte = number(input, 1)
        if shift > 28 or input.is_bad:
            input.is_bad = True
            return -1
        value |= (byte & 0x7F) << shift
        shift += 7
    if value > 0x7FFFFFFF:  # no length at all, and a cast would make a small one of it
        input.is_bad = True
        return -1
    return <int64_t> value - 1


cdef inline const uint8_t* taken(Input* input, int64_t size) noexcept nogil:
    cdef uint8_t* start = input.data + input.at
    if size < 0 or <size_t> size > input.end - input.at:
        input.is_bad = True
        return start
    input.at += size
    return start


cdef inline void no_tags(Input* input, bint flexible) noexcept nogil:
    if flexible and number(input, 1) != 0:
        input.is_bad = True


cdef bint read_produce(uint8_t* frame, size_t size, Produce* produce) noexcept nogil:
    """Whether a frame is a produce request of one batch for one partition, outside of transactions."""
    cdef Input input
    cdef const uint8_t* client
    cdef int64_t client_size, index
    cdef bint flexible
    input.data, input.at, input.end, input.is_bad = frame, 0, size, False
    if number(&input, 2) != 0:
        return False
    produce.version = <int16_t> number(&input, 2)
    produce.correlation_id = <int32_t> number(&input, 4)
    if input.is_bad or not OLDEST <= produce.version <= NEWEST:
        return False
    flexible = produce.version >= FLEXIBLE_FROM
    client_size = <int16_t> number(&input, 2)
    if client_size != -1:
        client = taken(&input, client_size)
        if input.is_bad:
            return False
        for index in range(client_size):
            if client[index] >= 0x80:
                return False
    no_tags(&input, flexible)
    if length(&input, flexible, 2) != -1:  # the transactional id
        return False
    produce.acks = <int16_t> number(&input, 2)
    number(&input, 4)  # the timeout, of which a lone replica has no use
    if not -1 <= produce.acks <= 1 or length(&input, flexible, 4) != 1:
        return False
    produce.key_size = ID_BYTES if produce.version >= IDS_FROM else <int32_t> length(&input, flexible, 2)
    produce.key = taken(&input, produce.key_size)
    if produce.key_size > LONGEST_NAME or length(&input, flexible, 4) != 1:
        return False
    produce.partition = <int32_t> number(&input, 4)
    produce.batch_size = <size_t> length(&input, flexible, 4)
    produce.batch = <uint8_t*> taken(&input, <int64_t> produce.batch_size)
    no_tags(&input, flexible)
    no_tags(&input, flexible)
    no_tags(&input, flexible)
    return not input.is_bad and input.at == input.end and produce.batch_size >= HEADER_BYTES


cdef inline void put(uint8_t** out, int64_t value, int size) noexcept nogil:
    cdef int index
    for index in range(size):
        out[0][index] = <uint8_t> (value >> (8 * (size - 1 - index)))
    out[0] += size


cdef size_t write_answer(uint8_t* out, Produce* produce, Placed* placed) noexcept nogil:
    """Without its length; at most `MOST_ANSWER_BYTES`."""
    cdef uint8_t* start = out
    cdef bint flexible = produce.version >= FLEXIBLE_FROM
    put(&out, produce.correlation_id, 4)
    if flexible:
        put(&out, 0, 1)
        put(&out, 2, 1)
    else:
        put(&out, 1, 4)
    if produce.version < IDS_FROM and flexible:
        if produce.key_size + 1 >= 0x80:
            put(&out, (produce.key_size + 1) & 0x7F | 0x80, 1)
            put(&out, (produce.key_size + 1) >> 7, 1)
        else:
            put(&out, produce.key_size + 1, 1)
    elif not flexible:
        put(&out, produce.key_size, 2)
    memcpy(out, produce.key, produce.key_size)
    out += produce.key_size
    put(&out, 2 if flexible else 1, 1 if flexible else 4)
    put(&out, produce.partition, 4)
    put(&out, 0, 2)
    put(&out, placed.base_offset, 8)
    put(&out, -1, 8)
    if produce.version >= START_IN_ANSWER_FROM:
        put(&out, placed.log_start_offset, 8)
    if flexible:
        put(&out, 0x01000000, 4)    # no errors of records, no message, no tags of the partition and of the topic
    elif produce.version >= ERRORS_IN_ANSWER_FROM:
        put(&out, 0xFFFF, 6)
    put(&out, 0, 4)
    if flexible:
        put(&out, 0, 1)
    return out - start


cdef int64_t nanoseconds() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t> time.tv_sec * 1_000_000_000 + time.tv_nsec


cdef int64_t now_ms() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_REALTIME, &time)
    return <int64_t> time.tv_sec * 1_000 + time.tv_nsec // 1_000_000


cdef class Plain:
    """One for all connections of a server."""

    cdef Tails tails
    cdef int is_allowed
    cdef int64_t count
    cdef int64_t bytes_in
    cdef int64_t nanoseconds
    cdef int64_t timed[BUCKETS]

    def __cinit__(self, Tails tails not None):
        self.tails = tails
        self.is_allowed = 1

    def allow(self, bint is_allowed):
        __atomic_store_n(&self.is_allowed, is_allowed, 5)

    def take_counts(self):
        """Requests, their bytes, and how long those took that were timed: by bucket, and all of them in seconds."""
        cdef int index
        cdef double seconds = __atomic_exchange_n(&self.nanoseconds, 0, 5) / 1e9
        timed = [__atomic_exchange_n(&self.timed[index], 0, 5) for index in range(BUCKETS)]
        return __atomic_exchange_n(&self.count, 0, 5), __atomic_exchange_n(&self.bytes_in, 0, 5), timed, seconds

    cdef State* serve(self, uint8_t* frame, size_t size, Vector* unpacked, uint8_t* answer, size_t* answer_size, bint* wakes) noexcept nogil:
        """The state of the partition that a request was written to, for the caller to let go of, with the answer; NULL when the
        request is Python's, and nothing has changed."""
        cdef Produce produce
        cdef Terms terms
        cdef Placed placed
        cdef State* state
        cdef int64_t count, began
        if not __atomic_load_n(&self.is_allowed, 0) or not read_produce(frame, size, &produce):
            return NULL
        began = nanoseconds()
        state = self.tails.find(produce.key, produce.key_size, produce.partition, produce.version >= IDS_FROM)
        if state == NULL:
            return NULL
        unpacked.size = 0
        if (
            not look(state, &terms)
            or <int64_t> produce.batch_size > terms.max_bytes
            or not has_plain_header(produce.batch, produce.batch_size)
            or crc32c_of(produce.batch + 21, produce.batch_size - 21, False) != big_endian(produce.batch + 17, 4)
            or not has_plain_records(
                produce.batch,
                produce.batch_size,
                bounds_at(now_ms(), terms.before_ms, terms.after_ms, terms.require_keys),
                unpacked,
            )
            or not append(state, produce.batch, produce.batch_size, terms.generation, &placed)
        ):
            self.tails.let_go(state)
            return NULL
        answer_size[0] = write_answer(answer, &produce, &placed) if produce.acks else 0
        wakes[0] = placed.has_waiting
        count = __atomic_add_fetch(&self.count, 1, 0)
        __atomic_add_fetch(&self.bytes_in, size, 0)
        if count % TIMED_EVERY == 0:
            self.record(nanoseconds() - began)
        return state

    cdef void record(self, int64_t took) noexcept nogil:
        """As `metrics.histogram.Histogram.record`, for `TIMED_EVERY` requests."""
        cdef int64_t micros = took // 1000
        cdef int64_t rest = micros
        cdef int bits = 0, bucket
        while rest:
            bits += 1
            rest >>= 1
        if bits <= 2:
            bucket = <int> micros
        else:
            bucket = bits * 4 - 8 + <int> (micros >> (bits - 3) & 3) if bits <= MOST_BITS else BUCKETS - 1
        __atomic_add_fetch(&self.timed[bucket], TIMED_EVERY, 0)
        __atomic_add_fetch(&self.nanoseconds, took * TIMED_EVERY, 0)


cdef class Conversation:
    """The plain requests of one connection. Used by its own thread alone."""

    cdef Plain plain
    cdef Vector unpacked
    cdef uint8_t held[MOST_HELD_BYTES + MOST_ANSWER_BYTES]
    cdef size_t held_size

    def __cinit__(self, Plain plain not None):
        self.plain = plain
        memset(&self.unpacked, 0, sizeof(Vector))

    def __dealloc__(self):
        free(self.unpacked.data)

    def serve(self, frame):
        """The answer to a request as a whole; None when Python has to serve it. Empty where none is wanted."""
        cdef Py_buffer view
        cdef uint8_t answer[MOST_ANSWER_BYTES]
        cdef size_t size = 0
        cdef bint wakes = False
        cdef State* state
        PyObject_GetBuffer(frame, &view, PyBUF_WRITABLE)
        with nogil:
            state = self.plain.serve(<uint8_t*> view.buf, view.len, &self.unpacked, answer, &size, &wakes)
        PyBuffer_Release(&view)
        if state == NULL:
            return None
        try:
            if wakes:
                wake(state)
        finally:
            self.plain.tails.let_go(state)
        return PyBytes_FromStringAndSize(<char*> answer, size)

    def converse(self, int fd, bytes answers, room, Py_ssize_t start, Py_ssize_t end):
        """Send `answers`, and serve plain requests from the bytes of `room` between `start` and `end` and from what the peer sends
        on, until Python is needed: the same two places then. A negative start says with which error sending failed; OSError when
        receiving did."""
        cdef Py_buffer view
        cdef const char* data = answers
        cdef size_t left = len(answers)
        cdef State* state = NULL
        cdef int error = 0, kind
        cdef int reason = FOR_PYTHON
        PyObject_GetBuffer(room, &view, PyBUF_WRITABLE)
        try:
            with nogil:
                error = send_all(fd, data, left)
            while not error:
                with nogil:
                    reason = self.go_on(fd, <uint8_t*> view.buf, view.len, &start, &end, &state, &error)
                if reason != WAKE:
                    break
                try:
                    wake(state)
                finally:
                    self.plain.tails.let_go(state)
        finally:
            PyBuffer_Release(&view)
        if error < 0:
            return error, end
        if error:
            raise OSError(error, strerror(error).decode("utf-8", "replace"))
        return start, end

    cdef int go_on(
        self, int fd, uint8_t* room, Py_ssize_t size, Py_ssize_t* start, Py_ssize_t* end, State** woken, int* error
    ) noexcept nogil:
        cdef Py_ssize_t have
        cdef uint64_t frame
        cdef ssize_t count
        cdef size_t answer_size
        cdef bint wakes
        cdef State* state
        cdef uint8_t* out
        while True:
            have = end[0] - start[0]
            if have >= 4:
                frame = big_endian(room + start[0], 4)
                if frame + 4 <= <uint64_t> have:
                    wakes, answer_size = False, 0
                    out = self.held + self.held_size
                    state = self.plain.serve(room + start[0] + 4, frame, &self.unpacked, out + 4, &answer_size, &wakes)
                    if state == NULL:
                        error[0] = self.flush(fd)
                        return FOR_PYTHON
                    start[0] += 4 + frame
                    if answer_size:
                        put(&out, answer_size, 4)
                        self.held_size += 4 + answer_size
                    if self.held_size > MOST_HELD_BYTES - MOST_ANSWER_BYTES:
                        error[0] = self.flush(fd)
                    if wakes:
                        woken[0] = state
                        return WAKE
                    self.plain.tails.let_go(state)
                    if error[0]:
                        return FOR_PYTHON
                    continue
                if frame + 4 > <uint64_t> size:
                    error[0] = self.flush(fd)
                    return FOR_PYTHON
            if start[0]:
                memmove(room, room + start[0], have)
                start[0] = 0
                end[0] = have
            error[0] = self.flush(fd)
            if error[0] or have == size:
                return FOR_PYTHON
            count = recv(fd, room + have, size - have, 0)
            while count < 0 and errno == EINTR:
                count = recv(fd, room + have, size - have, 0)
            if count < 0:
                error[0] = errno
            if count <= 0:
                return FOR_PYTHON
            end[0] += count

    cdef int flush(self, int fd) noexcept nogil:
        cdef int error = send_all(fd, <const char*> self.held, self.held_size)
        self.held_size = 0
        return error


cdef int send_all(int fd, const char* data, size_t left) noexcept nogil:
    cdef ssize_t count
    while left:
        count = send(fd, data, left, MSG_NOSIGNAL)
        if count >= 0:
            data += count
            left -= count
        elif errno != EINTR:
            return -errno
    return 0


cdef object wake(State* state):
    """Requests wait for this partition. Its tail may be gone, and the requests with it."""
    cdef object tail
    if state.tail != NULL:
        tail = <object> <PyObject*> state.tail
        tail.wake()


def crc32c(data, *, bint by_tables=False):
    """For tests: the same as the library's."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return crc32c_of(<uint8_t*> view.buf, view.len, by_tables)
    finally:
        PyBuffer_Release(&view)
