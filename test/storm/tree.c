/* tree.c - the processes of one round and the connections between them. */
#include "test/storm/tree.h"

#include <dirent.h>
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#include <coppice/status.h>

#define STATE_ESTABLISHED 1
#define STATE_LISTEN      10

/* A line of /proc/net/tcp. */
struct row {
    unsigned long inode;
    unsigned state;
    char local[48];
    char remote[48];
};

void tree_init(struct tree *tree, const struct shape *shape)
{
    uint32_t level, width = 1, begin = 0, next, i;

    memset(tree, 0, sizeof(*tree));
    tree->shape = shape;
    tree->nodes[0].parent = COP_RANK_NONE;
    for (level = 0; level < shape->depth; level++) {
        next = width * shape->fan_out[level];
        for (i = 0; i < next; i++)
            tree->nodes[begin + width + i].parent =
                begin + i / shape->fan_out[level];
        begin += width;
        width = next;
    }
    tree->first_leaf = begin;
    tree->launched = begin + width;
    tree->count = tree->launched;
}

pid_t process_parent(pid_t pid, char *state)
{
    char path[64], line[512];
    const char *end;
    int parent = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    if (!end || sscanf(end, ") %c %d", state, &parent) != 2)
        parent = -1;
    fclose(file);
    return parent;
}

bool tree_census(struct tree *tree, const char *folder, pid_t front_end)
{
    struct tally tally;
    char state = 0;

    for (uint32_t rank = tree->count - 1; rank > 0; rank--) {
        struct node *node = &tree->nodes[rank];
        struct node *parent = &tree->nodes[node->parent];
        pid_t pid;

        if (rank >= tree->first_leaf && tally_read(folder, rank, &tally))
            node->pid = tally.pid;
        pid = node->pid ? process_parent(node->pid, &state) : -1;
        if (pid <= 0 || (parent->pid && parent->pid != pid))
            return false;
        parent->pid = pid;
    }
    return tree->nodes[0].pid == front_end;
}

/* Rows of the whole machine: other programs may have thousands of sockets. */
static struct row *rows;
static size_t row_count, row_room;

/* Read the rows of sockets that listen or are connected. */
static void rows_read(const char *path)
{
    FILE *file = fopen(path, "re");
    struct row row;
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, " %*d: %47s %47s %x %*s %*s %*s %*u %*d %lu",
                   row.local, row.remote, &row.state, &row.inode) != 4 ||
            (row.state != STATE_ESTABLISHED && row.state != STATE_LISTEN))
            continue;
        if (row_count == row_room) {
            row_room = 2 * row_room + 1024;
            rows = realloc(rows, row_room * sizeof(*rows));
            if (!rows)
                err(1, "rows of %s", path);
        }
        rows[row_count++] = row;
    }
    if (file)
        fclose(file);
}

static void rows_all(void)
{
    row_count = 0;
    rows_read("/proc/net/tcp");
    rows_read("/proc/net/tcp6");
}

bool socket_listens(unsigned long inode)
{
    rows_all();
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].inode == inode && rows[i].state == STATE_LISTEN)
            return true;
    return false;
}

/* Add the sockets of one process. */
static size_t sockets_of(uint32_t rank,
                         pid_t pid,
                         struct socket *out,
                         size_t room)
{
    char path[64], link[320], name[64];
    const struct dirent *entry;
    size_t count = 0, i;
    unsigned long inode;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir && count < room && (entry = readdir(dir))) {
        ssize_t len;

        snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
        len = readlink(link, name, sizeof(name) - 1);
        name[len > 0 ? len : 0] = '\0';
        if (sscanf(name, "socket:[%lu]", &inode) != 1)
            continue;
        for (i = 0; i < row_count && rows[i].inode != inode; i++)
            ;
        if (i == row_count)
            continue;
        out[count] = (struct socket){.rank = rank,
                                     .fd = atoi(entry->d_name),
                                     .inode = inode,
                                     .listens = rows[i].state == STATE_LISTEN,
                                     .peer = UINT32_MAX};
        memcpy(out[count].local, rows[i].local, sizeof(out->local));
        memcpy(out[count].remote, rows[i].remote, sizeof(out->remote));
        count++;
    }
    if (dir)
        closedir(dir);
    return count;
}

size_t tree_sockets(const struct tree *tree, struct socket out[SOCKETS_MAX])
{
    size_t count = 0, i, k;
    uint32_t rank;

    rows_all();
    for (rank = 0; rank < tree->count; rank++)
        if (tree->nodes[rank].pid && !tree->nodes[rank].is_killed)
            count += sockets_of(rank, tree->nodes[rank].pid, out + count,
                                SOCKETS_MAX - count);
    for (i = 0; i < count; i++)
        for (k = 0; k < count && !out[i].listens; k++)
            if (!out[k].listens && strcmp(out[i].local, out[k].remote) == 0 &&
                strcmp(out[i].remote, out[k].local) == 0)
                out[i].peer = out[k].rank;
    return count;
}
