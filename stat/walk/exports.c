/* exports.c - see exports.h. */
#include "stat/walk/exports.h"

#include <stdint.h>
#include <string.h>

/* The text at `offset` of the dynamic strings; NULL if it is not there. */
static const char *string_at(const struct exports *exports, uint64_t offset)
{
    const Elf_Data *names = exports->names;
    const char *text;

    if (!names || offset >= names->d_size)
        return NULL;
    text = (const char *)names->d_buf + offset;
    return memchr(text, '\0', names->d_size - offset) ? text : NULL;
}

/* Whether Go's linker has made a section. It keeps them without symbols. */
static bool is_of_go(Elf *elf, size_t names, const GElf_Shdr *section)
{
    const char *name = elf_strptr(elf, names, section->sh_name);

    return name && (strcmp(name, ".go.buildinfo") == 0 ||
                    strcmp(name, ".gopclntab") == 0);
}

void exports_find(struct exports *out, Dwfl_Module *module)
{
    Elf_Scn *section = NULL;
    GElf_Addr bias;
    GElf_Ehdr head;
    GElf_Dyn entry;
    Elf *elf = dwfl_module_getelf(module, &bias);
    size_t count = 0, names;

    memset(out, 0, sizeof(*out));
    if (!elf || !gelf_getehdr(elf, &head))
        return;
    out->is_program = head.e_type == ET_EXEC;
    if (elf_getphdrnum(elf, &count) < 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr part;

        if (gelf_getphdr(elf, (int)i, &part) && part.p_type == PT_INTERP)
            out->is_dynamic_program = true;
    }
    if (elf_getshdrstrndx(elf, &names) < 0)
        names = 0;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr what;

        if (!gelf_getshdr(section, &what))
            continue;
        out->is_go |= is_of_go(elf, names, &what);
        if (what.sh_type == SHT_DYNSYM) {
            Elf_Scn *strings = elf_getscn(elf, what.sh_link);

            out->symbols = elf_getdata(section, NULL);
            out->names = strings ? elf_getdata(strings, NULL) : NULL;
        } else if (what.sh_type == SHT_GNU_HASH) {
            out->hashes = elf_getdata(section, NULL);
        } else if (what.sh_type == SHT_DYNAMIC) {
            out->dynamic = elf_getdata(section, NULL);
        }
    }
    out->is_whole = out->symbols && out->names;
    for (int i = 0; out->dynamic && gelf_getdyn(out->dynamic, i, &entry); i++) {
        if (entry.d_tag == DT_SONAME)
            out->soname = string_at(out, entry.d_un.d_val);
        if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
            out->is_program = true;
    }
}

/* Whether symbol number `i` is `name`, and defined. */
static bool is_symbol(const struct exports *exports, size_t i, const char *name)
{
    GElf_Sym symbol;
    const char *text;

    if (i > INT32_MAX || !gelf_getsym(exports->symbols, (int)i, &symbol) ||
        symbol.st_shndx == SHN_UNDEF)
        return false;
    text = string_at(exports, symbol.st_name);
    return text && strcmp(text, name) == 0;
}

/* Find `name` with the table of hashes of GNU's linker: a head of four numbers,
 * a filter, the first symbol of each bucket, and a hash for each symbol, whose
 * lowest bit ends its bucket. */
static bool is_hashed(const struct exports *exports, const char *name)
{
    const uint32_t *words = exports->hashes->d_buf;
    uint64_t count = exports->hashes->d_size / sizeof(*words), chains, at;
    uint32_t hash = 5381, buckets, first, i;

    for (const char *byte = name; *byte; byte++)
        hash = hash * 33 + (unsigned char)*byte;
    if (count < 4)
        return false;
    buckets = words[0];
    first = words[1];
    chains = 4 + 2 * (uint64_t)words[2] + buckets; /* filter of 64-bit words */
    if (buckets == 0 || chains > count)
        return false;
    i = words[chains - buckets + hash % buckets];
    if (i < first)
        return false;
    for (at = chains + (i - first); at < count; at++, i++) {
        if ((words[at] | 1) == (hash | 1) && is_symbol(exports, i, name))
            return true;
        if (words[at] & 1)
            return false;
    }
    return false;
}

bool exports_has(const struct exports *exports, const char *name)
{
    GElf_Sym symbol;

    if (!exports->is_whole)
        return false;
    if (exports->hashes)
        return is_hashed(exports, name);
    for (size_t i = 0; gelf_getsym(exports->symbols, (int)i, &symbol); i++)
        if (is_symbol(exports, i, name))
            return true;
    return false;
}

const char *exports_needed(const struct exports *exports, int *i)
{
    GElf_Dyn entry;

    while (exports->dynamic && gelf_getdyn(exports->dynamic, *i, &entry)) {
        ++*i;
        if (entry.d_tag == DT_NEEDED)
            return string_at(exports, entry.d_un.d_val);
    }
    return NULL;
}
