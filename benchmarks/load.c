/* The load generator: requests that were encoded beforehand, over raw sockets, one thread, one epoll.
 *
 * A plan comes on standard input (benchmarks/plan.py writes it), one JSON object goes to standard output. A frame
 * is sent from where it lies as often as it is needed and never changed, except for the offset of a fetch. All that
 * is looked at in an answer is its error code and, for a fetch, the headers of the batches in it.
 *
 *   broker HOST PORT PID              whose CPU time is measured too; PID 0 for nobody's
 *   frames PATH                       a file with all frames, each with its length in front
 *   tls PATH                          certificates to believe; only in the program that is built with WITH_TLS
 *   time WARM_MS RUN_MS MAX_BYTES     a quarter of MAX_BYTES is the most that warming up may take
 *   producer GROUP LANE AT LENGTH COUNT ERROR_AT RECORDS BATCH_BYTES IN_FLIGHT INTERVAL_NS DELAY_NS
 *   consumer GROUP LANE AT LENGTH OFFSET_AT ERROR_AT RECORDS_AT START END
 *
 * A producer sends COUNT frames of LENGTH bytes in turn. With an interval it keeps to its timetable, and latency
 * counts from the time at which a batch was due, whether or not it could be sent then. With an interval and one
 * request in flight it is synchronous: it waits for the answer, then for the interval. A consumer with an END begins
 * again when it has reached it; without one it follows the tail. A lane ties a producer to the consumer of the same
 * partition: it remembers when each batch was due.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum { MAX_CONNECTIONS = 256, MAX_LANES = 64, MAX_GROUPS = 4, RING = 1 << 16, BUCKETS = 4096, MOST_FRAMES = 64 };
enum { DRAIN_SECONDS = 30, SMALLEST_BUFFER = 1 << 16, BATCH_HEAD = 27 };

typedef uint64_t u64;
typedef int64_t i64;

struct histogram {
    u64 counts[BUCKETS], total, max;
};

struct group {
    u64 requests, records, bytes;
    struct histogram answered, consumed; /* due -> acknowledged, due -> fetched */
};

struct lane {
    u64 due[RING], produced, consumed;
    i64 records; /* of each of its batches */
};

struct connection {
    int fd, producer, group, lane;
    unsigned char *frames;
    u64 length, count, error_at;
    u64 asked, sent, answered, part; /* whole frames, and bytes of the one that is being sent */
    u64 due[RING];
    u64 records, batch_bytes, in_flight, interval, next_due;
    u64 offset_at, records_at;
    i64 start, offset, end;
    unsigned char *buffer;
    u64 capacity, have;
#ifdef WITH_TLS
    SSL *tls;
#endif
};

static struct connection connections[MAX_CONNECTIONS];
static struct lane lanes[MAX_LANES];
static struct group groups[MAX_GROUPS];
static int connection_count, group_count, stopping;
static u64 total_bytes;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static u64 clock_ns(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time)) fail("a clock cannot be read: %s", strerror(errno));
    return (u64)time.tv_sec * 1000000000u + (u64)time.tv_nsec;
}

static u64 now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* Buckets of 1/64 of their value: quantiles are off by at most 1.6 %, and memory does not grow with the run. */
static void note(struct histogram *histogram, u64 value) {
    u64 index = value;
    if (value >= 128) {
        int shift = 63 - __builtin_clzll(value) - 6;
        index = 128 + (u64)(shift - 1) * 64 + ((value >> shift) - 64);
    }
    histogram->counts[index]++;
    histogram->total++;
    if (value > histogram->max) histogram->max = value;
}

static u64 quantile(const struct histogram *histogram, double share) {
    u64 wanted = (u64)(share * (double)histogram->total), seen = 0;
    for (u64 index = 0; index < BUCKETS; index++) {
        seen += histogram->counts[index];
        if (seen <= wanted) continue;
        if (index < 128) return index;
        u64 shift = (index - 128) / 64 + 1;
        return ((index - 128) % 64 + 64) << shift;
    }
    return histogram->max;
}

static u64 be(const unsigned char *bytes, int size) {
    u64 value = 0;
    while (size--) value = value << 8 | *bytes++;
    return value;
}

/* Sending. A producer asks for frames as its window and timetable allow; what is asked for is sent in order. */

static void ask(struct connection *c, u64 due) {
    c->due[c->asked++ % RING] = due;
    if (c->producer && c->lane >= 0) {
        struct lane *lane = &lanes[c->lane];
        if (lane->produced - lane->consumed >= RING) fail("the consumer of lane %d is too far behind", c->lane);
        lane->due[lane->produced++ % RING] = due;
    }
}

