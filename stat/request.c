/* request.c - see request.h. */
#include "stat/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/tree/role.h"
#include "stat/tree/tasks.h"

#define REQUEST_FORMAT  "%s %ud %ud %ud %ud %ud %ud %aud %ad"
#define QUESTION_FORMAT "%ud %aud %as %aud %auld"
#define ANSWER_FORMAT   "%ud %aud %aud %as %as %aud %aud %as"
#define FIND_FORMAT     "%aud %as %as %as"
#define FOUND_FORMAT    "%ud %s %ad %as %auld"

/* Numbers sent about each process found. */
#define FOUND_FACTS 5

int request_pack(struct cop_packet **out, const struct request *request)
{
    return cop_packet_new(
        out, STAT_TAG_REQUEST, REQUEST_FORMAT, request->boot, request->samples,
        request->interval_ms, request->sample_ms, request->stop_ms,
        request->max_stop_ms, request->flags, request->daemons,
        request->task_count, request->pids, request->task_count);
}

int request_unpack(struct request *request, const struct cop_packet *packet)
{
    struct request read;
    uint32_t pid_count;
    int r;

    r = cop_packet_unpack(packet, REQUEST_FORMAT, &read.boot, &read.samples,
                          &read.interval_ms, &read.sample_ms, &read.stop_ms,
                          &read.max_stop_ms, &read.flags, &read.daemons,
                          &read.task_count, &read.pids, &pid_count);
    if (r < 0)
        return r;
    if (read.task_count != pid_count || read.task_count > TASKS_MAX ||
        read.samples == 0 ||
        (read.samples > REQUEST_SAMPLES_MAX &&
         read.samples != REQUEST_FOLLOW) ||
        read.interval_ms > REQUEST_INTERVAL_MAX_MS || read.max_stop_ms == 0 ||
        read.max_stop_ms > REQUEST_MAX_STOP_MS || read.flags > REQUEST_FLAGS)
        return -EBADMSG;
    for (uint32_t i = 0; i < pid_count; i++)
        if (read.pids[i] == 0 || read.pids[i] == INT32_MIN ||
            (read.pids[i] < 0 &&
             (i == 0 || read.daemons[i] != read.daemons[i - 1])))
            return -EBADMSG;
    *request = read;
    return 0;
}

int question_pack(struct cop_packet **out, const struct question *question)
{
    return cop_packet_new(
        out, STAT_TAG_NAMES, QUESTION_FORMAT, question->number,
        question->daemons, question->module_count, question->names,
        question->module_count, question->modules, question->address_count,
        question->offsets, question->address_count);
}

int question_unpack(struct question *question, const struct cop_packet *packet)
{
    struct question read;
    uint32_t names, offsets;
    int r;

    r = cop_packet_unpack(packet, QUESTION_FORMAT, &read.number, &read.daemons,
                          &read.module_count, &read.names, &names,
                          &read.modules, &read.address_count, &read.offsets,
                          &offsets);
    if (r < 0)
        return r;
    if (names != read.module_count || offsets != read.address_count)
        return -EBADMSG;
    for (uint32_t i = 0; i < read.address_count; i++)
        if (read.modules[i] >= read.module_count)
            return -EBADMSG;
    *question = read;
    return 0;
}

int answer_pack(struct cop_packet **out, const struct answer *answer)
{
    return cop_packet_new(
        out, STAT_TAG_NAMED, ANSWER_FORMAT, answer->number, answer->addresses,
        answer->count, answer->counts, answer->count, answer->functions,
        answer->frame_count, answer->files, answer->frame_count, answer->lines,
        answer->frame_count, answer->roles, answer->frame_count,
        answer->reasons, answer->reason_count);
}

int answer_unpack(struct answer *answer, const struct cop_packet *packet)
{
    struct answer read;
    uint32_t counts, files, lines, roles;
    uint64_t frames = 0;
    int r;

    r = cop_packet_unpack(packet, ANSWER_FORMAT, &read.number, &read.addresses,
                          &read.count, &read.counts, &counts, &read.functions,
                          &read.frame_count, &read.files, &files, &read.lines,
                          &lines, &read.roles, &roles, &read.reasons,
                          &read.reason_count);
    if (r < 0)
        return r;
    if (counts != read.count || files != read.frame_count ||
        lines != read.frame_count || roles != read.frame_count)
        return -EBADMSG;
    for (uint32_t i = 0; i < roles; i++)
        if (read.roles[i] >= ROLE_COUNT)
            return -EBADMSG;
    for (uint32_t i = 0; i < counts; i++)
        frames += read.counts[i];
    if (frames != read.frame_count)
        return -EBADMSG;
    *answer = read;
    return 0;
}

