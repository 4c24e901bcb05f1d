/* events.c - system calls, faults and switches, from perf events. */
#include "bench/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The largest ring of one CPU, for half a million events, and the smallest. */
#define RING_MAX ((size_t)32 << 20)
#define RING_MIN ((size_t)64 << 10)

#define RECORD_MAX 65536

/* The paths of one file: the mount point of tracefs varies. */
static const char *const call_ids[] = {
    "/sys/kernel/tracing/events/raw_syscalls/sys_exit/id",
    "/sys/kernel/debug/tracing/events/raw_syscalls/sys_exit/id",
};

struct ring {
    struct perf_event_mmap_page *page; /* NULL: no such ring */
    size_t len;                        /* of the data after the page */
    int faults;                        /* descriptors; -1: none */
    int calls;
    uint64_t calls_id;
};

struct events {
    struct ring *rings;
    size_t cpus;
    struct event *list;
    size_t count;
    size_t room;
    bool lost;
};

static int perf_open(struct perf_event_attr *attr, int cpu)
{
    long fd;

    attr->size = sizeof(*attr);
    attr->inherit = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->sample_period = 1;
    attr->sample_id_all = 1;
    attr->watermark = 1; /* no wake-ups */
    attr->wakeup_watermark = RING_MAX;
    fd = syscall(SYS_perf_event_open, attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* Record faults, the execution of another program, and switches. */
static int open_faults(int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
        .comm = 1,
        .comm_exec = 1,
        .context_switch = 1,
    };
    int fd = perf_open(&attr, cpu);

    if (fd != -EACCES && fd != -EPERM)
        return fd;
    attr.exclude_kernel = 1; /* without faults in system calls */
    return perf_open(&attr, cpu);
}

static int open_calls(int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
    };
    unsigned id = 0;

    for (size_t i = 0; id == 0 && i < sizeof(call_ids) / sizeof(*call_ids);
         i++) {
        FILE *file = fopen(call_ids[i], "re");

        if (file && fscanf(file, "%u", &id) != 1)
            id = 0;
        if (file)
            fclose(file);
    }
    attr.config = id;
    return id == 0 ? -EACCES : perf_open(&attr, cpu);
}

/* A user other than root may be limited to some hundred KiB. */
static int map_ring(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t len = RING_MAX; len >= RING_MIN; len /= 2) {
        void *at = mmap(NULL, page + len, PROT_READ | PROT_WRITE, MAP_SHARED,
                        ring->faults, 0);

        if (at == MAP_FAILED)
            continue;
        ring->page = at;
        ring->len = len;
        return 0;
    }
    return -ENOMEM;
}

static int open_ring(struct ring *ring, int cpu)
{
    int r;

    ring->calls = -1;
    ring->faults = open_faults(cpu);
    if (ring->faults < 0)
        return ring->faults == -ENODEV ? 0 : ring->faults; /* the CPU is off */
    r = map_ring(ring);
    if (r < 0)
        return r;
    ring->calls = open_calls(cpu);
    if (ring->calls < 0)
        return 0;
    if (ioctl(ring->calls, PERF_EVENT_IOC_SET_OUTPUT, ring->faults) < 0 ||
        ioctl(ring->calls, PERF_EVENT_IOC_ID, &ring->calls_id) < 0)
        return -errno;
    return 0;
}

int events_open(struct events **out)
{
    struct events *events = calloc(1, sizeof(*events));
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int r = 0;

    if (!events)
        return -ENOMEM;
    events->rings = calloc((size_t)cpus, sizeof(*events->rings));
    if (!events->rings)
        r = -ENOMEM;
    for (int cpu = 0; r == 0 && cpu < cpus; cpu++) {
        r = open_ring(&events->rings[cpu], cpu);
        events->cpus++;
    }
    if (r < 0) {
        events_close(events);
        return r;
    }
    *out = events;
    return 0;
}

bool events_have_calls(const struct events *events)
{
    return events->cpus > 0 && events->rings[0].calls >= 0;
}

static int add_event(struct events *events, const struct event *event)
{
    if (events->count == events->room) {
        size_t room = events->room ? 2 * events->room : 4096;
        struct event *list = realloc(events->list, room * sizeof(*list));

        if (!list)
            return -ENOMEM;
        events->list = list;
        events->room = room;
    }
    events->list[events->count++] = *event;
    return 0;
}

