/* test_rank.c - the rank of a process is the one of its innermost launcher. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/job/rank.h"
#include "test/check.h"

#define LARGE ((size_t)2 << 20)

/* Start a shell with the environment `outer` and nothing else. It starts a
 * program, with the variables in `inner` too, whose rank is read; "": the shell
 * becomes that program. The program itself writes its number: from then on its
 * environment is in /proc. */
static struct rank rank_below(const char *const *outer, const char *inner)
{
    char script[512], line[32];
    int input[2], output[2];
    struct rank rank;
    FILE *lines;
    pid_t shell;

    snprintf(script, sizeof(script),
             inner[0] ? "(%s exec sh -c 'echo $$; read x <&3') & wait"
                      : "%sexec sh -c 'echo $$; read x <&3'",
             inner);
    CU_ASSERT_FATAL(pipe(input) == 0 && pipe(output) == 0);
    shell = fork();
    if (shell == 0) {
        dup2(output[1], STDOUT_FILENO);
        dup2(input[0], 3);
        close(input[1]);
        execle("/bin/sh", "sh", "-c", script, (char *)NULL,
               (char *const *)outer);
        _exit(127);
    }
    close(output[1]);
    close(input[0]);
    lines = fdopen(output[0], "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(lines);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), lines));
    rank_read(&rank, (pid_t)strtol(line, NULL, 10));
    close(input[1]);
    fclose(lines);
    waitpid(shell, NULL, 0);
    return rank;
}

static void check_rank(struct rank rank,
                       uint32_t source,
                       uint32_t number,
                       uint32_t size)
{
    CU_ASSERT_EQUAL(rank.source, source);
    CU_ASSERT_EQUAL(rank.number, number);
    CU_ASSERT_EQUAL(rank.size, size);
}

#define LIST(...) ((const char *[]){__VA_ARGS__, "PATH=/usr/bin:/bin", NULL})

TEST(each_launcher_gives_a_rank)
{
    check_rank(rank_below(LIST("RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=0"), ""),
               RANK_TORCH, 1, 4);
    check_rank(rank_below(LIST("HOROVOD_RANK=2", "HOROVOD_SIZE=3"), ""),
               RANK_HOROVOD, 2, 3);
    check_rank(
        rank_below(LIST("MV2_COMM_WORLD_RANK=2", "MV2_COMM_WORLD_SIZE=8"), ""),
        RANK_MVAPICH, 2, 8);
    check_rank(rank_below(LIST("PALS_RANKID=5", "PALS_APID=x"), ""), RANK_PALS,
               5, 0);
    check_rank(
        rank_below(LIST("JSM_NAMESPACE_RANK=5", "JSM_NAMESPACE_SIZE=6"), ""),
        RANK_JSM, 5, 6);
    check_rank(rank_below(LIST("PMIX_RANK=5", "SLURM_PROCID=5",
                               "SLURM_NTASKS=7", "SLURM_STEP_ID=0"),
                          ""),
               RANK_PMIX, 5, 7);
    check_rank(rank_below(LIST("RANK=1"), ""), RANK_NONE, 0, 0);
}

TEST(the_rank_of_the_innermost_launcher_counts)
{
    /* torchrun below mpirun or srun */
    check_rank(rank_below(LIST("PMIX_RANK=1", "OMPI_COMM_WORLD_RANK=1",
                               "OMPI_COMM_WORLD_SIZE=2"),
                          "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1"),
               RANK_TORCH, 3, 4);
    /* mpirun below a process that torchrun has started */
    check_rank(rank_below(LIST("RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1"),
                          "PMI_RANK=1 PMI_SIZE=2"),
               RANK_PMI, 1, 2);
    /* the shell between them has the same ranks as the program */
    check_rank(rank_below(LIST("SLURM_PROCID=1", "SLURM_NTASKS=2"),
                          "OTHER=1 SLURM_PROCID=1"),
               RANK_SLURM, 1, 2);
}

TEST(a_rank_that_a_script_has_exported_is_none_of_torch)
{
    check_rank(
        rank_below(LIST("RANK=0", "WORLD_SIZE=4"), "PMI_RANK=2 PMI_SIZE=3"),
        RANK_PMI, 2, 3);
    check_rank(
        rank_below(LIST("PMI_RANK=2", "PMI_SIZE=3"), "RANK=0 WORLD_SIZE=4"),
        RANK_PMI, 2, 3);
    check_rank(rank_below(LIST("RANK=0", "WORLD_SIZE=4"), ""), RANK_EXPORTED, 0,
               4);
}

/* Start a copy of this process that calls `change`, and read the rank that it
 * has then. */
static struct rank rank_after(void (*change)(void))
{
    struct rank rank = {0};
    int ready[2];
    char byte;
    pid_t pid;

    CU_ASSERT_FATAL(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        change();
        if (write(ready[1], "!", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    rank_read_live(&rank, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return rank;
}

static void set_rank(void)
{
    setenv("RANK", "2", 1);
    setenv("WORLD_SIZE", "4", 1);
}

/* As programs that write a title over their arguments do. */
static void set_rank_and_title(void)
{
    char **old = environ, **copy = calloc(4096, sizeof(*copy));

    for (size_t i = 0; old[i] && i < 4095; i++)
        copy[i] = strdup(old[i]);
    environ = copy;
    for (size_t i = 0; old[i]; i++)
        memset(old[i], 0, strlen(old[i]));
    set_rank();
}

static void set_large(void)
{
    char *text = malloc(LARGE);

    memset(text, 'x', LARGE - 1);
    text[LARGE - 1] = '\0';
    setenv("LARGE", text, 1);
    setenv("RANK", text, 1);
    set_rank();
}

TEST(a_process_may_have_set_its_own_rank)
{
    check_rank(rank_after(set_rank), RANK_EXPORTED, 2, 4);
    check_rank(rank_after(set_rank_and_title), RANK_EXPORTED, 2, 4);
    check_rank(rank_after(set_large), RANK_EXPORTED, 2, 4);
}

static void set_wild(void)
{
    environ = (char **)(uintptr_t)0x123456789abc;
}

static void set_wild_lines(void)
{
    static char *lines[] = {(char *)0x10, (char *)UINTPTR_MAX, NULL};

    environ = lines;
}

/* A list without an end, of lines without ends. */
static void set_endless(void)
{
    size_t count = LARGE / sizeof(char *);
    char **lines = calloc(count, sizeof(*lines)), *text = malloc(LARGE);

    memset(text, 'x', LARGE);
    for (size_t i = 0; i < count; i++)
        lines[i] = text;
    environ = lines;
}

TEST(a_hostile_environment_gives_no_rank)
{
    check_rank(rank_after(set_wild), RANK_NONE, 0, 0);
    check_rank(rank_after(set_wild_lines), RANK_NONE, 0, 0);
    check_rank(rank_after(set_endless), RANK_NONE, 0, 0);
}
