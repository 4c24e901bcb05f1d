/* screen.c - see screen.h. */
#include "stat/show/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Columns and lines if nothing tells their number. */
#define WIDTH_DEFAULT  100
#define HEIGHT_DEFAULT 24

#define CTRL_C 3

/* Enter the alternate screen, without cursor and line wrap; and leave it. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

struct screen {
    bool terminal; /* standard output is a terminal */
    bool keys;     /* standard input is a terminal, and read by us */
    bool raw;      /* its mode must be restored */
    struct termios before;
    struct sigaction actions[4];
};

static const int signals[4] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

/* Set by signal handlers. */
static volatile sig_atomic_t ended;
static volatile sig_atomic_t resized;

static void take_signal(int number)
{
    if (number == SIGWINCH)
        resized = 1;
    else
        ended = 1;
}

unsigned screen_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    unsigned long width;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    width = columns ? strtoul(columns, NULL, 10) : 0;
    return width > 0 && width < 100000 ? (unsigned)width : WIDTH_DEFAULT;
}

static unsigned height(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    return HEIGHT_DEFAULT;
}

/* Read keys as they are pressed. In the background they belong to another
 * program. */
static void take_keys(struct screen *screen)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &screen->before) < 0 ||
        tcgetpgrp(STDIN_FILENO) != getpgrp())
        return;
    raw = screen->before;
    /* Ctrl-C too: as a signal it would end other programs of the process group,
     * such as one that reads standard error. */
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    screen->keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    screen->raw = screen->keys;
}

int screen_new(struct screen **out)
{
    struct screen *screen = calloc(1, sizeof(*screen));
    struct sigaction action = {.sa_handler = take_signal};

    if (!screen)
        return -ENOMEM;
    ended = 0;
    resized = 0;
    for (size_t i = 0; i < 4; i++)
        sigaction(signals[i], &action, &screen->actions[i]);
    screen->terminal = isatty(STDOUT_FILENO);
    if (screen->terminal) {
        take_keys(screen);
        fputs(ENTER, stdout);
        fflush(stdout);
    }
    *out = screen;
    return 0;
}

void screen_free(struct screen *screen)
{
    if (!screen)
        return;
    if (screen->terminal) {
        fputs(LEAVE, stdout);
        fflush(stdout);
    }
    if (screen->raw)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
    for (size_t i = 0; i < 4; i++)
        sigaction(signals[i], &screen->actions[i], NULL);
    free(screen);
}

bool screen_is_terminal(const struct screen *screen)
{
    return screen->terminal;
}

bool screen_is_ended(struct screen *screen)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char key;

    while (screen->keys && !ended && poll(&input, 1, 0) > 0) {
        ssize_t len = read(STDIN_FILENO, &key, 1);

        if (len == 0 && !(input.revents & (POLLHUP | POLLERR)))
            break;    /* another reader took it */
        if (len <= 0) /* the terminal is gone */
            screen->keys = len < 0 && errno == EINTR;
        if (len == 0 || (len == 1 && strchr("qQ", key)) ||
            (len == 1 && key == CTRL_C))
            ended = 1;
    }
    return ended;
}

bool screen_is_resized(struct screen *screen)
{
    bool is = resized && screen->terminal;

    resized = 0;
    return is;
}

void screen_draw(struct screen *screen, const char *text, const char *footer)
{
    unsigned room = height() - 1;

    if (!screen->terminal)
        return;
    fputs("\033[H", stdout);
    for (unsigned line = 0; *text && line < room; line++) {
        size_t len = strcspn(text, "\n");

        printf("%.*s\033[K\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
    printf("\033[0m%s\033[J", footer);
    fflush(stdout);
}
