/* rows.c - the status of the nodes: one row for each node. */
#include "protocol/watch/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/roster.h"
#include "protocol/node.h"
#include "topology/array.h"
#include "wire/limits.h"
#include "wire/messages.h"
#include "wire/packet.h"

/* Count of rows left off, numbers of all rows, hosts, reasons, labels, a text.
 */
#define ROWS_FORMAT "%ud %aud %as %as %as %s"

/* Numbers of one row, in the order of the struct. The last two are the index of
 * the row's reason, and of its label, from 1; 0: none. */
#define ROW_NUMBERS 12

void rows_forget(struct row *row)
{
    free(row->host);
    free(row->label);
    free(row->reason);
}

void rows_fini(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        rows_forget(&rows->list[i]);
    free(rows->list);
    memset(rows, 0, sizeof(*rows));
}

/* Count rows that are left off. rows_decode() refuses more than LIMIT_NODES. */
static void leave_off(struct rows *rows, uint32_t count)
{
    uint32_t room = LIMIT_NODES - rows->left_off;

    rows->left_off += count < room ? count : room;
}

int rows_add(struct rows *rows, const struct row *row)
{
    struct row copy = *row;

    if (rows->count >= LIMIT_STATUS_ROWS) {
        leave_off(rows, 1);
        return 0;
    }
    if (array_grow(&rows->list, rows->count, sizeof(copy)) < 0)
        return -ENOMEM;
    copy.host = strdup(row->host ? row->host : "");
    copy.label = strdup(row->label ? row->label : "");
    copy.reason = row->reason ? strdup(row->reason) : NULL;
    if (!copy.host || !copy.label || (row->reason && !copy.reason)) {
        rows_forget(&copy);
        return -ENOMEM;
    }
    rows->list[rows->count++] = copy;
    return 0;
}

int rows_append(struct rows *rows, struct rows *from)
{
    leave_off(rows, from->left_off);
    for (uint32_t i = 0; i < from->count; i++) {
        if (rows->count >= LIMIT_STATUS_ROWS) {
            leave_off(rows, 1);
            continue;
        }
        if (array_grow(&rows->list, rows->count, sizeof(*rows->list)) < 0)
            return -ENOMEM;
        rows->list[rows->count++] = from->list[i];
        from->list[i] = (struct row){0};
    }
    rows_fini(from);
    return 0;
}

int rows_encode(const struct rows *rows,
                int code,
                const char *text,
                struct frame *out)
{
    size_t count = rows->count, i;
    uint32_t *numbers = calloc(count * ROW_NUMBERS + 1, sizeof(*numbers));
    const char **hosts = calloc(3 * count + 1, sizeof(*hosts));
    const char **reasons = hosts + count, **labels = reasons + count;
    uint32_t reason_count = 0, label_count = 0;
    int r = -ENOMEM;

    *out = msg_rows_encode(&(struct msg_rows){.code = code});
    for (i = 0; numbers && hosts && i < count; i++) {
        const struct row *row = &rows->list[i];
        uint32_t *at = numbers + i * ROW_NUMBERS;

        at[0] = row->rank;
        at[1] = row->parent;
        at[2] = row->role;
        at[3] = row->state;
        at[4] = row->incarnation;
        at[5] = row->age_ms;
        at[6] = row->round_us;
        at[7] = row->adoptions;
        at[8] = row->adopted_from;
        at[11] = row->place;
        hosts[i] = row->host;
        if (row->reason) {
            reasons[reason_count++] = row->reason;
            at[9] = reason_count;
        }
        if (*row->label) {
            labels[label_count++] = row->label;
            at[10] = label_count;
        }
    }
    if (numbers && hosts)
        r = packet_pack(&out->payload, ROWS_FORMAT, rows->left_off, numbers,
                        (uint32_t)(count * ROW_NUMBERS), hosts, (uint32_t)count,
                        reasons, reason_count, labels, label_count,
                        text ? text : "");
    free(numbers);
    free(hosts);
    return r;
}

/* The unpacked arrays with their counts; borrowed from the packet. */
struct wire {
    uint32_t left_off;
    const uint32_t *numbers;
    uint32_t number_count;
    const char **hosts;
    uint32_t host_count;
    const char **reasons;
    uint32_t reason_count;
    const char **labels;
    uint32_t label_count;
    const char *text;
};

/* Whether a row from the network is within the limits. */
static bool is_valid(const struct row *row)
{
    return row->rank < LIMIT_NODES && row->parent != row->rank &&
           (row->parent < LIMIT_NODES || row->parent == RANK_NONE) &&
           row->role <= NODE_BACKEND && row->state < ROW_STATES &&
           row->place < LIMIT_NODES && strlen(row->host) <= LIMIT_HOST_NAME &&
           (!row->label || label_is_valid(row->label)) &&
           (!row->reason || strlen(row->reason) <= LIMIT_TEXT);
}

/* Take the next of `texts`, which come in the order of their rows, if a row has
 * `index`. False: that is not the next one. */
static bool take_text(char **out,
                      uint32_t index,
                      uint32_t *taken,
                      const char **texts,
                      uint32_t count)
{
    if (index == 0)
        return true;
    if (index != *taken + 1 || *taken == count)
        return false;
    *out = (char *)(uintptr_t)texts[(*taken)++];
    return true;
}

