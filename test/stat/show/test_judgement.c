/* test_judgement.c - the sentence that says what the tasks are doing. */
#include "stat/show/judgement.h"
#include "stat/show/report.h"
#include "stat/tree/role.h"
#include "test/stat/trees.h"

/* Check that the judgement of `traces` contains `expected`. Frees `traces`. */
static void check_judgement(struct traces *traces,
                            struct targets *targets,
                            const char *expected)
{
    struct report_source source = {
        .targets = targets, .hosts = 1, .samples = 1};
    struct tree *tree = tree_of(traces);
    struct report *report;
    char *text;

    CHECK_OK(report_new(&report, tree, &source));
    CHECK_OK(judgement_make(&text, report));
    if (!strstr(text, expected))
        printf("\n--- expected\n%s\n--- judged\n%s\n", expected, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
    free(text);
    report_free(report);
    tree_free(tree);
}

/* The same for a process with one thread, whose stack is `frames`. */
static void check_stack(const struct frame *frames,
                        size_t count,
                        const char *expected)
{
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, count));
    check_judgement(traces, NULL, expected);
}

/* The judgement names the program's function, not functions of the language's
 * library, and shortens names as the picture does. */
TEST(judgements_name_functions_of_the_program)
{
    const char *python_library = role_text(ROLE_PYTHON);
    const char *library_of_cc = role_text(ROLE_LIBRARY);
    const struct frame python[] = {
        {"<module>", "job.py", 9, "", 0, false},
        {"collect", "job.py", 3, "", 0, false},
        {"BaseProcess.join", "process.py", 149, python_library, 0, false},
        {"Popen.poll", "popen_fork.py", 27, python_library, 0, false},
        {"wait4", "", 0, "", 0, false}};
    const struct frame python_in_c[] = {
        {"<module>", "job.py", 9, "", 0, false},
        {"train", "job.py", 5, "", 0, false},
        {"Barrier.wait", "threading.py", 723, python_library, 0, false},
        {"semaphore_acquire", "semaphore.c.h", 175, "", 0, false},
        {"semaphore_acquire_impl", "semaphore.c", 352, "", 0, false},
        {"sem_wait", "", 0, "", 0, false}};
    const struct frame in_c[] = {{"<module>", "job.py", 9, "", 0, false},
                                 {"solve", "solve.c", 5, "", 0, false},
                                 {"pause", "", 0, "", 0, false}};
    const struct frame mutex[] = {
        {"transfer", "bank.cc", 9, "", 0, false},
        {"std::mutex::lock()", "std_mutex.h", 100, library_of_cc, 0, false},
        {"__gthread_mutex_lock(pthread_mutex_t*)", "gthr-default.h", 749,
         library_of_cc, 0, false},
        {"__pthread_mutex_lock", "", 0, role_text(ROLE_THREADS), 0, false}};
    const struct frame library[] = {
        {"Thread.run", "threading.py", 9, python_library, 0, false},
        {"read", "", 0, "", 0, false}};
    const struct frame stripped[] = {
        {"halo", "halo.py", 13, "", 0, false},
        {"MPI.cpython-311-x86_64-linux-gnu.so+0xec47b", "", 0, "", 0, false},
        {"PMPI_Recv", "", 0, role_text(ROLE_MPI), 0, false}};
    const struct frame no_symbols[] = {
        {"main", "solver.c", 50, "", 0, false},
        {"libc.so.6+0x4c2fa", "", 0, "", 0, false},
        {"wait4", "", 0, "", 0, false},
        {"libc.so.6+0x4c2ff", "", 0, "", 0, false}};
    const struct frame jumped[] = {{"main", "solver.c", 50, "", 0, false},
                                   {"__libc_system", "", 0, "", 0, false},
                                   {"do_system", "", 0, "", 0, false}};
    const struct frame templates[] = {
        {"main", "mesh.cc", 38, "", 0, false},
        {"solver::Mesh<std::map<int, double, std::less<int> > >::exchange("
         "std::vector<std::map<int, double, std::less<int> > > const&)",
         "mesh.cc", 19, "", 0, false},
        {"pause", "", 0, "", 0, false}};

    check_stack(stripped, 3, "task 0 is in MPI_Recv (halo, halo.py:13) (1 ");
    check_stack(no_symbols, 4, "task 0 is in wait4 (main, solver.c:50) (1 ");
    check_stack(jumped, 3, "task 0 is in system (main, solver.c:50) (1 ");
    check_stack(python, 5,
                "task 0 is in BaseProcess.join (collect, job.py:3) (1 ");
    check_stack(python_in_c, 6,
                "task 0 is in Barrier.wait (train, job.py:5) (1 ");
    check_stack(in_c, 3, "task 0 is in pause (solve, solve.c:5) (1 ");
    check_stack(mutex, 4,
                "task 0 is in std::mutex::lock() (transfer, bank.cc:9) (1 ");
    check_stack(library, 2,
                "task 0 is in read (Thread.run, threading.py:9) (1 ");
    check_stack(templates, 3,
                "task 0 is in pause (solver::Mesh<…>::exchange(…), "
                "mesh.cc:19) (1 ");
}

