/* driver_journal.c - a front-end's journal, and taking over from one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/driver_parts.h"

int driver_keep_journal(struct driver *driver,
                        const char *path,
                        struct cop_error *error)
{
    return journal_create(&driver->journal, path, driver->bootstrap,
                          driver_links_address(driver), error);
}

/* If a record is lost, no front-end may take over by those before it. */
void driver_record(struct driver *driver, const struct frame *frame)
{
    struct action news = {.type = ACTION_TELL, .tell = TELL_JOURNAL_FAILED};
    char text[160];
    int r;

    if (!driver->journal)
        return;
    r = journal_write(driver->journal, frame);
    if (r == 0)
        return;
    journal_remove(driver->journal);
    journal_free(driver->journal);
    driver->journal = NULL;
    snprintf(text, sizeof(text),
             "the journal cannot be written (%s) and is removed: nobody can "
             "resume this network any more",
             strerror(-r));
    news.text = text;
    driver_tell(driver, &news);
}

static int read_records(struct driver *driver, struct cop_error *error)
{
    uint64_t at;
    int r;

    for (;;) {
        struct event event = {.type = EVENT_RECORD};

        r = journal_next(driver->journal, &event.frame, &at);
        if (r <= 0)
            break;
        r = driver_machine_step(driver, &event, NULL);
        if (r < 0)
            break;
    }
    if (r < 0)
        return cop_error_set(error, r,
                             "the journal is damaged at byte %" PRIu64
                             " (%s): this network cannot be resumed, and its "
                             "nodes end after survive_ms; remove the file",
                             at, strerror(-r));
    return 0;
}

int driver_take_over(struct driver *driver,
                     struct journal *journal,
                     struct cop_error *error)
{
    struct event event = {.type = EVENT_START};
    int r;

    driver->journal = journal;
    helm_clock(driver->helm);
    r = read_records(driver, error);
    if (r == 0) {
        r = driver_machine_step(driver, &event, NULL);
        if (r == -ESHUTDOWN)
            cop_error_set(error, r,
                          "its front-end had begun to end this network: remove "
                          "the journal");
        else if (r < 0)
            cop_error_set(error, r, "cannot take over: %s", strerror(-r));
    }
    driver->detached = r < 0; /* the files stay as they are */
    return r;
}

int driver_detach(struct driver *driver)
{
    struct event event = {.type = EVENT_DETACH};
    bool before = driver->detached;
    int r = -EPERM;

    driver->detached = true; /* no caller is told that the network has ended */
    if (driver->journal)
        r = driver_machine_step(driver, &event, NULL);
    driver->detached = before || r == 0;
    return r;
}

void driver_journal_free(struct driver *driver)
{
    if (driver->journal && !driver->detached && driver->error == 0 &&
        !helm_is_forked(driver->helm))
        journal_remove(driver->journal);
    journal_free(driver->journal);
}
