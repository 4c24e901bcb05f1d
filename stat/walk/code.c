/* code.c - see code.h. */
#include "stat/walk/code.h"

#include <stdlib.h>
#include <string.h>

#include "stat/walk/memory.h"

/* Most bytes of a name, and of all line tables together: a program may pretend
 * that it has many large ones. */
#define NAME_SIZE  512
#define LINES_SIZE (8 << 20)

/* Write one character in UTF-8. Returns the number of bytes. */
static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

char *code_text(const struct codes *codes, uint64_t address)
{
    const struct layout *layout = codes->layout;
    uint8_t head[128], bytes[NAME_SIZE];
    uint64_t length, start;
    uint32_t state, kind;
    char text[4 * NAME_SIZE + 1];
    size_t len = 0, i;

    if (!memory_read(codes->pid, address, head, layout->text_other))
        return NULL;
    length = layout_number(head, layout->text_length);
    memcpy(&state, head + layout->text_state, sizeof(state));
    state >>= layout->text_kind;
    kind = state & 7;
    if (!(state >> 3 & 1) || (kind != 1 && kind != 2 && kind != 4) ||
        length > INT32_MAX)
        return NULL; /* not stored as one block of equal-size characters */
    start =
        address + (state >> 4 & 1 ? layout->text_ascii : layout->text_other);
    if (length > NAME_SIZE / kind) {
        start += (length - NAME_SIZE / kind) * kind;
        length = NAME_SIZE / kind;
    }
    if (!memory_read(codes->pid, start, bytes, length * kind))
        return NULL;
    for (i = 0; i < length; i++) {
        uint32_t c = 0;

        memcpy(&c, bytes + i * kind, kind);
        if (c < ' ' || c > 0x10ffff)
            c = '?';
        len += put_utf8(text + len, c);
    }
    return strndup(text, len);
}

/* Read the line table at `address` into `code`. Without it the function has no
 * lines. */
static void read_lines(struct codes *codes, struct code *code, uint64_t address)
{
    uint64_t size;

    if (!memory_read(codes->pid, address + codes->layout->bytes_size, &size,
                     sizeof(size)) ||
        size > LINES_SIZE - codes->lines_size)
        return;
    code->lines = malloc(size + 1);
    if (!code->lines)
        return;
    code->lines_size = size;
    codes->lines_size += size;
    if (!memory_read(codes->pid, address + codes->layout->bytes_bytes,
                     code->lines, size)) {
        free(code->lines);
        code->lines = NULL;
    }
}

static void code_free(struct code *code)
{
    if (!code)
        return;
    free(code->function);
    free(code->file);
    free(code->lines);
    free(code);
}

/* Whether `path` ends in `end`. */
static bool ends_in(const char *path, const char *end)
{
    size_t len = strlen(path), end_len = strlen(end);

    return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

/* The role of functions in a file: of a package whose functions are collective
 * calls, or of Python's own library or another package installed beside it. */
static enum role role_of_file(const char *path)
{
    static const char *const collectives[] = {
        "/torch/distributed/distributed_c10d.py", "/horovod/torch/mpi_ops.py",
        "/horovod/tensorflow/mpi_ops.py", "/horovod/mxnet/mpi_ops.py"};

    for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
        if (ends_in(path, collectives[i]))
            return ROLE_COLLECTIVE;
    return strstr(path, "/lib/python3") || strstr(path, "/lib64/python3") ||
                   strncmp(path, "<frozen ", strlen("<frozen ")) == 0
               ? ROLE_PYTHON
               : ROLE_PROGRAM;
}

const struct code *codes_find(struct codes *codes, uint64_t address)
{
    const struct layout *layout = codes->layout;
    uint8_t bytes[LAYOUT_CODE_SIZE];
    struct code *code;
    int32_t first_line;

    HASH_FIND(hh, codes->table, &address, sizeof(address), code);
    if (code)
        return code;
    if (!memory_read(codes->pid, address, bytes, layout->code_code))
        return NULL;
    code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    code->address = address;
    code->function = code_text(codes, layout_number(bytes, layout->code_name));
    code->file = code_text(codes, layout_number(bytes, layout->code_file));
    code->role = code->file ? role_of_file(code->file) : ROLE_PROGRAM;
    memcpy(&first_line, bytes + layout->code_first_line, sizeof(first_line));
    code->first_line = first_line > 0 ? (uint32_t)first_line : 0;
    if (code->function && code->file) {
        read_lines(codes, code, layout_number(bytes, layout->code_lines));
        HASH_ADD(hh, codes->table, address, sizeof(address), code);
        if (code->hh.tbl)
            return code;
    }
    code_free(code);
    return NULL;
}

void codes_fini(struct codes *codes)
{
    struct code *code, *next;

    HASH_ITER (hh, codes->table, code, next) {
        HASH_DEL(codes->table, code);
        code_free(code);
    }
}

/* Read a number with 6 bits per byte, and advance `at`. */
static uint32_t next_number(const struct code *code, size_t *at)
{
    uint32_t number = 0;
    unsigned shift = 0;

    while (*at < code->lines_size && shift < 30) {
        uint8_t byte = code->lines[(*at)++];

        number |= (uint32_t)(byte & 0x3f) << shift;
        shift += 6;
        if (!(byte & 0x40))
            break;
    }
    return number;
}

static int32_t next_signed(const struct code *code, size_t *at)
{
    uint32_t number = next_number(code, at);

    return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

/* An entry of the table (PEP 626, "location table") is a byte with a mark, a kind,
 * and a number of instructions; then, by kind, the difference to the previous
 * line, and columns. */
uint32_t code_line(const struct code *code, int64_t offset)
{
    int64_t behind = 0, line = code->first_line;
    size_t at = 0;

    if (!code->lines || offset < 0)
        return code->first_line;
    while (at < code->lines_size) {
        uint8_t first = code->lines[at++];
        uint8_t kind = first >> 3 & 15;

        if (kind == 13 || kind == 14)
            line += next_signed(code, &at);
        else if (kind >= 10 && kind <= 12)
            line += kind - 10;
        behind += 2 * ((first & 7) + 1);
        if (offset < behind)
            return kind == 15 || line < 0 || line > INT32_MAX ? 0
                                                              : (uint32_t)line;
        /* Columns continue up to the next entry. */
        while (at < code->lines_size && !(code->lines[at] & 0x80))
            at++;
    }
    return 0;
}