/* A place in a runtime's function `call`. */
static struct frame called(const char *call)
{
    enum role role = strncmp(call, "MPI_", 4) == 0       ? ROLE_MPI
                     : strncmp(call, "pthread_", 8) == 0 ? ROLE_THREADS
                                                         : ROLE_SYSTEM;

    return (struct frame){call, "", 0, role_text(role), 0, false};
}

/* Add a thread of `task` that waits in `call`, of function `function`. */
static void add_waiting(struct traces *traces,
                        uint32_t task,
                        const char *function,
                        const char *call,
                        const char *note)
{
    const struct frame frames[] = {{function, "w.c", 3, "", 0, false},
                                   called(call),
                                   {note, "", 0, "", 0, false}};

    CHECK_OK(traces_add(traces, task, frames, 3));
}

/* Add a thread of `task` that waits in `call`, which passes a tag. */
static void add_tagged(struct traces *traces,
                       uint32_t task,
                       const char *call,
                       const char *tag,
                       const char *note)
{
    const struct frame frames[] = {{"pass", "w.c", 3, "", 0, false},
                                   called(call),
                                   {tag, "", 0, "", 0, false},
                                   {note, "", 0, "", 0, false}};

    CHECK_OK(traces_add(traces, task, frames, 4));
}

/* Tasks with locks at the same places are described once. Each task with locks
 * at other places is described too. */
TEST(judgements_name_the_locks_of_each_task)
{
    static const char call[] = "pthread_mutex_lock";
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 3; task++) {
        add_waiting(traces, task, task == 1 ? "load" : "take", call,
                    "[thread 11 waits for thread 12]");
        add_waiting(traces, task, task == 1 ? "store" : "give", call,
                    "[thread 12 waits for thread 11]");
    }
    check_judgement(
        traces, NULL,
        "2 threads of task 0 hold each other's locks: 11 waits for 12 in "
        "pthread_mutex_lock (take, w.c:3), 12 waits for 11 in "
        "pthread_mutex_lock (give, w.c:3); 2 threads of task 1 hold each "
        "other's locks: 11 waits for 12 in pthread_mutex_lock (load, w.c:3), "
        "12 waits for 11 in pthread_mutex_lock (store, w.c:3); so do threads "
        "of 1 more task; 2 of 3 tasks are in ");
}

/* The judgement names threads that wait for a thread outside any cycle, and the
 * place of that thread; once for tasks that are alike. */
TEST(judgements_name_the_owner_of_a_mutex)
{
    static const char call[] = "pthread_mutex_lock";
    const struct frame owner[] = {{"load", "w.c", 9, "", 0, false},
                                  {"read", "", 0, "", 0, false}};
    struct traces *traces;

    for (uint32_t tasks = 1; tasks <= 3; tasks += 2) {
        CHECK_OK(traces_new(&traces));
        for (uint32_t task = 0; task < tasks; task++) {
            CHECK_OK(traces_add_thread(traces, task, 10, owner, 2,
                                       &(struct evidence){.decisive = 2}));
            add_waiting(traces, task, "take", call,
                        "[thread 11 waits for thread 10]");
            add_waiting(traces, task, "give", call,
                        "[thread 12 waits for thread 10]");
        }
        check_judgement(
            traces, NULL,
            tasks == 1 ? "2 threads of task 0 wait for a mutex that thread "
                         "10 holds, which is in read (load, w.c:9); task 0: "
                       : "2 threads of task 0 wait for a mutex that thread "
                         "10 holds, which is in read (load, w.c:9); so do "
                         "threads of 2 more tasks; ");
    }
    CHECK_OK(traces_new(&traces));
    add_waiting(traces, 0, "take", call, "[thread 11 waits for thread 12]");
    add_waiting(traces, 0, "give", call, "[thread 12 waits for thread 10]");
    check_judgement(traces, NULL,
                    "2 threads of task 0 wait one for another, at last for a "
                    "mutex that thread 10 holds; ");
    CHECK_OK(traces_new(&traces));
    add_waiting(traces, 0, "take", "take_gil",
                "[thread 11 waits for the GIL, which thread 10 holds]");
    check_judgement(traces, NULL,
                    "1 thread of task 0 waits for the GIL that thread 10 "
                    "holds; ");
    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 2; task++)
        add_waiting(traces, task, "take", call,
                    "[thread 11 waits for thread 10, which has ended]");
    check_judgement(traces, NULL,
                    "1 thread of task 0 waits for a mutex that thread 10 "
                    "holds, which has ended; so do threads of 1 more task; ");
}

