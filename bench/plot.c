/* plot.c - a curve over time as an SVG picture. */
#include "bench/plot.h"

#include <errno.h>
#include <math.h>

/* The picture and the frame of the curve in it, in pixels. */
#define WIDTH  900
#define HEIGHT 360
#define LEFT   70
#define RIGHT  20
#define TOP    40
#define BOTTOM 50

#define TICKS 6 /* about so many on an axis */

struct scale {
    double x; /* pixels for a second */
    double y; /* pixels for a unit */
    double top;
};

/* A round number of which about TICKS make `range`. */
static double tick_of(double range)
{
    double rough = range / TICKS;
    double power = pow(10, floor(log10(rough)));
    double digit = rough / power;

    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

static double pixel_x(const struct scale *scale, double at_s)
{
    return LEFT + at_s * scale->x;
}

static double pixel_y(const struct scale *scale, double value)
{
    return HEIGHT - BOTTOM - fmin(value, scale->top) * scale->y;
}

/* Bursts do not flatten the rest: the axis ends at three times the mean rate,
 * unless nothing is higher. */
static struct scale choose_scale(const struct plot *plot)
{
    double mean = (double)plot->at_s->count / plot->until_s;
    double greatest = sample_quantile(plot->value, 1);
    struct scale scale = {.top = fmin(3 * mean, greatest * 1.1)};

    if (!(scale.top > 0))
        scale.top = 1;
    scale.x = (WIDTH - LEFT - RIGHT) / plot->until_s;
    scale.y = (HEIGHT - TOP - BOTTOM) / scale.top;
    return scale;
}

static void write_axes(FILE *file,
                       const struct plot *plot,
                       const struct scale *scale)
{
    double step = tick_of(plot->until_s);
    double y_step = tick_of(scale->top);

    for (double at_s = 0; at_s <= plot->until_s; at_s += step)
        fprintf(file,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                pixel_x(scale, at_s), HEIGHT - BOTTOM + 18, at_s);
    for (double value = 0; value <= scale->top; value += y_step)
        fprintf(file,
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n"
                "<path stroke=\"#dddddd\" d=\"M%d %.1fH%d\"/>\n",
                LEFT - 6, pixel_y(scale, value) + 4, value, LEFT,
                pixel_y(scale, value), WIDTH - RIGHT);
    fprintf(file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">seconds</text>\n"
            "<text x=\"%d\" y=\"20\">%s (%s)</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, LEFT, plot->title,
            plot->unit);
}

static void write_marks(FILE *file,
                        const struct plot *plot,
                        const struct scale *scale)
{
    for (size_t i = 0; i < plot->marks->count; i++)
        fprintf(file,
                "<path class=\"kill\" stroke=\"#c03020\" d=\"M%.1f %dV%d\"/>\n"
                "<text fill=\"#c03020\" x=\"%.1f\" y=\"%d\">kill</text>\n",
                pixel_x(scale, plot->marks->values[i]), TOP - 4,
                HEIGHT - BOTTOM, pixel_x(scale, plot->marks->values[i]) + 3,
                TOP + 6);
}

/* One column of the picture: its least and its greatest value. */
struct column {
    double x;
    double low;
    double high;
};

static void write_column(FILE *file,
                         const struct scale *scale,
                         const struct column *column)
{
    if (isnan(column->low))
        return;
    fprintf(file, "%.1f,%.1f ", column->x, pixel_y(scale, column->low));
    if (column->high > column->low)
        fprintf(file, "%.1f,%.1f ", column->x, pixel_y(scale, column->high));
}

static void write_curve(FILE *file,
                        const struct plot *plot,
                        const struct scale *scale)
{
    struct column column = {-1, (double)NAN, (double)NAN};

    fprintf(file, "<polyline fill=\"none\" stroke=\"#8fb3dd\" points=\"");
    for (size_t i = 0; i < plot->value->count; i++) {
        double value = plot->value->values[i];
        double x = floor(pixel_x(scale, plot->at_s->values[i]));

        if (x > column.x) {
            write_column(file, scale, &column);
            column = (struct column){x, (double)NAN, (double)NAN};
        }
        column.low = fmin(column.low, value);
        column.high = fmax(column.high, value);
    }
    write_column(file, scale, &column);
    fprintf(file, "\"/>\n");
}

/* How many there were in each whole second. */
static void write_seconds(FILE *file,
                          const struct plot *plot,
                          const struct scale *scale)
{
    const struct sample *at_s = plot->at_s;
    size_t i = 0;

    fprintf(file, "<polyline fill=\"none\" stroke=\"#123f7a\" "
                  "stroke-width=\"2\" points=\"");
    for (double second = 1; second + 1 <= plot->until_s; second++) {
        size_t count = 0;

        while (i < at_s->count && at_s->values[i] < second)
            i++;
        for (; i < at_s->count && at_s->values[i] < second + 1; i++)
            count++;
        fprintf(file, "%.1f,%.1f ", pixel_x(scale, second + 0.5),
                pixel_y(scale, (double)count));
    }
    fprintf(file, "\"/>\n");
}

int plot_write(FILE *file, const struct plot *plot)
{
    struct scale scale = choose_scale(plot);

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    write_axes(file, plot, &scale);
    write_marks(file, plot, &scale);
    write_curve(file, plot, &scale);
    write_seconds(file, plot, &scale);
    fprintf(file, "</svg>\n");
    return ferror(file) || fflush(file) != 0 ? -EIO : 0;
}