static int rows_from_wire(const struct wire *wire, struct rows *rows)
{
    uint32_t reasons = 0, labels = 0, i;
    int r = 0;

    if (wire->host_count > LIMIT_STATUS_ROWS ||
        wire->number_count != wire->host_count * ROW_NUMBERS ||
        wire->left_off > LIMIT_NODES || strlen(wire->text) > LIMIT_TEXT)
        return -EBADMSG;
    for (i = 0; r == 0 && i < wire->host_count; i++) {
        const uint32_t *at = wire->numbers + (size_t)i * ROW_NUMBERS;
        struct row row = {
            .rank = at[0],
            .parent = at[1],
            .role = at[2],
            .state = at[3],
            .incarnation = at[4],
            .age_ms = at[5],
            .round_us = at[6],
            .adoptions = at[7],
            .adopted_from = at[8],
            .place = at[11],
            .host = (char *)(uintptr_t)wire->hosts[i],
        };

        if (!take_text(&row.reason, at[9], &reasons, wire->reasons,
                       wire->reason_count) ||
            !take_text(&row.label, at[10], &labels, wire->labels,
                       wire->label_count))
            return -EBADMSG;
        r = is_valid(&row) ? rows_add(rows, &row) : -EBADMSG;
    }
    rows->left_off = wire->left_off;
    return r;
}

int rows_decode(const struct frame *frame,
                struct rows *out,
                char *text,
                size_t text_len)
{
    struct cop_packet *packet = NULL;
    struct rows rows = {0};
    struct wire w;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, ROWS_FORMAT, &w.left_off, &w.numbers,
                          &w.number_count, &w.hosts, &w.host_count, &w.reasons,
                          &w.reason_count, &w.labels, &w.label_count, &w.text);
    if (r == 0)
        r = rows_from_wire(&w, &rows);
    if (r == 0 && text)
        snprintf(text, text_len, "%s", w.text);
    cop_packet_free(packet);
    if (r < 0) {
        rows_fini(&rows);
        return r == -EINVAL ? -EBADMSG : r;
    }
    rows_fini(out);
    *out = rows;
    return 0;
}

/* By rank; of one rank the latest incarnation first. */
static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->incarnation != b->incarnation)
        return a->incarnation > b->incarnation ? -1 : 1;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    return a->parent < b->parent ? -1 : a->parent > b->parent;
}

void rows_sort(struct rows *rows)
{
    uint32_t i, kept = 0;

    if (rows->count == 0)
        return;
    qsort(rows->list, rows->count, sizeof(*rows->list), compare_rows);
    for (i = 0; i < rows->count; i++) {
        if (kept > 0 && rows->list[kept - 1].rank == rows->list[i].rank)
            rows_forget(&rows->list[i]);
        else
            rows->list[kept++] = rows->list[i];
    }
    rows->count = kept;
}

struct row *rows_find(const struct rows *rows, uint32_t rank)
{
    uint32_t low = 0, high = rows->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (rows->list[middle].rank == rank)
            return &rows->list[middle];
        if (rows->list[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_live(const struct row *row)
{
    return row->state == ROW_UP || row->state == ROW_DEGRADED;
}

/* The age of a row in milliseconds plus 1, as 0 means not lost. An unknown age
 * counts as 0 ms. */
static uint64_t lost_for(const struct row *row)
{
    return 1 + (row->age_ms == ROW_UNKNOWN ? 0 : (uint64_t)row->age_ms);
}

/* The working state of rows_degrade() for one row. */
struct ascent {
    uint32_t above; /* the index of its parent's row; ROW_UNKNOWN: none */
    uint32_t below; /* child rows that are not counted in `lost` yet */
    bool told;      /* it is counted in its parent's `lost` */
    uint64_t lost;  /* how long a node below it has been lost: lost_for() */
};

/* Count row `i` in its parent's `lost`: how long the node, or a node below it,
 * has been lost. A live row counts for at most its time below that parent. */
static void count_in_parent(const struct rows *rows,
                            struct ascent *ascents,
                            uint32_t i)
{
    struct ascent *above = &ascents[ascents[i].above];
    uint64_t own = lost_for(&rows->list[i]), lost = ascents[i].lost;

    if (is_live(&rows->list[i]) ? own < lost : own > lost)
        lost = own;
    if (lost > above->lost)
        above->lost = lost;
}

/* Count each row in its parent's, once all rows below it are counted. */
static void count_losses(const struct rows *rows, struct ascent *ascents)
{
    uint32_t at;

    for (uint32_t i = 0; i < rows->count; i++)
        for (at = i; ascents[at].below == 0 && !ascents[at].told;
             at = ascents[at].above) {
            ascents[at].told = true;
            if (ascents[at].above == ROW_UNKNOWN)
                break;
            count_in_parent(rows, ascents, at);
            ascents[ascents[at].above].below--;
        }
    /* Rows from before and after a move may form circles: go around twice. */
    for (uint32_t i = 0; i < rows->count; i++)
        for (uint32_t lap = 0; !ascents[i].told || lap == 1; lap++) {
            at = i;
            do {
                ascents[at].told = true;
                count_in_parent(rows, ascents, at);
                at = ascents[at].above;
            } while (at != i);
        }
}

int rows_degrade(struct rows *rows)
{
    struct ascent *ascents = calloc((size_t)rows->count + 1, sizeof(*ascents));

    if (!ascents)
        return -ENOMEM;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *above = rows_find(rows, rows->list[i].parent);

        ascents[i].above = above ? (uint32_t)(above - rows->list) : ROW_UNKNOWN;
        if (above)
            ascents[ascents[i].above].below++;
    }
    count_losses(rows, ascents);
    for (uint32_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->list[i];

        if (!is_live(row) || (ascents[i].lost == 0 && row->state == ROW_UP))
            continue;
        row->state = ROW_DEGRADED;
        row->age_ms = ascents[i].lost ? (uint32_t)(ascents[i].lost - 1) : 0;
    }
    free(ascents);
    return 0;
}