#ifdef WITH_TLS
static SSL_CTX *tls_context;

/* A count, or -1 with EAGAIN in errno: the socket's edge says when to go on. */
static ssize_t tls_result(struct connection *c, int result) {
    if (result > 0) return result;
    int reason = SSL_get_error(c->tls, result);
    if (reason == SSL_ERROR_ZERO_RETURN) return 0;
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE)
        fail("TLS: %s", ERR_error_string(ERR_get_error(), NULL));
    errno = EAGAIN;
    return -1;
}
#endif

/* As writev and recv; under TLS the first part alone is written. */
static ssize_t put(struct connection *c, struct iovec *parts, int count) {
#ifdef WITH_TLS
    ERR_clear_error();
    if (c->tls) return tls_result(c, SSL_write(c->tls, parts->iov_base, (int)parts->iov_len));
#endif
    return writev(c->fd, parts, count);
}

static ssize_t get(struct connection *c, unsigned char *buffer, u64 room) {
#ifdef WITH_TLS
    ERR_clear_error();
    if (c->tls) return tls_result(c, SSL_read(c->tls, buffer, (int)room));
#endif
    return recv(c->fd, buffer, room, 0);
}

static int is_drained(struct connection *c, u64 count, u64 room) {
#ifdef WITH_TLS
    if (c->tls) return 0; /* TLS says so itself, with EAGAIN */
#endif
    (void)c;
    return count < room;
}

static void flush(struct connection *c) {
    while (c->sent < c->asked) {
        struct iovec parts[MOST_FRAMES];
        int count = 0;
        for (u64 frame = c->sent; frame < c->asked && count < MOST_FRAMES; frame++, count++) {
            u64 skip = frame == c->sent ? c->part : 0;
            parts[count].iov_base = c->frames + frame % c->count * c->length + skip;
            parts[count].iov_len = c->length - skip;
        }
        ssize_t written = put(c, parts, count);
        if (written < 0 && errno == EAGAIN) return;
        if (written < 0) fail("cannot send: %s", strerror(errno));
        c->part += (u64)written;
        c->sent += c->part / c->length;
        c->part %= c->length;
    }
}

static void produce(struct connection *c, u64 now) {
    while (!stopping && c->asked - c->answered < c->in_flight && (!c->interval || c->next_due <= now)) {
        ask(c, c->interval ? c->next_due : now);
        c->next_due += c->interval;
    }
    flush(c);
}

static void fetch(struct connection *c, u64 now) {
    if (stopping) return;
    for (int byte = 0; byte < 8; byte++) c->frames[c->offset_at + (u64)byte] = (unsigned char)(c->offset >> (56 - 8 * byte));
    ask(c, now);
    flush(c);
}

/* Receiving. */

static void acknowledged(struct connection *c, const unsigned char *body, u64 size, u64 now) {
    if (size < c->error_at + 2) fail("a produce was answered with %lu bytes", size);
    if (be(body + c->error_at, 2)) fail("a produce was refused with error %d", (int16_t)be(body + c->error_at, 2));
    struct group *group = &groups[c->group];
    note(&group->answered, now - c->due[c->answered++ % RING]);
    group->requests++;
    group->records += c->records;
    group->bytes += c->batch_bytes;
    total_bytes += c->batch_bytes;
    if (c->interval && c->in_flight == 1) c->next_due = now + c->interval;
    produce(c, now);
}

static void fetched(struct connection *c, const unsigned char *body, u64 size, u64 now) {
    u64 at = c->records_at, records_bytes = 0;
    int shift = 0;
    if (size < at + 1) fail("a fetch was answered with %lu bytes", size);
    if (be(body + 9, 2)) fail("a fetch was refused with error %d", (int16_t)be(body + 9, 2));
    if (be(body + c->error_at, 2)) fail("a partition was refused with error %d", (int16_t)be(body + c->error_at, 2));
    do records_bytes |= (u64)(body[at] & 0x7f) << shift, shift += 7;
    while (body[at++] & 0x80);
    const unsigned char *batch = body + at, *end = batch + (records_bytes ? records_bytes - 1 : 0);
    if (end > body + size) fail("the records of a fetch end behind its end");
    struct group *group = &groups[c->group];
    c->answered++;
    group->requests++;
    while (batch + BATCH_HEAD <= end) {
        u64 batch_bytes = 12 + be(batch + 8, 4);
        if (batch + batch_bytes > end) break;
        i64 next = (i64)be(batch, 8) + (int32_t)be(batch + 23, 4) + 1;
        if (next > c->offset) group->records += (u64)(next - c->offset), c->offset = next;
        group->bytes += batch_bytes;
        total_bytes += batch_bytes;
        batch += batch_bytes;
    }
    if (c->lane >= 0) {
        struct lane *lane = &lanes[c->lane];
        for (; lane->consumed * (u64)lane->records < (u64)(c->offset - c->start); lane->consumed++)
            note(&group->consumed, now - lane->due[lane->consumed % RING]);
    }
    if (c->end && c->offset >= c->end) c->offset = c->start;
    fetch(c, now);
}

