/* inbox.c - packets delivered and not yet taken. */
#include "api/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

int inbox_add(struct inbox *inbox,
              struct delivery **view,
              struct cop_stream *stream,
              struct frame *frame)
{
    struct delivery *delivery = inbox->spare;

    if (delivery) {
        LL_DELETE(inbox->spare, delivery);
    } else {
        delivery = malloc(sizeof(*delivery));
        if (!delivery) {
            frame_fini(frame);
            return -ENOMEM;
        }
    }
    delivery->frame = *frame;
    delivery->stream = stream;
    delivery->taken = false;
    frame->payload = NULL;
    DL_APPEND(inbox->first, delivery);
    DL_APPEND2(*view, delivery, stream_prev, stream_next);
    return 0;
}

bool inbox_split(struct delivery *delivery, struct frame *frame)
{
    if (!(delivery->frame.flags & FRAME_EMPTY) || delivery->frame.run < 2)
        return false;
    delivery->frame.run--;
    *frame = delivery->frame;
    frame->wave -= frame->run;
    return true;
}

void inbox_remove(struct inbox *inbox,
                  struct delivery **view,
                  struct delivery *delivery,
                  struct frame *frame)
{
    DL_DELETE(inbox->first, delivery);
    DL_DELETE2(*view, delivery, stream_prev, stream_next);
    *frame = delivery->frame;
    LL_PREPEND(inbox->spare, delivery);
}

void inbox_move(struct inbox *from, struct inbox *to, struct delivery *delivery)
{
    DL_DELETE(from->first, delivery);
    DL_APPEND(to->first, delivery);
}

void inbox_drop(struct inbox *inbox, struct delivery **view)
{
    struct frame frame;

    while (*view) {
        inbox_remove(inbox, view, *view, &frame);
        frame_fini(&frame);
    }
}

void inbox_fini(struct inbox *inbox)
{
    struct delivery *delivery;

    while (inbox->spare) {
        delivery = inbox->spare;
        LL_DELETE(inbox->spare, delivery);
        free(delivery);
    }
}
