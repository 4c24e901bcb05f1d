/* test_x86.c - the arguments of calls in machine code. */
#include <stdlib.h>
#include <string.h>

#include "stat/walk/x86.h"
#include "test/check.h"

#define FUNCTION UINT64_C(0x1000)
#define RBX      3
#define RBP      5

/* Bytes of random code that are followed. */
#define RANDOM_LEN  64
#define RANDOM_RUNS 200000

/* The memory: each word has the low 16 bits of its address. */
static bool read_words(void *arg, uint64_t address, void *bytes, size_t len)
{
    uint64_t word = address & 0xffff;

    (void)arg;
    if (address < 0x7000 || address >= 0x8000)
        return false;
    memcpy(bytes, &word, len < sizeof(word) ? len : sizeof(word));
    return true;
}

/* Follow `code` up to the call that ends at offset `returns`, with 0x7800 in
 * rbp, 0x7700 in rsp, and 42 in rbx. */
static bool follow(struct x86_value out[static X86_ARGUMENTS],
                   const unsigned char *code,
                   size_t len,
                   size_t returns)
{
    struct x86_call call = {.function = FUNCTION,
                            .code = code,
                            .len = len,
                            .returns = FUNCTION + returns,
                            .read = read_words};

    call.registers[RBX] = (struct x86_value){true, 42};
    call.registers[RBP] = (struct x86_value){true, 0x7800};
    call.registers[X86_RSP] = (struct x86_value){true, 0x7700};
    return x86_arguments(out, &call);
}

/* MPI_Recv(&token, 1, type, left, tag, comm, NULL) as gcc -O0 compiles it. */
TEST(arguments_come_from_the_frame)
{
    static const unsigned char code[] = {
        0x8b, 0x4d, 0xf4,                         /* mov -0xc(%rbp),%ecx */
        0x8b, 0x55, 0xfc,                         /* mov -0x4(%rbp),%edx */
        0x48, 0x8d, 0x45, 0xf0,                   /* lea -0x10(%rbp),%rax */
        0x48, 0x83, 0xec, 0x08,                   /* sub $8,%rsp */
        0x6a, 0x00,                               /* push $0 */
        0x4c, 0x8d, 0x0d, 0x37, 0x30, 0x00, 0x00, /* lea 0x3037(%rip),%r9 */
        0x41, 0x89, 0xc8,                         /* mov %ecx,%r8d */
        0x89, 0xd1,                               /* mov %edx,%ecx */
        0x89, 0xda,                               /* mov %ebx,%edx */
        0xbe, 0x01, 0x00, 0x00, 0x00,             /* mov $1,%esi */
        0x48, 0x89, 0xc7,                         /* mov %rax,%rdi */
        0xe8, 0x00, 0x00, 0x00, 0x00,             /* call */
        0xc3};
    struct x86_value found[X86_ARGUMENTS];
    static const uint64_t wanted[X86_ARGUMENTS] = {
        0x77f0, 1, 42, 0x77fc, 0x77f4, FUNCTION + 23 + 0x3037};

    CU_ASSERT_FATAL(follow(found, code, sizeof(code), sizeof(code) - 1));
    for (size_t i = 0; i < X86_ARGUMENTS; i++) {
        CU_ASSERT(found[i].known);
        CU_ASSERT_EQUAL(found[i].value, wanted[i]);
    }
}

/* from = (r + 1) % n; if (r == 2) MPI_Recv(&x, 1, type, from, 9, comm, NULL), a
 * whole function of gcc -O0: neither the division nor the push writes to
 * `from`. */
TEST(a_division_and_a_push_write_elsewhere)
{
    static const unsigned char code[] = {
        0x55,                                     /* push %rbp */
        0x48, 0x89, 0xe5,                         /* mov %rsp,%rbp */
        0x48, 0x83, 0xec, 0x20,                   /* sub $0x20,%rsp */
        0x89, 0x7d, 0xec,                         /* mov %edi,-0x14(%rbp) */
        0x89, 0x75, 0xe8,                         /* mov %esi,-0x18(%rbp) */
        0x8b, 0x45, 0xec,                         /* mov -0x14(%rbp),%eax */
        0x83, 0xc0, 0x01,                         /* add $1,%eax */
        0x99,                                     /* cltd */
        0xf7, 0x7d, 0xe8,                         /* idivl -0x18(%rbp) */
        0x89, 0x55, 0xfc,                         /* mov %edx,-0x4(%rbp) */
        0x83, 0x7d, 0xec, 0x02,                   /* cmpl $2,-0x14(%rbp) */
        0x75, 0x34,                               /* jne after the call */
        0x8b, 0x55, 0xfc,                         /* mov -0x4(%rbp),%edx */
        0x48, 0x8d, 0x45, 0xf8,                   /* lea -0x8(%rbp),%rax */
        0x48, 0x83, 0xec, 0x08,                   /* sub $8,%rsp */
        0x6a, 0x00,                               /* push $0 */
        0x4c, 0x8d, 0x0d, 0x7b, 0x30, 0x00, 0x00, /* lea 0x307b(%rip),%r9 */
        0x41, 0xb8, 0x09, 0x00, 0x00, 0x00,       /* mov $9,%r8d */
        0x89, 0xd1,                               /* mov %edx,%ecx */
        0x48, 0x8d, 0x15, 0x6c, 0x2e, 0x00, 0x00, /* lea 0x2e6c(%rip),%rdx */
        0xbe, 0x01, 0x00, 0x00, 0x00,             /* mov $1,%esi */
        0x48, 0x89, 0xc7,                         /* mov %rax,%rdi */
        0xe8, 0x00, 0x00, 0x00, 0x00,             /* call */
        0x48, 0x83, 0xc4, 0x10, 0xc9, 0xc3};
    const size_t returns = sizeof(code) - 6;
    const uint64_t frame = 0x7700 + 0x30; /* rbp, from rsp at the call */
    struct x86_value found[X86_ARGUMENTS];

    CU_ASSERT_FATAL(follow(found, code, sizeof(code), returns));
    CU_ASSERT(found[3].known);
    CU_ASSERT_EQUAL(found[3].value, frame - 4);
    CU_ASSERT(found[4].known);
    CU_ASSERT_EQUAL(found[4].value, 9);
}