static void receive(struct connection *c) {
    for (;;) {
        u64 room = c->capacity - c->have;
        ssize_t count = get(c, c->buffer + c->have, room);
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) fail("cannot receive: %s", strerror(errno));
        if (count == 0) fail("the broker closed a connection");
        c->have += (u64)count;
        u64 now = now_ns(), begin = 0, size = 0;
        while (c->have - begin >= 4 && c->have - begin >= 4 + (size = be(c->buffer + begin, 4))) {
            (c->producer ? acknowledged : fetched)(c, c->buffer + begin + 4, size, now);
            begin += 4 + size;
        }
        c->have -= begin;
        memmove(c->buffer, c->buffer + begin, c->have);
        if (c->have >= 4 && 4 + size > c->capacity) {
            c->capacity = 4 + size;
            c->buffer = realloc(c->buffer, c->capacity);
            if (!c->buffer) fail("no memory for an answer of %lu bytes", size);
        }
        if (is_drained(c, (u64)count, room)) return; /* edge-triggered: the rest will be announced */
    }
}

/* The plan. */

static unsigned char *map_frames(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status)) fail("%s cannot be read: %s", path, strerror(errno));
    /* Private: the offsets of fetches are written into our own copy. Populated: no page fault is measured. */
    void *frames = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (frames == MAP_FAILED) fail("%s cannot be mapped: %s", path, strerror(errno));
    close(fd);
    return frames;
}

static struct connection *add_connection(void) {
    if (connection_count == MAX_CONNECTIONS) fail("more than %d connections", MAX_CONNECTIONS);
    struct connection *c = &connections[connection_count++];
    c->capacity = SMALLEST_BUFFER;
    c->buffer = malloc(c->capacity);
    return c;
}

static void check(struct connection *c) {
    if (c->group < 0 || c->group >= MAX_GROUPS || c->lane >= MAX_LANES || c->in_flight > RING) fail("a bad plan");
    if (c->group >= group_count) group_count = c->group + 1;
    if (c->producer && c->lane >= 0) lanes[c->lane].records = (i64)c->records;
}

static struct {
    char host[64];
    int port, pid;
    u64 warm_ms, run_ms, max_bytes;
} run;

static void use_tls(const char *authority) {
#ifdef WITH_TLS
    tls_context = SSL_CTX_new(TLS_client_method());
    if (!tls_context || SSL_CTX_load_verify_locations(tls_context, authority, NULL) != 1)
        fail("%s cannot be used: %s", authority, ERR_error_string(ERR_get_error(), NULL));
    SSL_CTX_set_verify(tls_context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(tls_context, TLS1_2_VERSION);
    SSL_CTX_set_mode(tls_context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
#else
    fail("this program was built without TLS, and the plan wants it with %s", authority);
#endif
}

static void read_plan(void) {
    char line[1024], path[900];
    unsigned char *frames = NULL;
    u64 at, delay;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "broker %63s %d %d", run.host, &run.port, &run.pid) == 3) continue;
        if (sscanf(line, "time %lu %lu %lu", &run.warm_ms, &run.run_ms, &run.max_bytes) == 3) continue;
        if (sscanf(line, "tls %899[^\n]", path) == 1) {
            use_tls(path);
            continue;
        }
        if (sscanf(line, "frames %899[^\n]", path) == 1) {
            frames = map_frames(path);
            continue;
        }
        struct connection *c = add_connection();
        if (sscanf(line, "producer %d %d %lu %lu %lu %lu %lu %lu %lu %lu %lu", &c->group, &c->lane, &at, &c->length,
                   &c->count, &c->error_at, &c->records, &c->batch_bytes, &c->in_flight, &c->interval, &delay) == 11) {
            c->producer = 1;
            c->next_due = delay;
        } else if (sscanf(line, "consumer %d %d %lu %lu %lu %lu %lu %ld %ld", &c->group, &c->lane, &at, &c->length,
                          &c->offset_at, &c->error_at, &c->records_at, &c->start, &c->end) == 9) {
            c->count = 1;
            c->offset = c->start;
        } else
            fail("the plan says: %s", line);
        check(c);
        c->frames = frames + at;
    }
}