int find_pack(struct cop_packet **out, const struct find *find)
{
    return cop_packet_new(out, STAT_TAG_FIND, FIND_FORMAT, find->daemons,
                          find->count, find->names, find->count, find->users,
                          find->count, find->jobs, find->count);
}

int find_unpack(struct find *find, const struct cop_packet *packet)
{
    struct find read;
    uint32_t names, users, jobs;
    int r;

    r = cop_packet_unpack(packet, FIND_FORMAT, &read.daemons, &read.count,
                          &read.names, &names, &read.users, &users, &read.jobs,
                          &jobs);
    if (r < 0)
        return r;
    if (names != read.count || users != read.count || jobs != read.count)
        return -EBADMSG;
    *find = read;
    return 0;
}

int found_pack(struct cop_packet **out,
               uint32_t index,
               const struct targets *targets)
{
    uint32_t count = targets->count, i;
    const char **names = calloc((size_t)count + 1, sizeof(*names));
    uint64_t *facts = calloc((size_t)count + 1, FOUND_FACTS * sizeof(*facts));
    char boot[REQUEST_BOOT_SIZE];
    int r = -ENOMEM;

    request_boot(boot);
    for (i = 0; names && facts && i < count; i++) {
        const struct targets_facts *known = &targets->facts[i];
        const uint64_t of_one[FOUND_FACTS] = {
            known->rank.source, known->rank.number, known->rank.size,
            known->rank.job,
            (uint64_t)known->helper | (uint64_t)known->worker << 1 |
                (uint64_t)known->starts << 2 | (uint64_t)known->of << 3};

        names[i] = known->name;
        memcpy(&facts[(size_t)i * FOUND_FACTS], of_one, sizeof(of_one));
    }
    if (names && facts)
        r = cop_packet_new(out, STAT_TAG_FOUND, FOUND_FORMAT, index, boot,
                           targets->pids, count, names, count, facts,
                           count * FOUND_FACTS);
    free(names);
    free(facts);
    return r;
}

int found_unpack(struct found *found, const struct cop_packet *packet)
{
    struct found read;
    uint32_t names, facts;
    int r;

    r = cop_packet_unpack(packet, FOUND_FORMAT, &read.index, &read.boot,
                          &read.pids, &read.count, &read.names, &names,
                          &read.facts, &facts);
    if (r < 0)
        return r;
    if (names != read.count || read.count > TASKS_MAX ||
        facts != read.count * FOUND_FACTS)
        return -EBADMSG;
    for (uint32_t i = 0; i < read.count; i++) {
        const uint64_t *known = &read.facts[(size_t)i * FOUND_FACTS];

        if (read.pids[i] <= 0 || known[0] >= RANK_SOURCES ||
            known[1] >= TASKS_MAX || known[2] > TASKS_MAX ||
            known[4] >> 3 > INT32_MAX)
            return -EBADMSG;
    }
    *found = read;
    return 0;
}

struct targets_facts found_facts(const struct found *found, uint32_t i)
{
    const uint64_t *known = &found->facts[(size_t)i * FOUND_FACTS];
    struct targets_facts facts = {.rank = {.source = (uint32_t)known[0],
                                           .number = (uint32_t)known[1],
                                           .size = (uint32_t)known[2],
                                           .job = known[3]},
                                  .sought = true,
                                  .helper = known[4] & 1,
                                  .worker = known[4] >> 1 & 1,
                                  .starts = known[4] >> 2 & 1,
                                  .of = (int32_t)(known[4] >> 3)};

    snprintf(facts.name, sizeof(facts.name), "%s", found->names[i]);
    return facts;
}

void request_boot(char text[REQUEST_BOOT_SIZE])
{
    char space[32];
    ssize_t len;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, REQUEST_BOOT_SIZE, file))
        text[0] = '\0';
    fclose(file);
    len = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
    space[len > 0 ? len : 0] = '\0';
    snprintf(text + strcspn(text, "\n"),
             REQUEST_BOOT_SIZE - strcspn(text, "\n"), " %s", space);
}