/* The judgement names four places of a task's threads and counts the others. */
TEST(judgements_count_the_other_places)
{
    const char *functions[] = {"a", "b", "c", "d", "e", "f"};

    for (size_t count = 5; count <= 6; count++) {
        struct traces *traces;

        CHECK_OK(traces_new(&traces));
        for (size_t i = 0; i < count; i++)
            add_waiting(traces, 0, functions[i], "read", "[running]");
        check_judgement(traces, NULL,
                        count == 5
                            ? "; others are at 1 more place (1 sample)"
                            : "; others are at 2 more places (1 sample)");
    }
}

/* A number of threads is a bound if some were not looked at. */
TEST(judgements_say_at_least)
{
    const struct frame left_out = {
        "[more than 100 other threads: not walked]", "", 0, "", 0, false};
    struct traces *traces;

    for (int bound = 0; bound < 2; bound++) {
        CHECK_OK(traces_new(&traces));
        for (int thread = 0; thread < 20; thread++)
            add_waiting(traces, 0, thread == 0 ? "load" : "work", "read",
                        "[running]");
        if (bound)
            CHECK_OK(traces_add(traces, 0, &left_out, 1));
        check_judgement(traces, NULL,
                        bound ? "task 0: at least 19 threads are in read (work,"
                              : "task 0: 19 of 20 threads are in read (work,");
    }
}

/* The judgement names the rank that waits and the rank that it waits for; of
 * several waiting ranks, their number. */
TEST(judgements_name_the_rank_that_waits)
{
    struct targets targets = {.ranked = true};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    add_waiting(traces, 2, "pass", "MPI_Recv", "[from rank 3]");
    check_judgement(traces, &targets, "; rank 2 waits for rank 3 (1 ");
    CHECK_OK(traces_new(&traces));
    add_tagged(traces, 2, "MPI_Recv", "[tag 12]", "[from rank 3]");
    check_judgement(traces, &targets,
                    "; rank 2 waits for tag 12 from rank 3 (1 ");
    CHECK_OK(traces_new(&traces));
    add_tagged(traces, 2, "MPI_Ssend", "[tag 12]", "[to rank 3]");
    check_judgement(traces, &targets,
                    "; rank 2 waits to send tag 12 to rank 3 (1 ");
    CHECK_OK(traces_new(&traces));
    add_waiting(traces, 2, "pass", "MPI_Recv", "[from rank 3]");
    add_waiting(traces, 4, "pass", "MPI_Recv", "[from rank 3]");
    check_judgement(traces, &targets, "; 2 ranks wait for rank 3 (1 ");
    CHECK_OK(traces_new(&traces));
    add_waiting(traces, 2, "pass", "MPI_Recv", "[from rank 3]");
    add_waiting(traces, 4, "pass", "MPI_Recv", "[from rank 2]");
    check_judgement(traces, &targets,
                    "; 2 ranks wait one for another, at last for rank 3 (1 ");
}

/* One tag that differs is told among calls that receive, though others send, and
 * though it is not known which tasks the ranks are. */
