/* status.c - coppice-status: the state of the nodes of a running network. */
#include <coppice/status.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/export.h"
#include "tools/measure.h"
#include "tools/view.h"

const char command_program[] = "coppice-status";

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_MS     60000
#define WAIT_MAX_MS        (UINT32_C(31) * 86400 * 1000)

/* The pause between two queries of --wait, and the time-out of one query. */
#define PAUSE_MS 200
#define LOOK_MS  10000

/* Columns of a terminal of unknown width. */
#define WIDTH_DEFAULT 80

/* Exit statuses. */
enum status {
    STATUS_SHOWN = 0,  /* shown, or the state was reached */
    STATUS_FAILED = 1, /* the network could not be queried */
    STATUS_USAGE = 2,
    STATUS_TIMEOUT = 3, /* --wait: the state was not reached in time */
};

/* What --wait waits for. */
enum wish {
    WISH_NONE,
    WISH_UP,
    WISH_DEGRADED,
    WISH_HEALED,
    WISH_LOST,
};
static const char *const wishes[] = {
    [WISH_UP] = "up",
    [WISH_DEGRADED] = "degraded",
    [WISH_HEALED] = "healed",
    [WISH_LOST] = "lost",
};

struct arguments {
    const char *session;
    const char *drain; /* a host, or NULL */
    bool summary;
    enum export format;
    struct view_style style;
    enum wish wish;
    uint32_t timeout_ms; /* 0: not given */
    bool seen;           /* the network has answered before */
};

static const char usage[] =
    "usage: coppice-status [OPTIONS] SESSION\n"
    "Show the state of the nodes of a running network, as a tree.\n"
    "SESSION is the session file that the network's tool has written.\n"
    "  --down           show only nodes that are not up\n"
    "  --summary        show counts and hosts by state instead of the tree\n"
    "  --wait=STATE     wait until the network is up, degraded, healed (every\n"
    "                   node has a parent and answers) or lost (it has ended)\n"
    "  --timeout=S      give up after S seconds, or 250ms, 5m, 2h (default 5; "
    "with\n"
    "                   --wait: never)\n"
    "  --format=FORMAT  write the whole tree for other programs: dot "
    "(Graphviz),\n"
    "                   topology (coppice-topology(5)) or json\n"
    "  --drain=HOST     show nothing: have the commnodes of HOST end, and "
    "their\n"
    "                   children move to other hosts\n"
    "  --no-color       do not use colours\n"
    "  --ascii          draw the tree with ASCII characters\n"
    "  --help, --version\n"
    "exit status: 0 shown or reached, 1 failed, 2 usage, 3 --wait timed out\n";

static int complain(const char *text)
{
    fprintf(stderr, "%s: %s\n", command_program, text);
    return STATUS_FAILED;
}

static int read_wish(enum wish *wish, const char *text)
{
    for (size_t i = WISH_UP; i <= WISH_LOST; i++)
        if (strcmp(text, wishes[i]) == 0) {
            *wish = (enum wish)i;
            return 0;
        }
    return command_complain("--wait needs up, degraded, healed or lost, not",
                            text);
}

static int take_option(void *arg, int option)
{
    struct arguments *arguments = arg;

    switch (option) {
    case 'd':
        arguments->style.only_bad = true;
        return 0;
    case 's':
        arguments->summary = true;
        return 0;
    case 'f':
        if (export_find(&arguments->format, optarg) < 0)
            return command_complain("--format needs dot, topology or json, not",
                                    optarg);
        return 0;
    case 'w':
        return read_wish(&arguments->wish, optarg);
    case 't':
        if (measure_time(optarg, WAIT_MAX_MS, &arguments->timeout_ms) < 0)
            return command_complain(
                "--timeout needs a time such as 30 or 30s, not", optarg);
        return 0;
    case 'D':
        arguments->drain = optarg;
        return 0;
    case 'C':
        arguments->style.colour = false;
        return 0;
    default:
        arguments->style.ascii = true;
        return 0;
    }
}

static unsigned terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    unsigned long width;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    width = columns ? strtoul(columns, NULL, 10) : 0;
    return width >= 20 && width < 10000 ? (unsigned)width : WIDTH_DEFAULT;
}

static void read_terminal(struct view_style *style)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    setlocale(LC_CTYPE, "");
    style->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    style->width = terminal_width();
    style->colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
                    !(terminal && strcmp(terminal, "dumb") == 0);
}

