/* crash.c - report crashes in filter calls. */
#include "commnode/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* A filter may have exhausted its stack, so each thread that calls filters
 * handles signals on one of these. A driver has three threads. */
#define STACK_LEN   32768
#define STACK_COUNT 3

/* The signals by which a filter may crash. */
static const int signals[] = {
    SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS,
};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(*signals))

static struct driver *_Atomic watched;
static struct sigaction actions[SIGNAL_COUNT]; /* the previous actions */
static unsigned char stacks[STACK_COUNT][STACK_LEN];
static atomic_uint stacks_used;
static _Thread_local bool prepared;

/* Whether this process itself caused the signal. A SIGBUS for a memory error is
 * caused by the host. */
static bool is_own(const siginfo_t *info)
{
    if (info->si_code <= 0) /* kill(), raise(), abort() */
        return info->si_pid == getpid();
    return info->si_signo != SIGBUS ||
           (info->si_code != BUS_MCEERR_AR && info->si_code != BUS_MCEERR_AO);
}

/* Report the crash. Then let the signal have its usual effect: returning
 * repeats a fault; any other signal is raised again. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct driver *driver = atomic_exchange(&watched, NULL);

    (void)context;
    if (driver && is_own(info))
        driver_crash(driver, number);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (signals[i] == number)
            sigaction(number, &actions[i], NULL);
    if (info->si_code <= 0)
        raise(number);
}

static void on_exit_process(void)
{
    struct driver *driver = atomic_exchange(&watched, NULL);

    if (driver)
        driver_crash(driver, 0);
}

void crash_watch(struct driver *driver)
{
    struct sigaction action = {
        .sa_sigaction = on_signal,
        .sa_flags = SA_SIGINFO | SA_ONSTACK,
    };

    if (atomic_exchange(&watched, driver) || !driver)
        return;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaction(signals[i], &action, &actions[i]);
    atexit(on_exit_process);
}

void crash_prepare(void)
{
    stack_t stack = {.ss_size = STACK_LEN}, present;
    unsigned int mine;

    if (prepared)
        return;
    prepared = true;
    /* AddressSanitizer has given the thread a stack, and unmaps the stack that
     * it finds when the thread ends. */
    if (sigaltstack(NULL, &present) == 0 && !(present.ss_flags & SS_DISABLE))
        return;
    mine = atomic_fetch_add(&stacks_used, 1);
    if (mine >= STACK_COUNT)
        return;
    stack.ss_sp = stacks[mine];
    sigaltstack(&stack, NULL);
}
