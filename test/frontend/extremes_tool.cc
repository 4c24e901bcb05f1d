// extremes_tool.cc - a tool in C++11: front-end, back-end, all _INIT macros.
#include <coppice/coppice.h>
#include <coppice/hosts.h>
#include <coppice/status.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace
{

struct network_deleter {
    void operator()(cop_network *network) const
    {
        cop_network_free(network);
    }
};
using network_ptr = std::unique_ptr<cop_network, network_deleter>;

[[noreturn]] void fail(const char *what)
{
    std::fprintf(stderr, "extremes_tool: %s\n", what);
    std::exit(1);
}

int answer()
{
    const cop_join join = COP_JOIN_INIT;
    cop_network *joined;
    cop_stream *stream;
    cop_packet *question;
    cop_error error;

    if (cop_network_join(&joined, &join, &error) < 0)
        fail(error.text);
    network_ptr network(joined);
    while (cop_network_receive(joined, &stream, &question, COP_FOREVER) == 0) {
        const int32_t rank = static_cast<int32_t>(cop_network_rank(joined));
        const char *words[] = {"rank", rank % 2 ? "odd" : "even"};
        const uint64_t counts[] = {1, 1};

        if (cop_packet_tag(question) == COP_TAG_FIRST) {
            cop_stream_send(stream, COP_TAG_FIRST, "%ad", &rank, 1u);
        } else {
            cop_stream_send(stream, COP_TAG_FIRST, "%as %auld", words, 2u,
                            counts, 2u);
            cop_stream_send(stream, COP_TAG_FIRST, "%as %auld", words, 2u,
                            counts, 1u);
        }
        cop_packet_free(question);
    }
    return 0;
}

// Ask for words, a total, and print it. Each back-end also sends a wrong packet.
void ask_for_words(cop_network *network)
{
    cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    cop_event event = COP_EVENT_INIT;
    const char *const *words;
    const uint64_t *counts;
    uint32_t word_count, count_count;
    cop_stream *stream;
    cop_packet *packet;
    cop_error error;

    options.up_filter = "words";
    options.sync = COP_DO_NOT_WAIT;
    options.guarantee = COP_GUARANTEE_TOTAL;
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        fail(error.text);
    cop_stream_send(stream, COP_TAG_FIRST + 1, "%s", "your words?");
    if (cop_stream_sync(stream, COP_FOREVER, &error) != 0 ||
        cop_stream_state(stream, &packet, COP_FOREVER) < 0)
        fail(error.text);
    if (cop_packet_unpack(packet, "%as %auld", &words, &word_count, &counts,
                          &count_count) < 0)
        fail("not words");
    for (uint32_t i = 0; i < word_count; i++)
        std::printf("%s %d\n", words[i], static_cast<int>(counts[i]));
    cop_packet_free(packet);
    while (cop_network_event(network, &event, COP_FOREVER) == 0 &&
           event.type != COP_EVENT_FILTER_ERROR)
        ;
    std::printf("%s\n", event.text);
}

int ask(char *self, const char *filters)
{
    char role[] = "back-end";
    char *back_end[] = {self, role, nullptr};
    cop_launch launch = COP_LAUNCH_INIT;
    cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    cop_network *launched;
    cop_stream *stream;
    cop_packet *packet;
    cop_error error;
    const int32_t *values;
    uint32_t count;

    launch.topology_shape = "2x2";
    launch.backend_argv = back_end;
    launch.filter_path = filters;
    if (cop_network_launch(&launched, &launch, &error) < 0)
        fail(error.text);
    network_ptr network(launched);
    options.up_filter = "extremes";
    if (cop_stream_open(&stream, launched, cop_network_everyone(launched),
                        &options, &error) < 0)
        fail(error.text);
    if (cop_stream_send(stream, COP_TAG_FIRST, "%s", "your rank?") < 0 ||
        cop_stream_receive(stream, &packet, COP_FOREVER) < 0 ||
        cop_packet_unpack(packet, "%ad", &values, &count) < 0 || count != 2)
        fail("no answer");
    std::printf("%d to %d\n", values[0], values[1]);
    cop_packet_free(packet);
    ask_for_words(launched);
    return 0;
}

// The structs that a front-end initialises.
int check_sizes()
{
    const cop_event event = COP_EVENT_INIT;
    const cop_absentee absentee = COP_ABSENTEE_INIT;
    const struct cop_status_node node = COP_STATUS_NODE_INIT;

    return event.size == sizeof(cop_event) && event.text[0] == '\0' &&
           absentee.size == sizeof(cop_absentee) && !absentee.reason &&
           node.size == sizeof(struct cop_status_node);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2 || !check_sizes())
        fail("usage: extremes_tool DIRECTORY-OF-FILTERS");
    return argv[1][0] == '/' ? ask(argv[0], argv[1]) : answer();
}
