// extremes.cc - a wave filter in C++11: the least and the greatest of integers.
#include <coppice/filter.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <vector>

namespace
{

std::vector<int32_t> collect(const cop_filter_call *call)
{
    std::vector<int32_t> all;
    const int32_t *values;
    uint32_t count;

    for (size_t i = 0; i < cop_filter_packet_count(call); i++)
        if (cop_packet_unpack(cop_filter_packet(call, i), "%ad", &values,
                              &count) == 0)
            all.insert(all.end(), values, values + count);
    return all;
}

int run(void *, cop_filter_call *call)
{
    try {
        std::vector<int32_t> all = collect(call);
        cop_packet *packet;

        if (all.empty())
            return cop_filter_fail(call, "no integer in this wave");
        auto ends = std::minmax_element(all.begin(), all.end());
        const int32_t answer[] = {*ends.first, *ends.second};
        int r =
            cop_packet_new(&packet, cop_packet_tag(cop_filter_packet(call, 0)),
                           "%ad", answer, 2u);
        return r < 0 ? r : cop_filter_emit(call, packet);
    } catch (const std::exception &error) {
        return cop_filter_fail(call, "%s", error.what());
    }
}

cop_filter describe()
{
    cop_filter filter = cop_filter();

    filter.abi = COP_FILTER_ABI;
    filter.size = sizeof(filter);
    filter.name = "extremes";
    filter.laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS;
    filter.filter = run;
    return filter;
}

const cop_filter filter = describe();

} // namespace

COP_FILTER_EXPORT(filter);
