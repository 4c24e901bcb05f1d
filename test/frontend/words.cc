// words.cc - a join filter in C++17: the set of all words, and how many packets
// named each.
#include <coppice/coppice.hpp>

#include <map>
#include <stdexcept>

namespace
{

class words
{
public:
    explicit words(coppice::call &) {}

    void join(const coppice::packet &packet, coppice::call &)
    {
        const auto [names, counts] =
            packet.values<std::vector<std::string>,
                          coppice::view<std::uint64_t>>();

        if (names.size() != counts.size())
            throw std::invalid_argument("a count for each word");
        for (std::size_t i = 0; i < names.size(); i++)
            if (names[i].empty())
                throw std::invalid_argument("an empty word");
        for (std::size_t i = 0; i < names.size(); i++)
            counts_[names[i]] += counts[i];
    }

    void subtract(const words &older)
    {
        for (const auto &[name, count] : older.counts_)
            if ((counts_[name] -= count) == 0)
                counts_.erase(name);
    }

    coppice::packet pack() const
    {
        std::vector<std::string> names;
        std::vector<std::uint64_t> counts;

        if (counts_.empty())
            return coppice::packet();
        for (const auto &[name, count] : counts_) {
            names.push_back(name);
            counts.push_back(count);
        }
        return coppice::make(0, names, counts);
    }

private:
    std::map<std::string, std::uint64_t> counts_;
};

const cop_filter filter = coppice::join_filter<words>(
    "words", COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_INVERTIBLE);

} // namespace

COP_FILTER_EXPORT(filter);