/* The record after its header, with the fields requested above. */
struct sample_record {
    uint64_t id;
    uint32_t pid, tid;
    uint64_t time_ns;
    union {
        uint64_t address;
        struct {
            uint32_t len;
            char common[8]; /* of every tracepoint */
            char call[8], result[8];
        } __attribute__((packed)) raw;
    } u;
};

static int take_sample(struct events *events,
                       const struct ring *ring,
                       const char *data)
{
    struct sample_record record;
    struct event event = {.call = EVENT_FAULT};
    int64_t call;

    memcpy(&record, data, sizeof(record));
    event.time_ns = record.time_ns;
    event.pid = (pid_t)record.pid;
    if (ring->calls >= 0 && record.id == ring->calls_id) {
        memcpy(&call, record.u.raw.call, sizeof(call));
        memcpy(&event.value, record.u.raw.result, sizeof(event.value));
        event.call = (int32_t)call;
    } else {
        event.value = (int64_t)record.u.address;
    }
    return add_event(events, &event);
}

/* Take a record that begins with process and thread, and ends with the same,
 * the time, and the identity. */
static int take_record(struct events *events,
                       int32_t call,
                       const char *data,
                       size_t len)
{
    struct event event = {.call = call};
    uint32_t pid;

    memcpy(&pid, data, sizeof(pid));
    memcpy(&event.time_ns, data + len - 16, sizeof(event.time_ns));
    event.pid = (pid_t)pid;
    return add_event(events, &event);
}

static int take_any(struct events *events,
                    const struct ring *ring,
                    const struct perf_event_header *header,
                    const char *data)
{
    size_t len = header->size - sizeof(*header);

    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        return take_sample(events, ring, data);
    case PERF_RECORD_COMM:
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            return take_record(events, EVENT_EXEC, data, len);
        return 0;
    case PERF_RECORD_SWITCH:
        if (!(header->misc & PERF_RECORD_MISC_SWITCH_OUT))
            return 0;
        return take_record(events,
                           header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
                               ? EVENT_PREEMPTED
                               : EVENT_BLOCKED,
                           data, len);
    case PERF_RECORD_LOST:
        events->lost = true;
        return 0;
    }
    return 0;
}

static void copy_from_ring(const struct ring *ring,
                           uint64_t at,
                           void *to,
                           size_t len)
{
    const char *data = (const char *)ring->page + ring->page->data_offset;
    size_t from = at & (ring->len - 1);
    size_t first = len < ring->len - from ? len : ring->len - from;

    memcpy(to, data + from, first);
    memcpy((char *)to + first, data, len - first);
}

static int take_ring(struct events *events, struct ring *ring)
{
    static char data[RECORD_MAX];
    uint64_t at = ring->page->data_tail;
    uint64_t end = ring->page->data_head;
    int r = 0;

    atomic_thread_fence(memory_order_acquire);
    while (r == 0 && at < end) {
        struct perf_event_header header;

        copy_from_ring(ring, at, &header, sizeof(header));
        copy_from_ring(ring, at + sizeof(header), data,
                       header.size - sizeof(header));
        r = take_any(events, ring, &header, data);
        at += header.size;
    }
    atomic_thread_fence(memory_order_release);
    ring->page->data_tail = end;
    return r;
}

int events_take(struct events *events, struct event **list, size_t *count)
{
    int r = 0;

    events->count = 0;
    events->lost = false;
    for (size_t i = 0; r == 0 && i < events->cpus; i++)
        if (events->rings[i].page)
            r = take_ring(events, &events->rings[i]);
    if (r < 0)
        return r;
    *list = events->list;
    *count = events->count;
    return events->lost ? -EOVERFLOW : 0;
}

static void close_ring(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (ring->calls >= 0)
        close(ring->calls);
    if (ring->page)
        munmap(ring->page, page + ring->len);
    if (ring->faults >= 0)
        close(ring->faults);
}

void events_close(struct events *events)
{
    if (!events)
        return;
    for (size_t i = 0; i < events->cpus; i++)
        close_ring(&events->rings[i]);
    free(events->rings);
    free(events->list);
    free(events);
}
