/* traffic.c - count the packets between the processes of a benchmark. */
#include "config.h"

#include "bench/traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TABLE_MAX 65536

static bool isolated;

/* Enable the loopback interface, which is down in a new network. */
static int raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        r = -errno;
    request.ifr_flags |= IFF_UP;
    if (r == 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        r = -errno;
    if (fd >= 0)
        close(fd);
    return r;
}

void traffic_isolate(void)
{
    isolated = unshare(CLONE_NEWNET) == 0 && raise_loopback() == 0;
}

/* The position of word number `index` of `line`, and its length. */
static const char *find_word(const char *line, size_t index, size_t *len)
{
    for (;; index--) {
        line += strspn(line, " ");
        *len = strcspn(line, " \n");
        if (index == 0 || *len == 0)
            return line;
        line += *len;
    }
}

int traffic_parse(const char *text,
                  const char *group,
                  const char *name,
                  uint64_t *out)
{
    size_t group_len = strlen(group), len;
    const char *names = text, *values, *word;

    while (strncmp(names, group, group_len) != 0) {
        names = strchr(names, '\n');
        if (!names)
            return -EBADMSG;
        names++;
    }
    values = strchr(names, '\n');
    if (!values || strncmp(values + 1, group, group_len) != 0)
        return -EBADMSG;
    for (size_t i = 1;; i++) {
        word = find_word(names, i, &len);
        if (len == 0)
            return -EBADMSG;
        if (strlen(name) == len && strncmp(word, name, len) == 0) {
            word = find_word(values + 1, i, &len);
            return sscanf(word, "%" SCNu64, out) == 1 ? 0 : -EBADMSG;
        }
    }
}

int traffic_read(struct traffic *out)
{
    char *text;
    size_t len;
    FILE *file;
    int r = -EBADMSG;

    if (!isolated)
        return -EPERM;
    text = calloc(1, TABLE_MAX);
    if (!text)
        return -ENOMEM;

    file = fopen("/proc/net/netstat", "re");
    len = file ? fread(text, 1, TABLE_MAX - 1, file) : 0;
    if (file)
        fclose(file);
    if (len > 0)
        r = traffic_parse(text, "IpExt:", "OutOctets", &out->bytes);
    if (r == 0)
        r = traffic_parse(text, "IpExt:", "InNoECTPkts", &out->packets);
    free(text);
    return r;
}
