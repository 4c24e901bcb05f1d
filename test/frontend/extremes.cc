// extremes.cc - a wave filter in C++17: the least and the greatest of integers.
#include <coppice/coppice.hpp>

#include <algorithm>
#include <stdexcept>

namespace
{

struct extremes {
    explicit extremes(coppice::call &call)
    {
        if (call.parameters())
            throw std::invalid_argument("extremes has no parameters");
    }

    void operator()(coppice::call &call)
    {
        std::vector<std::int32_t> all;

        for (std::size_t i = 0; i < call.size(); i++)
            for (auto each : call[i].get<coppice::view<std::int32_t>>(0))
                all.push_back(each);
        if (all.empty())
            throw std::invalid_argument("no integer in this wave");
        const auto ends = std::minmax_element(all.begin(), all.end());
        call.emit(coppice::make(
            0, std::vector<std::int32_t>{*ends.first, *ends.second}));
    }
};

const cop_filter filter = coppice::wave_filter<extremes>(
    "extremes", COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS);

} // namespace

COP_FILTER_EXPORT(filter);
