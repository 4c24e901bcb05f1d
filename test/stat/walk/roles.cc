// roles.cc - a program of test-roles whose own functions have names that begin
// as a runtime's do. Its argument says where it waits: in "mpi", at its
// "end", in its own "halo", in its "operator", which MPI calls, or in "names",
// with a thread.
#include <cstring>
#include <pthread.h>
#include <unistd.h>

extern "C" int MPI_Init(int *argc, char ***argv);
extern "C" int MPI_Barrier(int communicator);
extern "C" int MPI_Finalize();
extern "C" int MPI_Allreduce(void (*add)());

// Each function must keep its own frame on the stack.
#define FRAME          __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

FRAME static void smooth()
{
    pause();
    NO_TAIL_CALL();
}

FRAME static void mpi_exchange_ghosts(bool waits)
{
    if (waits)
        smooth();
    MPI_Barrier(0);
    NO_TAIL_CALL();
}

namespace core
{
FRAME static void read_mesh()
{
    pause();
    NO_TAIL_CALL();
}
} // namespace core

FRAME static void pthread_load()
{
    core::read_mesh();
    NO_TAIL_CALL();
}

FRAME static void *start_thread(void *arg)
{
    smooth();
    NO_TAIL_CALL();
    return arg;
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "";
    pthread_t thread;

    if (strcmp(where, "names") == 0) {
        pthread_create(&thread, nullptr, start_thread, nullptr);
        pthread_load();
    } else {
        MPI_Init(&argc, &argv);
        if (strcmp(where, "end") == 0)
            MPI_Finalize();
        if (strcmp(where, "operator") == 0)
            MPI_Allreduce(smooth);
        mpi_exchange_ghosts(strcmp(where, "halo") == 0);
    }
    return 0;
}