static void connect_all(int epoll) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)run.port)};
    int on = 1;
    if (inet_pton(AF_INET, run.host, &address.sin_addr) != 1) fail("%s is no IPv4 address", run.host);
    for (int i = 0; i < connection_count; i++) {
        struct connection *c = &connections[i];
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("cannot connect: %s", strerror(errno));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef WITH_TLS
        if (tls_context) {
            c->tls = SSL_new(tls_context);
            if (!c->tls || !SSL_set_fd(c->tls, c->fd) || SSL_connect(c->tls) != 1)
                fail("no TLS with the broker: %s", ERR_error_string(ERR_get_error(), NULL));
        }
#endif
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
    }
}

/* The run. */

static void arm(int timer, u64 stop_at) {
    u64 first = stop_at;
    for (int i = 0; i < connection_count; i++) {
        struct connection *c = &connections[i];
        if (c->interval && c->asked - c->answered < c->in_flight && c->next_due < first) first = c->next_due;
    }
    struct itimerspec at = {.it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void turn(int epoll, int timer, u64 stop_at) {
    struct epoll_event events[MAX_CONNECTIONS];
    arm(timer, stop_at);
    int count = epoll_wait(epoll, events, MAX_CONNECTIONS, 1000);
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (!c) {
            u64 expirations;
            if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail("the timer is broken");
            continue;
        }
        if (events[i].events & EPOLLIN) receive(c);
        if (events[i].events & EPOLLOUT) flush(c);
    }
    u64 now = now_ns();
    for (int i = 0; i < connection_count; i++)
        if (connections[i].interval) produce(&connections[i], now);
}

static int drained(void) {
    for (int i = 0; i < connection_count; i++)
        if (connections[i].producer && connections[i].answered < connections[i].asked) return 0;
    return 1;
}

static void print_histogram(const char *name, const struct histogram *h) {
    printf(",\"%s\":{\"count\":%lu,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"p999_ms\":%.4f,\"max_ms\":%.4f}", name, h->total,
           (double)quantile(h, 0.5) / 1e6, (double)quantile(h, 0.99) / 1e6, (double)quantile(h, 0.999) / 1e6,
           (double)h->max / 1e6);
}

static void print_results(u64 elapsed, u64 broker_cpu, u64 own_cpu) {
    printf("{\"seconds\":%.6f,\"broker_cpu_seconds\":%.6f,\"own_cpu_seconds\":%.6f,\"groups\":[", (double)elapsed / 1e9,
           (double)broker_cpu / 1e9, (double)own_cpu / 1e9);
    for (int i = 0; i < group_count; i++) {
        struct group *g = &groups[i];
        printf("%s{\"requests\":%lu,\"records\":%lu,\"bytes\":%lu", i ? "," : "", g->requests, g->records, g->bytes);
        print_histogram("answered", &g->answered);
        print_histogram("consumed", &g->consumed);
        printf("}");
    }
    printf("],\"answered\":[");
}

static void print_answered(void) {
    for (int i = 0; i < connection_count; i++) printf("%s%lu", i ? "," : "", connections[i].answered);
    printf("]}\n");
}

int main(void) {
    read_plan();
    clockid_t broker_clock = CLOCK_PROCESS_CPUTIME_ID;
    if (run.pid && clock_getcpuclockid(run.pid, &broker_clock)) fail("process %d has no CPU clock", run.pid);
    int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    connect_all(epoll);
    u64 begin = now_ns(), warm_at = begin + run.warm_ms * 1000000, stop_at = warm_at + run.run_ms * 1000000;
    for (int i = 0; i < connection_count; i++) {
        connections[i].next_due += begin;
        (connections[i].producer ? produce : fetch)(&connections[i], begin);
    }
    while (now_ns() < warm_at && total_bytes < run.max_bytes / 4) turn(epoll, timer, warm_at);
    memset(groups, 0, sizeof groups);
    u64 broker_cpu = clock_ns(broker_clock), own_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    begin = now_ns();
    stop_at = begin + run.run_ms * 1000000;
    while (now_ns() < stop_at && total_bytes < run.max_bytes) turn(epoll, timer, stop_at);
    u64 elapsed = now_ns() - begin;
    print_results(elapsed, clock_ns(broker_clock) - broker_cpu, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_cpu);
    stopping = 1;
    stop_at = now_ns() + DRAIN_SECONDS * 1000000000ull;
    while (!drained()) {
        if (now_ns() > stop_at) fail("the last requests were not answered");
        turn(epoll, timer, stop_at);
    }
    print_answered();
    return 0;
}
