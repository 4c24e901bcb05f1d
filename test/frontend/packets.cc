// packets.cc - values of all types go into a packet and come back in C++17.
#include <coppice/coppice.hpp>

#include <cstdio>
#include <cstdlib>

namespace
{

void expect(bool is_so, const char *what)
{
    if (is_so)
        return;
    std::fprintf(stderr, "packets: %s\n", what);
    std::exit(1);
}

// Whether `body` throws std::system_error with EINVAL.
template <typename Body> bool is_refused(Body body)
{
    try {
        body();
    } catch (const std::system_error &error) {
        return error.code().value() == EINVAL;
    }
    return false;
}

template <typename T> void check_number(T number, const char *format)
{
    const std::vector<T> three{T(1), number, T(3)};
    const coppice::packet packet =
        coppice::make(7, number, three, std::vector<T>());
    const auto [one, many, none] =
        packet.values<T, coppice::view<T>, std::vector<T>>();

    expect(packet.format() == format, format);
    expect(packet.tag() == 7, "the tag");
    expect(one == number && many.size() == 3 && many[1] == number &&
               none.empty(),
           format);
}

void check_texts()
{
    const std::string text = "text";
    const std::vector<std::string> texts{"", "two"};
    const auto packet = coppice::make(-5, "literal", text,
                                      std::string_view("view"), texts,
                                      std::vector<const char *>{"c"});
    const auto copy = packet;

    expect(packet.format() == "%s %s %s %as %as", "a format of texts");
    expect(copy.get() == packet.get(), "a copy is the same packet");
    expect(copy.get<std::string_view>(0) == "literal" &&
               copy.get<std::string>(1) == "text" &&
               std::string_view("view") == copy.get<const char *>(2) &&
               copy.get<std::vector<std::string>>(3) == texts &&
               copy.get<coppice::view<const char *>>(4)[0] ==
                   std::string_view("c"),
           "texts");
}

void check_errors()
{
    const auto packet = coppice::make(1, std::int32_t(1), "text");

    expect(is_refused([&] { packet.get<double>(0); }), "another type");
    expect(is_refused([&] { packet.get<coppice::view<std::int32_t>>(0); }),
           "no array");
    expect(is_refused([&] { packet.get<std::int32_t>(2); }), "no such value");
    expect(is_refused([&] { packet.values<std::int32_t>(); }), "too few");
    expect(is_refused([&] { coppice::make(1, std::string("a\0b", 3)); }),
           "a zero byte");
    expect(!coppice::packet() && packet, "none is false");
}

} // namespace

int main()
{
    check_number<char>('c', "%c %ac %ac");
    check_number<unsigned char>('c', "%uc %auc %auc");
    check_number<std::int16_t>(-2, "%hd %ahd %ahd");
    check_number<std::uint16_t>(65535, "%uhd %auhd %auhd");
    check_number<std::int32_t>(-2, "%d %ad %ad");
    check_number<std::uint32_t>(4000000000, "%ud %aud %aud");
    check_number<std::int64_t>(-5000000000, "%ld %ald %ald");
    check_number<std::uint64_t>(5000000000, "%uld %auld %auld");
    check_number<float>(0.5F, "%f %af %af");
    check_number<double>(0.25, "%lf %alf %alf");
    check_texts();
    check_errors();
    expect(coppice::make(3).size() == 0, "no value");
}
