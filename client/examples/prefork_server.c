/* SPDX-License-Identifier: ISC */

/*
 * A preforking server whose workers share one origin: whatever the number of
 * requests and of processes, a page is computed by one of them at a time, and
 * when the origin fails the last good page is served.
 *
 *	cc prefork_server.c $(pkg-config --cflags --libs weirclient)
 *	./a.out 8080 4 &
 *	curl http://127.0.0.1:8080/any
 *	touch /tmp/origin-is-down	(the second argument after 4)
 */
#include <weir.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES	4096
#define REQUEST_BYTES	2048
#define ORIGIN_MS	50

static const char *down_file = "/tmp/origin-is-down";

/* A page on its way; lives on the stack of the fetch. */
struct page {
	const char	*path;
	char		text[PAGE_BYTES];
};

/* The slow origin.  Called in one process of the machine at a time. */
static int
compute(void *arg, struct weir_computed *computed)
{
	struct timespec span = { 0, ORIGIN_MS * 1000000L };
	struct page *page = arg;

	(void)nanosleep(&span, NULL);
	if (access(down_file, F_OK) == 0) {
		computed->code = 503;	/* all who wait are told */
		return WEIR_FAILED;
	}
	if (strcmp(page->path, "/none") == 0) {
		return WEIR_MISS;	/* kept for negative_ttl_ms */
	}
	computed->value = page->text;
	computed->length = (size_t)snprintf(page->text, sizeof(page->text),
	    "page %s, made by process %d\n", page->path, (int)getpid());
	return WEIR_OK;
}

static void
answer(int fd, const char *status, const char *source, const char *body,
    size_t length)
{
	char head[256];
	int n = snprintf(head, sizeof(head), "HTTP/1.0 %s\r\n"
	    "Content-Type: text/plain\r\nX-Source: %s\r\n"
	    "Content-Length: %zu\r\n\r\n", status, source, length);

	if (send(fd, head, (size_t)n, MSG_NOSIGNAL | MSG_MORE) == n) {
		(void)send(fd, body, length, MSG_NOSIGNAL);
	}
}

static void
serve_path(struct weir *cache, int fd, const char *path)
{
	static const char *const sources[] = { "none", "hit", "stale",
	    "computed", "waited" };
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct page page = { .path = path };
	struct weir_fetched fetched;
	char body[PAGE_BYTES];
	char wait_text[64];
	int result;

	options.ttl_ms = 10000;
	options.stale_while_revalidate_ms = 5000;
	options.stale_if_error_ms = 600000;
	options.negative_ttl_ms = 2000;
	/* One busy path cannot take all the permits. */
	options.origin.partition = path;
	options.origin.partition_length = strlen(path);
	result = weir_fetch(cache, path, strlen(path), body, sizeof(body),
	    &options, compute, &page, &fetched);
	switch (result) {
	case WEIR_OK:
	case WEIR_STALE:
		answer(fd, "200 OK", sources[fetched.source], body,
		    fetched.length);
		break;
	case WEIR_MISS:
		answer(fd, "404 Not Found", sources[fetched.source],
		    "no such page\n", 13);
		break;
	default:
		(void)snprintf(wait_text, sizeof(wait_text),
		    "%s: again in %llu ms\n", weir_errname(result),
		    (unsigned long long)fetched.retry_after_ms);
		answer(fd, "503 Service Unavailable", "none", wait_text,
		    strlen(wait_text));
		break;
	}
}

static void
serve_one(struct weir *cache, int fd)
{
	char request[REQUEST_BYTES];
	char path[512];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	if (n > 0) {
		request[n] = 0;
		if (sscanf(request, "GET %511s", path) == 1) {
			serve_path(cache, fd, path);
		}
	}
	(void)close(fd);
}

static void
work(int listening)
{
	struct weir *cache;

	/* In the child: a handle that was open before the fork works, too. */
	if (weir_open(&cache, NULL) != WEIR_OK) {
		exit(1);
	}
	for (;;) {
		int fd = accept(listening, NULL, NULL);

		if (fd >= 0) {
			serve_one(cache, fd);
		}
	}
}

int
main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int workers = argc > 2 ? atoi(argv[2]) : 4;
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	down_file = argc > 3 ? argv[3] : down_file;
	at.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 8080));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one,
	    sizeof(one));
	if (bind(listening, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listening, 128) < 0) {
		perror("listen");
		return 1;
	}
	for (int i = 0; i < workers; i++) {
		if (fork() == 0) {
			work(listening);
		}
	}
	/* A worker that dies takes nothing with it: start another. */
	while (wait(NULL) > 0) {
		if (fork() == 0) {
			work(listening);
		}
	}
	return 0;
}