TEST(judgements_name_the_odd_tag)
{
    for (int differs = 0; differs < 2; differs++) {
        struct targets targets = {.ranked = differs};
        struct traces *traces;

        CHECK_OK(traces_new(&traces));
        add_tagged(traces, 0, "MPI_Recv", "[tag 7]", "[from rank 3]");
        add_tagged(traces, 1, "MPI_Send", differs ? "[tag 8]" : "[tag 7]",
                   "[to rank 0]");
        add_tagged(traces, 2, "MPI_Recv", "[tag 12]", "[from rank 1]");
        add_tagged(traces, 3, "MPI_Recv", "[tag 7]", "[from rank 2]");
        check_judgement(traces, &targets,
                        differs ? "; only rank 2 waits for tag 12 (from rank "
                                  "1), the others for 7 (1 "
                                : "; only task 2 waits for tag 12 (from rank "
                                  "1), the others for 7 (1 ");
    }
}

/* Add a thread of `task` in a call of `function`, that has run or not. */
static void add_thread(struct traces *traces,
                       uint32_t task,
                       const char *function,
                       const char *call,
                       bool ran)
{
    const struct frame frames[] = {{function, "w.c", 3, "", 0, false},
                                   {call, "", 0, "", 0, false}};

    CHECK_OK(traces_add_thread(traces, task, 0, frames, 2,
                               &(struct evidence){.decisive = 2,
                                                  .ran = ran,
                                                  .weight = WEIGHT_NATIVE}));
}

/* The judgement of two samples of `add`; the caller frees it. */
static char *judged_twice(void (*add)(struct traces *traces, bool again))
{
    struct report_source source = {
        .hosts = 1, .samples = 2, .interval_ms = 100};
    struct report *report;
    struct tree *tree = NULL;
    struct traces *traces;
    char *text;

    CHECK_OK(traces_new(&traces));
    add(traces, false);
    tree = with_sample(tree, traces, 0);
    add(traces, true);
    tree = settled(with_sample(tree, traces, 0));
    traces_free(traces);
    CHECK_OK(report_new(&report, tree, &source));
    CHECK_OK(judgement_make(&text, report));
    report_free(report);
    tree_free(tree);
    return text;
}

static void add_waiter_and_worker(struct traces *traces, bool again)
{
    for (uint32_t task = 0; task < 3; task++)
        add_thread(traces, task, "main", "read", false);
    add_thread(traces, 2, "worker", "refine", again);
}

static void add_reader_and_mover(struct traces *traces, bool again)
{
    add_thread(traces, 0, "main", "read", false);
    add_thread(traces, 0, "worker", "refine", again);
}

static void add_two_threads_of_one(struct traces *traces, bool again)
{
    (void)again;
    for (uint32_t task = 0; task < 4; task++)
        add_thread(traces, task, "main", "barrier", false);
    add_thread(traces, 1, "take", "lock", false);
    add_thread(traces, 1, "give", "lock", false);
}

static void add_two_leaves(struct traces *traces, bool again)
{
    const struct frame frames[] = {{"main", "w.c", 3, "", 0, false},
                                   {"fread", "", 0, "", 0, false},
                                   {"read", "", 0, "", 0, false}};
    const struct frame other[] = {
        frames[0], frames[1], {"poll", "", 0, "", 0, false}};

    (void)again;
    for (uint32_t task = 0; task < 4; task++)
        CHECK_OK(traces_add(traces, task, task == 3 ? other : frames, 3));
}

/* A task waits at its place while another of its threads moves. Places of the
 * threads of one task are named beside other tasks. Places that differ in the
 * last function are told apart. */
