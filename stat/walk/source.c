/* source.c - see source.h. */
#include "stat/walk/source.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The functions and blocks around an address, innermost first. */
struct scopes {
    Dwarf_Addr address;
    bool everywhere; /* also look into functions that do not contain it */
    int depth;
    size_t count;
    Dwarf_Die *list; /* of SOURCE_SCOPES_MAX */
};

/* The unit that contains `pc`. LLVM's compilers write no table of addresses:
 * then each unit is searched. */
static Dwarf_Die *find_unit(Dwfl_Module *dwfl_module,
                            Dwarf_Addr pc,
                            Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(dwfl_module, pc, bias);

    if (unit)
        return unit;
    while ((unit = dwfl_module_nextcu(dwfl_module, unit, bias)) != NULL)
        if (dwarf_haspc(unit, pc - *bias) > 0)
            return unit;
    return NULL;
}

/* Find the unit with the functions of `unit`: itself, or what it says of them
 * is in a .dwo file (split DWARF), into `split`. NULL if that cannot be read. */
static Dwarf_Die *find_functions(Dwarf_Die *unit, Dwarf_Die *split)
{
    Dwarf_Half version;
    uint8_t type;

    *split = (Dwarf_Die){0};
    if (dwarf_cu_info(unit->cu, &version, &type, NULL, split, NULL, NULL,
                      NULL) != 0 ||
        type != DW_UT_skeleton)
        return unit;
    return dwarf_tag(split) == DW_TAG_compile_unit ? split : NULL;
}

/* Find the scopes around the address in `parent`. Returns whether one is a
 * function. dwarf_getscopes() will not do: from an inlined function it
 * continues where the function was written, not where it was called. It also
 * misses the body of an OpenMP region, which is inside its function but has
 * other addresses. */
static bool find_scopes(struct scopes *scopes, Dwarf_Die *parent)
{
    bool found = false;
    Dwarf_Die child;

    if (scopes->depth == SOURCE_SCOPES_MAX || dwarf_child(parent, &child) != 0)
        return false;
    scopes->depth++;
    do {
        bool has_address = false;

        switch (dwarf_tag(&child)) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            has_address = dwarf_haspc(&child, scopes->address) > 0;
            if (!has_address && !scopes->everywhere)
                continue;
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            break;
        default:
            continue;
        }
        found = find_scopes(scopes, &child);
        if (has_address) {
            scopes->list[scopes->count++] = child;
            found = true;
        }
    } while (!found && dwarf_siblingof(&child, &child) == 0);
    scopes->depth--;
    return found;
}

/* Find all scopes around `pc` in `unit`. Returns how many. */
static size_t unit_scopes(Dwarf_Die *list, Dwarf_Die *unit, Dwarf_Addr pc)
{
    struct scopes scopes = {.address = pc, .list = list};

    if (!find_scopes(&scopes, unit)) {
        scopes.everywhere = true;
        find_scopes(&scopes, unit);
    }
    return scopes.count;
}

size_t source_scopes(Dwarf_Die scopes[static SOURCE_SCOPES_MAX],
                     Dwarf_Addr *bias,
                     Dwfl_Module *dwfl_module,
                     Dwarf_Addr pc)
{
    Dwarf_Die *unit = find_unit(dwfl_module, pc, bias), split;

    unit = unit ? find_functions(unit, &split) : NULL;
    return unit ? unit_scopes(scopes, unit, pc - *bias) : 0;
}

/* The linker's name of a function, in C++; NULL in C. */
static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    return dwarf_formstring(
        dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
}

/* A number given at an inlined call, else `missing`. */
static size_t number_of(Dwarf_Die *die, unsigned name, size_t missing)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = missing;

    dwarf_formudata(dwarf_attr(die, name, &attribute), &number);
    return number;
}

