# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The end of a log without the GIL: the twin of `penstock.storage.tail.PureTail`, which says what it means.

In here: a lock, the place and the offset of the next batch, what the next batch of each known producer must be, and the headers of
the batches that the log has not been told of yet. Never in here: rolling, indexes, duplicates, transactions, refusals, recovery. A
batch that needs any of them is not appended, and the caller goes the way of Python.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EINTR, errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset
from posix.unistd cimport ftruncate, pwrite

from penstock.records._plain cimport TRANSACTIONAL, big_endian

cdef extern from "<pthread.h>" nogil:
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_trylock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    pthread_t pthread_self()

cdef enum:
    TO_CHANGE = 0
    TO_READ = 1
    TO_APPEND = 2
    MOST_RELATIVE = 0x7FFFFFFF
    BUCKETS = 4096


cdef class Flag:
    """Set once, when a log directory fails; read with every append."""

    cpdef void set(self):
        self.value = 1


cdef class Entry:
    """A way to enter the lock for those that do not change what the tail knows."""

    cdef Tail tail
    cdef int kind

    def __init__(self, Tail tail not None, *, bint appends):
        self.tail = tail
        self.kind = TO_APPEND if appends else TO_READ

    def __enter__(self):
        self.tail.enter(self.kind)

    def __exit__(self, kind, error, trace):
        if kind is not None and self.kind == TO_APPEND:
            shut(self.tail.state)
        self.tail.leave()


cdef class Tail:
    def __cinit__(self, settle, wake):
        self.state = <State*> calloc(1, sizeof(State))
        if self.state == NULL:
            raise MemoryError
        pthread_mutex_init(&self.state.mutex, NULL)
        self.state.references = 1
        self.state.tail = <void*> self
        self.state.ahead = -1
        self.settle = settle
        self.wake = wake

    def __dealloc__(self):
        if self.state == NULL:
            return
        pthread_mutex_lock(&self.state.mutex)
        self.state.tail = NULL
        shut(self.state)
        pthread_mutex_unlock(&self.state.mutex)
        drop(self.state)

    # The lock

    cdef int enter(self, int kind) except -1:
        cdef State* state = self.state
        cdef pthread_t me = pthread_self()
        if state.owner == me:
            state.depth += 1
        else:
            if pthread_mutex_trylock(&state.mutex):
                with nogil:
                    pthread_mutex_lock(&state.mutex)
            state.owner = me
            state.depth = 1
        if kind == TO_CHANGE:
            shut(state)
        elif kind == TO_APPEND and state.depth == 1:
            state.is_suspended = state.is_open
            state.is_open = False
        if state.count:
            try:
                self.settle(PyBytes_FromStringAndSize(<char*> state.appended, state.count * HEADER))
            except BaseException:
                shut(state)
                state.count = 0
                state.ahead = -1
                self.leave()
                raise
            state.count = 0
            state.ahead = -1
        return 0

    cdef int leave(self) except -1:
        cdef State* state = self.state
        assert state.owner == pthread_self(), "the lock is another thread's"
        state.depth -= 1
        if state.depth == 0:
            state.is_suspended = False
            state.owner = 0
            pthread_mutex_unlock(&state.mutex)
        return 0

    def __enter__(self):
        self.enter(TO_CHANGE)

    def __exit__(self, kind, error, trace):
        self.leave()

    def is_owned(self):
        return self.state.owner == pthread_self()

    # What Python says, with the lock held

    def open(
        self,
        file,
        Flag flag not None,
        *,
        int64_t position,
        int64_t end_offset,
        int64_t base_offset,
        int64_t log_start_offset,
        int32_t leader_epoch,
        int64_t segment_bytes,
        int64_t first_timestamp,
        int64_t segment_ms,
        int64_t last_end_offset,
        int64_t batches_left,
        int64_t max_bytes,
        int64_t before_ms,
        int64_t after_ms,
        bint require_keys,
    ):
        cdef State* state = self.state
        assert state.owner == pthread_self() and not state.count
        self.file = file
        self.flag = flag
        state.failed = &flag.value
        state.fd = file.fileno()
        state.position = position
        state.end_offset = end_offset
        state.base_offset = base_offset
        state.log_start_offset = log_start_offset
        state.leader_epoch = leader_epoch
        state.segment_bytes = segment_bytes
        state.first_timestamp = first_timestamp
        state.segment_ms = segment_ms
        state.last_end_offset = last_end_offset
        state.batches_left = batches_left
        state.terms.generation += 1
        state.terms.max_bytes = max_bytes
        state.terms.before_ms = before_ms
        state.terms.after_ms = after_ms
        state.terms.require_keys = require_keys
        if not state.is_suspended:
            forget(state)
        state.is_open = True

    def resume(self, file, int64_t end_offset, int64_t position):
        cdef State* state = self.state
        assert state.owner == pthread_self() and not state.count
        if not state.is_suspended or file is not self.file:
            return False
        state.end_offset = end_offset
        state.position = position
        state.is_open = True
        return True

    def expect(self, int64_t producer_id, int32_t epoch, int32_t next_sequence):
        cdef State* state = self.state
        cdef Producer* slot
        assert state.owner == pthread_self() and producer_id >= 0
        if state.producer_count >= MOST_PRODUCERS:
            forget(state)
        slot = slot_of(state, producer_id)
        if slot.producer_id < 0:
            state.producer_count += 1
        slot.producer_id = producer_id
        slot.epoch = epoch
        slot.next_sequence = next_sequence

    def unexpect(self, int64_t producer_id):
        """Its next batch goes the way of Python: no epoch is negative."""
        cdef Producer* slot = slot_of(self.state, producer_id)
        assert self.state.owner == pthread_self()
        if slot.producer_id >= 0:
            slot.epoch = -1

    def close(self):
        """Nothing is appended here any more, and the file is let go of."""
        assert self.state.owner == pthread_self()
        shut(self.state)
        self.file = None

    # What anybody may read

    @property
    def is_open(self):
        return bool(self.state.is_open)

    @property
    def ahead(self):
        return self.state.ahead

    @property
    def waiting(self):
        return self.state.waiting

    @waiting.setter
    def waiting(self, int count):
        assert self.state.owner == pthread_self()
        self.state.waiting = count

    # One step of the native way, for tests

    def append(self, batch):
        cdef Placed placed
        cdef Terms terms
        cdef uint8_t[::1] view = batch
        cdef bint is_done
        with nogil:
            is_done = look(self.state, &terms) and append(self.state, &view[0], view.shape[0], terms.generation, &placed)
        return (placed.base_offset, placed.log_start_offset, bool(placed.has_waiting)) if is_done else None