static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {
        {"down", no_argument, NULL, 'd'},
        {"summary", no_argument, NULL, 's'},
        {"format", required_argument, NULL, 'f'},
        {"wait", required_argument, NULL, 'w'},
        {"timeout", required_argument, NULL, 't'},
        {"drain", required_argument, NULL, 'D'},
        {"no-color", no_argument, NULL, 'C'},
        {"ascii", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {usage, options, take_option, arguments};
    int r = command_read(&command, argc, argv, &arguments->session);

    if (r != 0)
        return r;
    if (!arguments->wish && arguments->timeout_ms > TIMEOUT_MAX_MS)
        return command_complain("--timeout without --wait is at most 60 "
                                "seconds",
                                NULL);
    if (arguments->drain && (arguments->wish || arguments->format ||
                             arguments->summary || arguments->style.only_bad))
        return command_complain("--drain shows nothing: of the other options "
                                "it takes --timeout only",
                                NULL);
    if (arguments->format && (arguments->summary || arguments->style.only_bad))
        return command_complain("--format writes the whole tree, without "
                                "--down or --summary",
                                NULL);
    return 0;
}

static int show_view(const struct arguments *arguments, const struct view *view)
{
    const struct view_style *style = &arguments->style;
    int r = 0;

    if (arguments->format) {
        export_write(view, arguments->format, stdout);
    } else if (arguments->summary) {
        r = view_summarise(view, style, stdout);
    } else {
        view_count(view, stdout);
        r = view_draw(view, style, stdout);
    }
    if (r < 0)
        return complain(strerror(-r));
    return STATUS_SHOWN;
}

/* ---- waiting ---- */

static bool is_fulfilled(enum wish wish, const struct view *view)
{
    switch (wish) {
    case WISH_UP:
        return view->nodes[0].is.state == COP_STATE_UP;
    case WISH_DEGRADED:
        return view->nodes[0].is.state == COP_STATE_DEGRADED;
    case WISH_HEALED:
        return view_is_healed(view);
    case WISH_NONE:
    case WISH_LOST:
        break;
    }
    return false;
}

/* Whether the error means that the network has ended. */
static bool is_gone(int code)
{
    return code == -ECONNREFUSED || code == -ENOTCONN || code == -ENOKEY;
}

/* Whether the next query may succeed. */
static bool is_temporary(int code)
{
    return code == -ETIMEDOUT || code == -EBUSY || code == -EAGAIN ||
           code == -EHOSTUNREACH;
}

/* Query the network once. Returns an exit status, or -EAGAIN: query again. */
static int query_once(struct arguments *arguments, uint32_t ms, bool is_last)
{
    struct cop_error error = {""};
    struct cop_status *status = NULL;
    struct view view = {0};
    int r;

    r = cop_status_read(&status, arguments->session, (int)ms, &error);
    if (r < 0) {
        /* a tool may remove its session file when it ends */
        if (arguments->wish == WISH_LOST &&
            (is_gone(r) || (r == -ENOENT && arguments->seen))) {
            printf("lost: %s\n", error.text);
            return STATUS_SHOWN;
        }
        if (arguments->wish && is_temporary(r) && !is_last)
            return -EAGAIN;
        return complain(error.text);
    }
    arguments->seen = true;
    r = view_init(&view, status);
    if (r < 0)
        r = complain(strerror(-r));
    else if (!arguments->wish || is_fulfilled(arguments->wish, &view))
        r = show_view(arguments, &view);
    else if (!is_last)
        r = -EAGAIN;
    else if (show_view(arguments, &view) == STATUS_SHOWN)
        r = STATUS_TIMEOUT;
    else
        r = STATUS_FAILED;
    view_fini(&view);
    cop_status_free(status);
    return r;
}

/* Query until the wish is fulfilled or the deadline has passed. */
static int wait_for_wish(struct arguments *arguments)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    uint64_t end_ms = arguments->timeout_ms
                          ? command_now_ms() + arguments->timeout_ms
                          : UINT64_MAX;
    int r;

    for (;;) {
        uint64_t at_ms = command_now_ms();
        uint64_t left_ms = at_ms < end_ms ? end_ms - at_ms : 0;
        bool is_last = left_ms <= PAUSE_MS;

        /* the last query shows the state, so it may outlast the deadline */
        r = query_once(arguments,
                       left_ms > LOOK_MS || is_last ? LOOK_MS
                                                    : (uint32_t)left_ms,
                       is_last);
        if (r != -EAGAIN)
            break;
        nanosleep(&pause, NULL);
    }
    if (r == STATUS_TIMEOUT)
        fprintf(stderr, "coppice-status: not %s within the time-out\n",
                wishes[arguments->wish]);
    return r;
}

static int drain(const struct arguments *arguments, uint32_t timeout_ms)
{
    struct cop_error error = {""};

    if (cop_session_drain(arguments->session, arguments->drain, (int)timeout_ms,
                          &error) < 0)
        return complain(error.text);
    printf("%s is being drained\n", arguments->drain);
    return STATUS_SHOWN;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    uint32_t timeout_ms;
    int r;

    read_terminal(&arguments.style);
    r = read_arguments(&arguments, argc, argv);
    if (r != 0)
        return command_end(r < 0 ? STATUS_USAGE : STATUS_SHOWN, STATUS_FAILED);
    timeout_ms =
        arguments.timeout_ms ? arguments.timeout_ms : TIMEOUT_DEFAULT_MS;
    if (arguments.drain)
        r = drain(&arguments, timeout_ms);
    else if (arguments.wish)
        r = wait_for_wish(&arguments);
    else
        r = query_once(&arguments, timeout_ms, true);
    return command_end(r, STATUS_FAILED);
}