/* A value that depends on the path is unknown: tag = cond ? 8 : 7. */
TEST(what_comes_from_two_paths_is_unknown)
{
    static const unsigned char code[] = {
        0x83, 0xfb, 0x0b,                    /* cmp $11,%ebx */
        0x75, 0x08,                          /* jne 1f */
        0x41, 0xb8, 0x08, 0x00, 0x00, 0x00,  /* mov $8,%r8d */
        0xeb, 0x06,                          /* jmp 2f */
        0x41, 0xb8, 0x07, 0x00, 0x00, 0x00,  /* 1: mov $7,%r8d */
        0x89, 0xd9,                          /* 2: mov %ebx,%ecx */
        0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3}; /* call */
    struct x86_value found[X86_ARGUMENTS];

    CU_ASSERT_FATAL(follow(found, code, sizeof(code), sizeof(code) - 1));
    CU_ASSERT_FALSE(found[4].known);
    CU_ASSERT(found[3].known);
    CU_ASSERT_EQUAL(found[3].value, 42);
}

/* No value is known if a jump table can enter at any instruction. */
TEST(a_table_of_jumps_ends_it)
{
    static const unsigned char code[] = {
        0xff, 0xe0,                   /* jmp *%rax */
        0xbe, 0x01, 0x00, 0x00, 0x00, /* mov $1,%esi */
        0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};
    struct x86_value found[X86_ARGUMENTS];

    CU_ASSERT_FALSE(follow(found, code, sizeof(code), sizeof(code) - 1));
}

/* A value read from memory is unknown if the function, or a function that it
 * calls, may have written there since. */
TEST(memory_that_was_written_is_unknown)
{
    static const unsigned char stored[] = {
        0x8b, 0x4d, 0xf4,                         /* mov -0xc(%rbp),%ecx */
        0x8b, 0x55, 0xe0,                         /* mov -0x20(%rbp),%edx */
        0xc7, 0x45, 0xf4, 0x05, 0x00, 0x00, 0x00, /* movl $5,-0xc(%rbp) */
        0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};
    static const unsigned char called[] = {
        0x8b, 0x5d, 0xf4,             /* mov -0xc(%rbp),%ebx */
        0xe8, 0x00, 0x00, 0x00, 0x00, /* call */
        0x89, 0xd9,                   /* mov %ebx,%ecx */
        0xe8, 0x00, 0x00, 0x00, 0x00, /* call */
        0xc3};
    struct x86_value found[X86_ARGUMENTS];

    CU_ASSERT_FATAL(follow(found, stored, sizeof(stored), sizeof(stored) - 1));
    CU_ASSERT_FALSE(found[3].known);
    CU_ASSERT_FATAL(follow(found, called, sizeof(called), sizeof(called) - 1));
    CU_ASSERT(found[3].known); /* rbx is there still */
    CU_ASSERT_EQUAL(found[3].value, 42);
}

/* A value is unknown if the function has overwritten its register since. */
TEST(a_register_that_was_overwritten_is_unknown)
{
    static const unsigned char code[] = {
        0x89, 0xd9,                   /* mov %ebx,%ecx */
        0xbb, 0x05, 0x00, 0x00, 0x00, /* mov $5,%ebx */
        0x89, 0xda,                   /* mov %ebx,%edx */
        0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3};
    struct x86_value found[X86_ARGUMENTS];

    CU_ASSERT_FATAL(follow(found, code, sizeof(code), sizeof(code) - 1));
    CU_ASSERT_FALSE(found[3].known);
    CU_ASSERT(found[2].known);
    CU_ASSERT_EQUAL(found[2].value, 5);
}

/* Untrusted code does no harm, whatever it is. Some random code is followed. */
TEST(random_code_is_read_safely)
{
    struct x86_value found[X86_ARGUMENTS];
    unsigned char *code = malloc(RANDOM_LEN);
    size_t followed = 0, i, k;
    unsigned seed = 1;

    CU_ASSERT_FATAL(code != NULL);
    for (i = 0; i < RANDOM_RUNS; i++) {
        for (k = 0; k < RANDOM_LEN; k++) {
            seed = seed * 1103515245 + 12345;
            code[k] = (unsigned char)(seed >> 16);
        }
        code[40] = 0xe8;
        followed += follow(found, code, RANDOM_LEN, 45);
    }
    CU_ASSERT(followed > 0);
    free(code);
}