cdef inline void forget(State* state) noexcept nogil:
    memset(state.producers, 0xFF, sizeof(state.producers))
    state.producer_count = 0


cdef inline void shut(State* state) noexcept nogil:
    state.is_open = False
    state.is_suspended = False


cdef void drop(State* state) noexcept nogil:
    """One reference less; the guard of the table holds for all but the last."""
    if __atomic_sub_fetch(&state.references, 1, 5) == 0:
        pthread_mutex_destroy(&state.mutex)
        free(state)


cdef extern from *:
    int __atomic_sub_fetch(int* value, int less, int order) nogil
    int __atomic_add_fetch(int* value, int more, int order) nogil
    int __atomic_load_n(const int* value, int order) nogil


cdef inline Producer* slot_of(State* state, int64_t producer_id) noexcept nogil:
    """The producer's slot, or the empty one where it belongs; there always is one."""
    cdef uint64_t at = (<uint64_t> producer_id * <uint64_t> 0x9E3779B97F4A7C15) >> 56
    while state.producers[at].producer_id != producer_id and state.producers[at].producer_id >= 0:
        at = (at + 1) & (SLOTS - 1)
    return &state.producers[at]


cdef bint look(State* state, Terms* terms) noexcept nogil:
    """What a batch must be; False when none is taken now."""
    cdef bint is_open
    pthread_mutex_lock(&state.mutex)
    is_open = state.is_open
    terms[0] = state.terms
    pthread_mutex_unlock(&state.mutex)
    return is_open


cdef inline void put(uint8_t* data, int64_t value, int size) noexcept nogil:
    cdef int index
    for index in range(size):
        data[index] = <uint8_t> (value >> (8 * (size - 1 - index)))


cdef bint write_all(int fd, const uint8_t* data, size_t size, int64_t position) noexcept nogil:
    cdef ssize_t count
    while size:
        count = pwrite(fd, data, size, position)
        if count < 0 and errno == EINTR:
            continue
        if count <= 0:
            return False
        data += count
        size -= count
        position += count
    return True


cdef bint append(State* state, uint8_t* batch, size_t size, int64_t generation, Placed* placed) noexcept nogil:
    """Append a batch that is plain by the terms of this generation. False when Python must do it; then nothing has changed."""
    cdef bint is_done
    pthread_mutex_lock(&state.mutex)
    is_done = append_locked(state, batch, size, generation, placed)
    pthread_mutex_unlock(&state.mutex)
    return is_done


