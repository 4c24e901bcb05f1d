/* request.c - see request.h. */
#include "stat/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stat/tasks.h"

#define REQUEST_FORMAT "%s %ud %ud %ud %aud %ad"

int request_pack(struct cop_packet **out, const struct request *request)
{
    return cop_packet_new(
        out, STAT_TAG_REQUEST, REQUEST_FORMAT, request->boot, request->samples,
        request->interval_ms, request->stop_ms, request->daemons,
        request->task_count, request->pids, request->task_count);
}

int request_unpack(struct request *request, const struct cop_packet *packet)
{
    struct request read;
    uint32_t pid_count;
    uint32_t i;
    int r;

    r = cop_packet_unpack(packet, REQUEST_FORMAT, &read.boot, &read.samples,
                          &read.interval_ms, &read.stop_ms, &read.daemons,
                          &read.task_count, &read.pids, &pid_count);
    if (r < 0)
        return r;
    if (read.task_count != pid_count || read.task_count > TASKS_MAX ||
        read.samples == 0 || read.samples > REQUEST_SAMPLES_MAX ||
        read.interval_ms > REQUEST_INTERVAL_MAX_MS)
        return -EBADMSG;
    for (i = 0; i < pid_count; i++) {
        if (read.pids[i] <= 0)
            return -EBADMSG;
    }
    *request = read;
    return 0;
}

void request_boot(char text[REQUEST_BOOT_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, REQUEST_BOOT_SIZE, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}
