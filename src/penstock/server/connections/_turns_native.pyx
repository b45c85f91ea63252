# cython: language_level=3
"""Turns without the GIL; see `penstock.server.connections.turns`.

Who waits stands in a queue with a semaphore on its own stack. It leaves the queue by being called, under the
mutex, or by itself when its patience ends; so nobody calls one that is gone.
"""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EINTR, errno
from libc.string cimport strerror

cdef extern from *:
    """
    #include <errno.h>
    #include <pthread.h>
    #include <semaphore.h>
    #include <sys/socket.h>
    #include <time.h>
    #if !defined(MSG_NOSIGNAL)
    #error "no MSG_NOSIGNAL"
    #endif

    /* -1 when the semaphore was not posted in time. */
    static int wait_for(sem_t *called, long nanoseconds) {
        struct timespec until;
        int failed;
        clock_gettime(CLOCK_MONOTONIC, &until);
        nanoseconds += until.tv_nsec;
        until.tv_sec += nanoseconds / 1000000000L;
        until.tv_nsec = nanoseconds % 1000000000L;
        do {
            failed = sem_clockwait(called, CLOCK_MONOTONIC, &until);
        } while (failed && errno == EINTR);
        return failed;
    }

    static void pause_for(long nanoseconds) {
        struct timespec left = {nanoseconds / 1000000000L, nanoseconds % 1000000000L};
        while (nanosleep(&left, &left) && errno == EINTR) {}
    }
    """
    ctypedef struct sem_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    int sem_init(sem_t* sem, int shared, unsigned int value) nogil
    int sem_post(sem_t* sem) nogil
    int sem_destroy(sem_t* sem) nogil
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes) nogil
    int pthread_mutex_lock(pthread_mutex_t* mutex) nogil
    int pthread_mutex_unlock(pthread_mutex_t* mutex) nogil
    int pthread_mutex_destroy(pthread_mutex_t* mutex) nogil
    ssize_t recv(int fd, void* data, size_t size, int flags) nogil
    ssize_t send(int fd, const void* data, size_t size, int flags) nogil
    int MSG_NOSIGNAL
    int wait_for(sem_t* called, long nanoseconds) nogil
    void pause_for(long nanoseconds) nogil


cdef struct Waiter:
    sem_t called
    Waiter* following

cdef struct Queue:
    Waiter* first
    Waiter* last
    int size


cdef void join(Queue* queue, Waiter* waiter) noexcept nogil:
    waiter.following = NULL
    if queue.last == NULL:
        queue.first = waiter
    else:
        queue.last.following = waiter
    queue.last = waiter
    queue.size += 1


cdef bint leave(Queue* queue, Waiter* waiter) noexcept nogil:
    """Whether it was still there."""
    cdef Waiter* before = NULL
    cdef Waiter* found = queue.first
    while found != waiter:
        if found == NULL:
            return False
        before = found
        found = found.following
    if before == NULL:
        queue.first = waiter.following
    else:
        before.following = waiter.following
    if queue.last == waiter:
        queue.last = before
    queue.size -= 1
    return True


cdef class Turns:
    cdef pthread_mutex_t mutex
    cdef Queue queue
    cdef Queue behind
    cdef bint is_taken
    cdef long patience_ns
    cdef int crowd

    def __cinit__(self, double patience_seconds, int crowd):
        pthread_mutex_init(&self.mutex, NULL)
        self.patience_ns = <long>(patience_seconds * 1e9)
        self.crowd = crowd

    def __dealloc__(self):
        pthread_mutex_destroy(&self.mutex)

    def waiting(self):
        return self.queue.size, self.behind.size

    def take(self):
        cdef bint has_turn
        with nogil:
            has_turn = self.ask(&self.queue)
        return has_turn

    def take_behind(self):
        cdef bint has_turn
        with nogil:
            if self.queue.size >= self.crowd:
                pause_for(self.patience_ns)
            has_turn = self.ask(&self.behind)
        return has_turn

    def give_up(self):
        with nogil:
            self.call_next()

    def exchange(self, sock, bytes answers, room, bint has_turn):
        cdef int fd, error = 0
        cdef Py_buffer buffer
        cdef const char* data = answers
        cdef size_t left = len(answers)
        cdef ssize_t count = 0
        try:
            fd = sock.fileno()
            PyObject_GetBuffer(room, &buffer, PyBUF_WRITABLE)
        except BaseException:
            if has_turn:
                self.call_next()
            raise
        with nogil:
            if has_turn:
                self.call_next()
            while left:
                count = send(fd, data, left, MSG_NOSIGNAL)
                if count >= 0:
                    data += count
                    left -= count
                elif errno != EINTR:
                    error = -errno
                    break
            if not error:
                count = recv(fd, buffer.buf, buffer.len, 0)
                while count < 0 and errno == EINTR:
                    count = recv(fd, buffer.buf, buffer.len, 0)
                if count < 0:
                    error = errno
                has_turn = begins_with_produce(<unsigned char*>buffer.buf, count) and self.ask(&self.queue)
        PyBuffer_Release(&buffer)
        if error < 0:
            return error, False
        if error:
            raise OSError(error, strerror(error).decode("utf-8", "replace"))
        return count, has_turn

    cdef bint ask(self, Queue* queue) noexcept nogil:
        cdef Waiter waiter
        cdef bint is_called = True
        pthread_mutex_lock(&self.mutex)
        if not self.is_taken:
            self.is_taken = True
            pthread_mutex_unlock(&self.mutex)
            return True
        sem_init(&waiter.called, 0, 0)
        join(queue, &waiter)
        pthread_mutex_unlock(&self.mutex)
        if wait_for(&waiter.called, self.patience_ns):
            pthread_mutex_lock(&self.mutex)
            is_called = not leave(queue, &waiter)
            pthread_mutex_unlock(&self.mutex)
        sem_destroy(&waiter.called)
        return is_called

    cdef void call_next(self) noexcept nogil:
        cdef Queue* queue = &self.queue
        cdef Waiter* first
        pthread_mutex_lock(&self.mutex)
        if queue.first == NULL:
            queue = &self.behind
        first = queue.first
        if first == NULL:
            self.is_taken = False
        else:
            leave(queue, first)
            sem_post(&first.called)
        pthread_mutex_unlock(&self.mutex)


cdef bint begins_with_produce(const unsigned char* data, ssize_t count) noexcept nogil:
    """As a whole; length and API key are big-endian, and Produce is 0."""
    cdef unsigned long size
    if count < 6:
        return False
    size = (<unsigned long>data[0] << 24) | (<unsigned long>data[1] << 16) | (<unsigned long>data[2] << 8) | data[3]
    return size + 4 <= <unsigned long>count and data[4] == 0 and data[5] == 0