cdef bint append_locked(State* state, uint8_t* batch, size_t size, int64_t generation, Placed* placed) noexcept nogil:
    cdef int64_t base_offset = state.end_offset
    cdef int32_t delta = <int32_t> big_endian(batch + 23, 4)
    cdef int64_t last_offset = base_offset + delta
    cdef int64_t max_timestamp = <int64_t> big_endian(batch + 35, 8)
    cdef int64_t producer_id = <int64_t> big_endian(batch + 43, 8)
    cdef int32_t sequence = <int32_t> big_endian(batch + 53, 4)
    cdef Producer* producer = NULL
    cdef uint8_t epoch_before[4]
    if (
        not state.is_open
        or generation != state.terms.generation
        or __atomic_load_n(state.failed, 0)
        or state.count == MOST_APPENDED
        or state.batches_left <= 0
        or big_endian(batch + 21, 2) & TRANSACTIONAL
        or last_offset - state.base_offset > MOST_RELATIVE
        or last_offset + 1 >= state.last_end_offset
        or state.position > state.segment_bytes - <int64_t> size
        or max_timestamp - state.first_timestamp > state.segment_ms
    ):
        return False
    if producer_id >= 0:
        producer = slot_of(state, producer_id)
        if (
            producer.producer_id != producer_id
            or producer.epoch != <int32_t> big_endian(batch + 51, 2)
            or producer.next_sequence != sequence
        ):
            return False
    memcpy(epoch_before, batch + 12, 4)
    put(batch, base_offset, 8)
    put(batch + 12, state.leader_epoch, 4)
    if not write_all(state.fd, batch, size, state.position):
        # As `storage.disk.OsFile.append`: half a batch must not be found. Python writes again, and learns what is wrong.
        ftruncate(state.fd, state.position)
        put(batch, 0, 8)
        memcpy(batch + 12, epoch_before, 4)
        return False
    memcpy(state.appended + state.count * HEADER, batch, HEADER)
    state.count += 1
    state.batches_left -= 1
    state.position += size
    state.end_offset = last_offset + 1
    state.ahead = state.end_offset
    if producer != NULL:
        producer.next_sequence = (sequence + delta + 1) & 0x7FFFFFFF
    placed.base_offset = base_offset
    placed.log_start_offset = state.log_start_offset
    placed.has_waiting = state.waiting > 0
    return True


cdef uint64_t hashed(const uint8_t* key, int32_t size, int32_t partition) noexcept nogil:
    cdef uint64_t value = <uint64_t> 14695981039346656037 ^ <uint64_t> partition
    cdef int32_t index
    for index in range(size):
        value = (value ^ key[index]) * <uint64_t> 1099511628211
    return (value ^ value >> 32) & (BUCKETS - 1)


cdef class Tails:
    """The tails of partitions, by the name or the id of their topic."""

    def __cinit__(self):
        pthread_mutex_init(&self.guard, NULL)
        self.buckets = <Node**> calloc(BUCKETS, sizeof(Node*))
        if self.buckets == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Node* node
        cdef int index
        if self.buckets != NULL:
            for index in range(BUCKETS):
                while self.buckets[index] != NULL:
                    node = self.buckets[index]
                    self.buckets[index] = node.following
                    free_node(node)
            free(self.buckets)
        pthread_mutex_destroy(&self.guard)

    def add(self, bytes key, int partition, Tail tail not None, *, bint by_id):
        cdef Node* node = <Node*> calloc(1, sizeof(Node))
        cdef uint64_t bucket
        self.remove(key, partition, by_id=by_id)
        if node != NULL:
            node.key = <uint8_t*> malloc(len(key) + 1)
        if node == NULL or node.key == NULL:
            free(node)
            raise MemoryError
        node.size = len(key)
        memcpy(node.key, <const uint8_t*> key, node.size)
        node.partition = partition
        node.by_id = by_id
        node.state = tail.state
        __atomic_add_fetch(&tail.state.references, 1, 5)
        bucket = hashed(node.key, node.size, partition)
        pthread_mutex_lock(&self.guard)
        node.following = self.buckets[bucket]
        self.buckets[bucket] = node
        pthread_mutex_unlock(&self.guard)

    def remove(self, bytes key, int partition, *, bint by_id):
        cdef int32_t size = len(key)
        cdef const uint8_t* data = key
        cdef Node** link = &self.buckets[hashed(data, size, partition)]
        cdef Node* found = NULL
        pthread_mutex_lock(&self.guard)
        while link[0] != NULL:
            if is_it(link[0], data, size, partition, by_id):
                found = link[0]
                link[0] = found.following
                break
            link = &link[0].following
        pthread_mutex_unlock(&self.guard)
        if found != NULL:
            free_node(found)

    cdef State* find(self, const uint8_t* key, int32_t size, int32_t partition, bint by_id) noexcept nogil:
        """The state of this partition, for the caller to `let_go`; NULL when there is none."""
        cdef Node* node
        cdef State* state = NULL
        pthread_mutex_lock(&self.guard)
        node = self.buckets[hashed(key, size, partition)]
        while node != NULL:
            if is_it(node, key, size, partition, by_id):
                state = node.state
                __atomic_add_fetch(&state.references, 1, 5)
                break
            node = node.following
        pthread_mutex_unlock(&self.guard)
        return state

    cdef void let_go(self, State* state) noexcept nogil:
        drop(state)


cdef inline bint is_it(Node* node, const uint8_t* key, int32_t size, int32_t partition, bint by_id) noexcept nogil:
    return node.partition == partition and node.by_id == by_id and node.size == size and memcmp(node.key, key, size) == 0


cdef void free_node(Node* node) noexcept nogil:
    drop(node.state)
    free(node.key)
    free(node)