TEST(judgements_are_by_place)
{
    static const struct {
        void (*add)(struct traces *traces, bool again);
        const char *text;
    } cases[] = {
        {add_waiter_and_worker,
         "2 of 3 tasks wait in read (main, w.c:3); task 2 moves in worker "
         "(w.c:3) (2 samples, 0.1 s)"},
        {add_reader_and_mover,
         "task 0: 1 thread waits in read (main, w.c:3); 1 thread moves in "
         "refine (worker, w.c:3) (2 samples, 0.1 s)"},
        {add_two_threads_of_one, "3 of 4 tasks wait in barrier (main, w.c:3); "
                                 "task 1: 1 thread waits in "
                                 "lock (give, w.c:3); 1 thread waits in lock "
                                 "(take, w.c:3); no task has "
                                 "moved (2 samples, 0.1 s)"},
        {add_two_leaves,
         "3 of 4 tasks wait in fread (main, w.c:3), down in read; task 3 waits "
         "in fread (main, w.c:3), down in poll; no task has moved (2 samples, "
         "0.1 s)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = judged_twice(cases[i].add);

        if (strcmp(text, cases[i].text) != 0)
            printf("\n--- expected\n%s\n--- judged\n%s\n", cases[i].text, text);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
        free(text);
    }
}

/* Add a task that waits in two frames of a runtime below `function`, and with
 * `operator` in the program again, which the runtime has called. */
static void add_in_call(struct traces *traces,
                        uint32_t task,
                        const char *function,
                        const char *call,
                        enum role role,
                        const char *
                        operator)
{
    const struct frame frames[] = {{function, "w.c", 3, "", 0, false},
                                   {call, "", 0, role_text(role), 0, false},
                                   {"inside", "", 0, role_text(role), 0, false},
                                   {operator, "op.c", 7, "", 0, false},
                                   {"pause", "", 0, "system", 0, false}};

    CHECK_OK(traces_add_thread(
        traces, task, 0, frames, operator[0] ? 5 : 3,
        &(struct evidence){.decisive = 1, .weight = WEIGHT_NATIVE}));
}

static void add_two_collectives(struct traces *traces, bool again)
{
    (void)again;
    for (uint32_t task = 0; task < 4; task++)
        add_in_call(traces, task, task == 1 ? "load" : "step",
                    task == 1 ? "PMPI_Bcast" : "MPI_Allreduce", ROLE_MPI, "");
}

static void add_two_of_torch(struct traces *traces, bool again)
{
    (void)again;
    for (uint32_t task = 0; task < 3; task++)
        add_in_call(traces, task, "step", task == 0 ? "barrier" : "all_reduce",
                    ROLE_COLLECTIVE, "");
}

static void add_one_collective(struct traces *traces, bool again)
{
    (void)again;
    add_in_call(traces, 0, "load", "MPI_Bcast", ROLE_MPI, "");
    add_in_call(traces, 1, "step", "mpi_bcast_", ROLE_MPI, "");
    add_in_call(traces, 2, "step", "ompi_bcast_f", ROLE_MPI, "");
}

static void add_message(struct traces *traces, bool again)
{
    (void)again;
    add_in_call(traces, 0, "load", "MPI_Recv", ROLE_MPI, "");
    add_in_call(traces, 1, "step", "MPI_Bcast", ROLE_MPI, "");
}

/* If all tasks wait in collective calls that differ, that is said first. The
 * same call in another language or place is no other call. */
TEST(different_collective_calls_are_said_to_be)
{
    static const struct {
        void (*add)(struct traces *traces, bool again);
        const char *text;
    } cases[] = {
        {add_two_collectives,
         "tasks are in different collective calls: task 1 waits in MPI_Bcast "
         "(load, w.c:3); tasks 0,2-3 wait in MPI_Allreduce (step, w.c:3); no "
         "task has moved (2 samples, 0.1 s)"},
        {add_two_of_torch,
         "tasks are in different collective calls: task 0 waits in barrier "
         "(step, w.c:3); tasks 1-2 wait in all_reduce (step, w.c:3); no task "
         "has moved (2 samples, 0.1 s)"},
        {add_one_collective,
         "task 2 waits in ompi_bcast_f (step, w.c:3); task 0 waits in "
         "MPI_Bcast "
         "(load, w.c:3); task 1 waits in mpi_bcast_ (step, w.c:3); no task has "
         "moved (2 samples, 0.1 s)"},
        {add_message,
         "task 1 waits in MPI_Bcast (step, w.c:3); task 0 waits in MPI_Recv "
         "(load, w.c:3); no task has moved (2 samples, 0.1 s)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = judged_twice(cases[i].add);

        if (strcmp(text, cases[i].text) != 0)
            printf("\n--- expected\n%s\n--- judged\n%s\n", cases[i].text, text);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
        free(text);
    }
}

static void add_operator(struct traces *traces, bool again)
{
    (void)again;
    for (uint32_t task = 0; task < 3; task++)
        add_in_call(traces, task, "step", "MPI_Allreduce", ROLE_MPI,
                    task == 2 ? "maximum" : "");
}

static void add_workers(struct traces *traces, bool again)
{
    const struct frame frames[] = {{FRAME_WORKER, "", 0, "", 0, false},
                                   {"decode", "data.py", 5, "", 0, false},
                                   {"read", "", 0, "", 0, false}};
    const struct evidence evidence = {.decisive = 3, .weight = WEIGHT_PROGRAM};

    (void)again;
    for (uint32_t task = 0; task < 3; task++) {
        add_thread(traces, task, "main", "select", false);
        if (task < 2)
            CHECK_OK(traces_add_thread(traces, 2 * task, 70 + (int)task, frames,
                                       3, &evidence));
    }
}

static void add_own_workers(struct traces *traces, bool again)
{
    const struct frame frames[] = {{FRAME_WORKER, "", 0, "", 0, false},
                                   {"decode", "data.py", 5, "", 0, false},
                                   {"read", "", 0, "", 0, false}};
    const struct evidence evidence = {.decisive = 3, .weight = WEIGHT_PROGRAM};

    (void)again;
    add_thread(traces, 0, "main", "select", false);
    for (int tid = 70; tid < 72; tid++)
        CHECK_OK(traces_add_thread(traces, 0, tid, frames, 3, &evidence));
}

/* A function of the program that a runtime has called is the place of its task.
 * A worker is named as such. */
TEST(judgements_name_operators_and_workers)
{
    char *text = judged_twice(add_operator);

    CU_ASSERT_STRING_EQUAL(
        text, "2 of 3 tasks wait in MPI_Allreduce (step, w.c:3); task 2 waits "
              "in pause (maximum, op.c:7); no task has moved (2 samples, "
              "0.1 s)");
    free(text);
    text = judged_twice(add_workers);
    CU_ASSERT_STRING_EQUAL(
        text, "workers of 2 of 3 tasks wait in read (decode, data.py:5); task "
              "1 waits in select (main, w.c:3); no task has moved (2 samples, "
              "0.1 s)");
    free(text);
    text = judged_twice(add_own_workers);
    CU_ASSERT_STRING_EQUAL(text,
                           "task 0, workers 70-71 wait in read (decode, "
                           "data.py:5); no task has moved (2 samples, 0.1 s)");
    free(text);
}

/* Stacks that do not tell where the program is: their tasks are not known, unless
 * another thread tells. */
TEST(hidden_places_make_a_look_partial)
{
    const char *go = role_text(ROLE_GO);
    const struct frame python[] = {{FRAME_PYTHON_UNREAD, "", 0, "", 0, false},
                                   {"read", "", 0, "system", 0, false}};
    const struct frame embedded[] = {{"main", "app.c", 3, "", 0, false},
                                     {FRAME_PYTHON_UNREAD, "", 0, "", 0, false},
                                     {"read", "", 0, "system", 0, false}};
    const struct frame parked[] = {{"runtime.mcall", "", 0, go, 0, false},
                                   {"runtime.futex", "", 0, go, 0, false}};
    const struct frame busy[] = {{"main.refine", "app.go", 7, "", 0, false},
                                 {"runtime.nanotime", "", 0, go, 0, false}};
    const struct {
        const struct frame *frames;
        size_t count;
        bool hidden;
    } cases[] = {{python, 2, true},
                 {embedded, 3, false},
                 {parked, 2, true},
                 {busy, 2, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report_source source = {.hosts = 1, .samples = 1};
        struct report *report;
        struct traces *traces;
        struct tree *tree;

        CHECK_OK(traces_new(&traces));
        CHECK_OK(traces_add(traces, 0, cases[i].frames, cases[i].count));
        if (cases[i].frames == busy)
            CHECK_OK(traces_add(traces, 0, parked, 2));
        tree = tree_of(traces);
        CHECK_OK(report_new(&report, tree, &source));
        CU_ASSERT_EQUAL(report->missing[0] != '\0', cases[i].hidden);
        report_free(report);
        tree_free(tree);
    }
}

/* A stack that could not be followed is not the place of a task that has
 * another; if it has none, the look is partial. */
TEST(truncated_stacks_are_no_places)
{
    const struct frame truncated[] = {{"[truncated]", "", 0, "", 0, false},
                                      {"futex", "", 0, "", 0, false}};
    struct report_source source = {.hosts = 1, .samples = 1};
    struct report *report;
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, truncated, 2));
    add_thread(traces, 0, "start", "read", false);
    CHECK_OK(traces_add(traces, 1, truncated, 2));
    tree = tree_of(traces);
    CHECK_OK(report_new(&report, tree, &source));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        report->missing, "it is not known where in the program 1 of 2 tasks "
                         "are: 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report->judgement, "read (start, w.c:3)"));
    report_free(report);
    tree_free(tree);
}
