/* roles_mpi.c - four libraries of test-roles. As it is, an MPI library with a
 * thread of its own; with -DINNER one that it needs; with -DWRAPPER a
 * profiler's, which calls MPI; with -DIMPOSTOR one that has calls of MPI and is
 * none. */
#include <pthread.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Barrier(int communicator);
int MPI_Finalize(void);
int PMPI_Finalize(void);
int PMPI_Init(int *argc, char ***argv);
int PMPI_Comm_spawn(void);
int PMPI_Barrier(int communicator);
int MPI_Allreduce(void (*add)(void));
void inner_wait(void);

/* Each function must keep its own frame on the stack. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

#if defined(INNER)

void inner_wait(void)
{
    pause();
    NO_TAIL_CALL();
}

#elif defined(WRAPPER)

static int count_and_call(int (*call)(int), int communicator)
{
    int r = call(communicator);

    NO_TAIL_CALL();
    return r;
}

int MPI_Barrier(int communicator)
{
    int r = count_and_call(PMPI_Barrier, communicator);

    NO_TAIL_CALL();
    return r;
}

#elif defined(IMPOSTOR)

static void write_log(void)
{
    pause();
    NO_TAIL_CALL();
}

int MPI_Init(int *argc, char ***argv)
{
    return !argc || !argv;
}

int PMPI_Init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}

int MPI_Barrier(int communicator)
{
    write_log();
    NO_TAIL_CALL();
    return communicator;
}

#else

static void *progress(void *arg)
{
    pause();
    NO_TAIL_CALL();
    return arg;
}

__attribute__((used)) static void wait_inside(void)
{
    pause();
    NO_TAIL_CALL();
}

int PMPI_Init(int *argc, char ***argv)
{
    pthread_t thread;

    return !argc || !argv || pthread_create(&thread, NULL, progress, NULL);
}

int PMPI_Comm_spawn(void)
{
    return 0;
}

static void wait_for_all(void)
{
    inner_wait();
    NO_TAIL_CALL();
}

int PMPI_Barrier(int communicator)
{
    wait_for_all();
    NO_TAIL_CALL();
    return communicator;
}

static int reduce(void (*add)(void))
{
    add();
    NO_TAIL_CALL();
    return 0;
}

int MPI_Allreduce(void (*add)(void))
{
    int r = reduce(add);

    NO_TAIL_CALL();
    return r;
}

/* As in Open MPI, this ends in a jump. */
__attribute__((naked)) int PMPI_Finalize(void)
{
    __asm__("jmp wait_inside");
}

int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Barrier(int communicator) __attribute__((weak, alias("PMPI_Barrier")));

#endif
