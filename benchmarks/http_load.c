/* Sends one HTTP request over and over on kept connections, one at a time on each, and counts the answers.

       http_load HOST PORT CONNECTIONS WARM_MS RUN_MS REQUEST_FILE [MARK]

   REQUEST_FILE holds the whole request, head and body. A run of nine '#' in it is replaced by a number that is
   new in every request. MARK is counted in the answers: what each of many records is answered with. The result
   is one line of JSON. One thread with epoll: it takes a few microseconds of CPU a request, which it reports,
   so that a reader sees that the generator was not the limit. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 9
#define IN_BYTES 65536
#define SAMPLES_MAX 4000000

struct connection {
    int fd;
    char *request;
    size_t sent;
    double began;
    /* The answer: first the head, then a body of known length or of chunks. */
    char head[4096];
    size_t head_bytes;
    int in_body, chunked;
    long left;            /* of the body, or of the chunk with its end of line; -1 while a size is read */
    long size;
    int size_ended, last;
    size_t mark_at;       /* how much of MARK the answer has just matched */
};

static char *template;
static size_t template_bytes, places[16];
static int place_count, epoll_fd;
static const char *mark = "";
static size_t mark_bytes;
static unsigned long number;
static double window_from, window_to;
static long requests, failed, marks;
static float *samples;
static long sample_count;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void die(const char *what) {
    fprintf(stderr, "http_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_template(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    template_bytes = ftell(file);
    rewind(file);
    template = malloc(template_bytes + 1);
    if (fread(template, 1, template_bytes, file) != template_bytes) die(path);
    fclose(file);
    for (size_t i = 0; i + DIGITS <= template_bytes && place_count < 16; i++)
        if (!memcmp(template + i, "#########", DIGITS)) {
            places[place_count++] = i;
            i += DIGITS - 1;
        }
}

static void write_more(struct connection *c) {
    while (c->sent < template_bytes) {
        ssize_t n = send(c->fd, c->request + c->sent, template_bytes - c->sent, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN) break;
            die("send");
        }
        c->sent += n;
    }
    struct epoll_event event = {EPOLLIN | (c->sent < template_bytes ? EPOLLOUT : 0), {.ptr = c}};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
}

static void begin(struct connection *c) {
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%0*lu", DIGITS, ++number % 1000000000ul);
    for (int i = 0; i < place_count; i++) memcpy(c->request + places[i], digits, DIGITS);
    c->sent = c->head_bytes = c->mark_at = 0;
    c->in_body = c->chunked = c->last = 0;
    c->began = now();
    write_more(c);
}

static void end(struct connection *c) {
    double at = now();
    int wrong = c->head_bytes < 12 || c->head[9] != '2';
    if (wrong && failed == 0) fprintf(stderr, "http_load: refused: %.200s\n", c->head);
    if (at >= window_from && at < window_to) {
        requests++;
        failed += wrong;
        if (sample_count < SAMPLES_MAX) samples[sample_count++] = (at - c->began) * 1e3;
    }
    begin(c);
}

static void count_marks(struct connection *c, const char *data, size_t bytes) {
    if (!mark_bytes) return;
    double at = now();
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == mark[c->mark_at]) c->mark_at++;
        else c->mark_at = data[i] == mark[0];
        if (c->mark_at == mark_bytes) {
            c->mark_at = 0;
            marks += at >= window_from && at < window_to;
        }
    }
}

static void start_body(struct connection *c) {
    c->head[c->head_bytes] = 0;
    char *length = strcasestr(c->head, "\r\ncontent-length:");
    c->chunked = strcasestr(c->head, "\r\ntransfer-encoding: chunked") != NULL;
    c->left = length ? atol(length + 17) : c->chunked ? -1 : 0;
    c->size = c->size_ended = 0;
    c->in_body = 1;
}

/* True when the answer has ended; the generator never has two requests under way on one connection. */
static int take(struct connection *c, const char *data, size_t bytes) {
    size_t at = 0;
    while (!c->in_body && at < bytes) {
        if (c->head_bytes + 1 >= sizeof c->head) die("a head is too long");
        c->head[c->head_bytes++] = data[at++];
        if (c->head_bytes >= 4 && !memcmp(c->head + c->head_bytes - 4, "\r\n\r\n", 4)) start_body(c);
    }
    if (!c->in_body) return 0;
    if (!c->chunked) {
        count_marks(c, data + at, bytes - at);
        c->left -= bytes - at;
        return c->left <= 0;
    }
    while (at < bytes) {
        if (c->left < 0) {
            char digit = data[at++];
            if (digit == '\n') {
                c->last = c->size == 0;
                c->left = c->size + 2;
                c->size = c->size_ended = 0;
            } else if (digit == ';' || digit == '\r') c->size_ended = 1;
            else if (!c->size_ended)
                c->size = c->size * 16 + (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
            continue;
        }
        long some = (long)(bytes - at) < c->left ? (long)(bytes - at) : c->left;
        count_marks(c, data + at, some);
        at += some;
        c->left -= some;
        if (c->left == 0) {
            if (c->last) return 1;
            c->left = -1;
        }
    }
    return 0;
}

static struct connection *opened(const char *host, int port) {
    struct connection *c = calloc(1, sizeof *c);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1;
    inet_pton(AF_INET, host, &to.sin_addr);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->request = malloc(template_bytes);
    memcpy(c->request, template, template_bytes);
    struct epoll_event event = {EPOLLIN, {.ptr = c}};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event);
    return c;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int count, char **given) {
    if (count < 7) {
        fprintf(stderr, "usage: http_load HOST PORT CONNECTIONS WARM_MS RUN_MS REQUEST_FILE [MARK]\n");
        return 2;
    }
    int connections = atoi(given[3]);
    read_template(given[6]);
    if (count > 7) mark = given[7], mark_bytes = strlen(mark);
    samples = malloc(SAMPLES_MAX * sizeof *samples);
    epoll_fd = epoll_create1(0);
    number = (unsigned long)(now() * 1e4) % 100000000ul;
    struct connection **all = malloc(connections * sizeof *all);
    for (int i = 0; i < connections; i++) all[i] = opened(given[1], atoi(given[2]));
    window_from = now() + atof(given[4]) / 1e3;
    window_to = window_from + atof(given[5]) / 1e3;
    for (int i = 0; i < connections; i++) begin(all[i]);
    static char data[IN_BYTES];
    struct epoll_event events[256];
    struct rusage before, after;
    int measuring = 0;
    while (now() < window_to) {
        if (!measuring && now() >= window_from) measuring = !getrusage(RUSAGE_SELF, &before);
        int ready = epoll_wait(epoll_fd, events, 256, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) write_more(c);
            if (!(events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) continue;
            ssize_t n = recv(c->fd, data, sizeof data, 0);
            if (n < 0 && errno == EAGAIN) continue;
            if (n <= 0) die("the server closed a connection");
            if (take(c, data, n)) end(c);
        }
    }
    getrusage(RUSAGE_SELF, &after);
    double cpu = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) + (after.ru_stime.tv_sec - before.ru_stime.tv_sec)
        + (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
    qsort(samples, sample_count, sizeof *samples, by_size);
    double seconds = window_to - window_from;
    printf("{\"seconds\":%.3f,\"requests\":%ld,\"failed\":%ld,\"marks\":%ld,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
           "\"own_cpu_seconds\":%.3f}\n", seconds, requests, failed, marks,
           sample_count ? samples[sample_count / 2] : 0, sample_count ? samples[sample_count * 99 / 100] : 0, cpu);
    return failed > 0;
}
