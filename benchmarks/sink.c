/* A server that does nothing: it throws away each request and sends a prepared answer. Against it the load generator
 * shows how fast it could go, so that one can tell whether it or a broker sets the pace.
 *
 * Usage: sink FILE, with the answer in FILE. Prints the port that it listens on; ends with its standard input.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, LARGEST_ANSWER = 1 << 22 };

static char answer[LARGEST_ANSWER];
static size_t answer_bytes;

static int receive(int fd, char *buffer, size_t size) {
    while (size) {
        size_t wanted = size < CHUNK ? size : CHUNK;
        ssize_t count = recv(fd, buffer, wanted, MSG_WAITALL);
        if (count <= 0) return 0;
        size -= (size_t)count;
    }
    return 1;
}

static int respond(int fd) {
    for (size_t sent = 0; sent < answer_bytes;) {
        ssize_t count = send(fd, answer + sent, answer_bytes - sent, MSG_NOSIGNAL);
        if (count <= 0) return 0;
        sent += (size_t)count;
    }
    return 1;
}

static void *serve(void *argument) {
    int fd = (int)(intptr_t)argument;
    char *buffer = malloc(CHUNK);
    uint32_t length;
    while (receive(fd, (char *)&length, sizeof length) && receive(fd, buffer, ntohl(length)) && respond(fd)) {
    }
    free(buffer);
    close(fd);
    return NULL;
}

static void *accept_all(void *argument) {
    int on = 1;
    for (;;) {
        int fd = accept((int)(intptr_t)argument, NULL, NULL);
        if (fd < 0) return NULL;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: sink FILE\n"), 1;
    answer_bytes = fread(answer, 1, sizeof answer, file);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 64)) return perror("sink"), 1;
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    pthread_t thread;
    pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)fd);
    while (getchar() != EOF) {
    }
    return 0;
}