size_t source_find(struct source *out,
                   size_t max,
                   Dwfl_Module *dwfl_module,
                   Dwarf_Addr pc)
{
    Dwarf_Die scopes[SOURCE_SCOPES_MAX], split, *functions;
    size_t file_count = 0, count = 0, scope_count, number, i;
    struct source place = {.line = 0};
    Dwarf_Attribute attribute;
    Dwarf_Files *files = NULL;
    Dwarf_Addr bias;
    Dwarf_Line *line;
    Dwarf_Die *unit = find_unit(dwfl_module, pc, &bias);

    /* Without the functions the line may be that of an inlined one. */
    functions = unit ? find_functions(unit, &split) : NULL;
    if (!functions)
        return 0;
    scope_count = unit_scopes(scopes, functions, pc - bias);
    place.folder =
        dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    line = dwarf_getsrc_die(unit, pc - bias);
    if (line && dwarf_lineno(line, &place.line) == 0)
        place.file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_getsrcfiles(functions, &files, &file_count) != 0)
        file_count = 0;
    for (i = 0; i < scope_count; i++) {
        Dwarf_Die *scope = &scopes[i];
        int tag = dwarf_tag(scope);

        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
            continue;
        place.name = dwarf_diename(scope);
        place.linkage = linkage_name(scope);
        if (count == max)
            count--;
        out[count++] = place;
        if (tag == DW_TAG_subprogram)
            return count;
        number = number_of(scope, DW_AT_call_file, SIZE_MAX);
        place.file = number < file_count
                         ? dwarf_filesrc(files, number, NULL, NULL)
                         : NULL;
        place.line = (int)number_of(scope, DW_AT_call_line, 0);
    }
    /* No function was found: only the place is known. */
    place.name = place.linkage = NULL;
    if (count == max)
        count--;
    if (place.file)
        out[count++] = place;
    return count;
}

/* What elf.h calls ELFCOMPRESS_ZSTD since glibc 2.38. */
#define COMPRESSED_ZSTD 2

/* Whether a section of debug information is compressed with zstd. */
static bool has_zstd(Elf *elf)
{
    Elf_Scn *section = NULL;
    size_t names = 0;
    bool found = false;

    if (elf_getshdrstrndx(elf, &names) < 0)
        return false;
    while (!found && (section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        GElf_Chdr compression;
        const char *name;

        if (!gelf_getshdr(section, &header) ||
            !(header.sh_flags & SHF_COMPRESSED) ||
            !gelf_getchdr(section, &compression))
            continue;
        name = elf_strptr(elf, names, header.sh_name);
        found = name && strncmp(name, ".debug_", 7) == 0 &&
                compression.ch_type == COMPRESSED_ZSTD;
    }
    return found;
}

/* The same for the file of debug information at `path`. */
static bool is_zstd_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    bool found = elf && has_zstd(elf);

    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return found;
}

void source_obstacle(char *text, size_t size, Dwfl_Module *dwfl_module)
{
    const char *apart = NULL; /* known once it was searched for */
    const char *path =
        dwfl_module_info(dwfl_module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    Dwarf_Addr bias;
    Elf *elf = dwfl_module_getelf(dwfl_module, &bias);
    const char *deleted = path ? strstr(path, " (deleted)") : NULL;

    text[0] = '\0';
    if (!path || path[0] != '/')
        return;
    if (!elf && deleted)
        snprintf(
            text, size,
            "no names of %.*s: it was replaced or removed since the process "
            "began, and only root may read what it was",
            (int)(deleted - path), path);
    else if (!elf)
        snprintf(text, size, "no names of %s: it cannot be read", path);
    else if (!dwfl_module_nextcu(dwfl_module, NULL, &bias) &&
             (has_zstd(elf) || (dwfl_module_info(dwfl_module, NULL, NULL, NULL,
                                                 NULL, NULL, NULL, &apart) &&
                                apart && is_zstd_file(apart))))
        snprintf(text, size,
                 "no lines of %s: its debug information is compressed with "
                 "zstd, which libdw %s cannot read",
                 path, dwfl_version(NULL));
}
