/* coppice.hpp - packets and filters in C++17, over the C headers alone.
 *
 * The types of values are those of C: char (%c), unsigned char, std::int16_t to
 * std::uint64_t, float, double, and for %s const char *, std::string and
 * std::string_view. Others, such as bool, do not compile.
 *
 * Errors are exceptions: std::bad_alloc, or std::system_error with the errno of
 * the C function. */
#ifndef COPPICE_HPP
#define COPPICE_HPP

#include <coppice/filter.h>

#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace coppice
{

/* An array in a packet, without a copy. Valid as long as the packet. */
template <typename T> class view
{
public:
    using value_type = T;
    view(const T *first, const T *last) : first_(first), last_(last) {}
    const T *begin() const { return first_; }
    const T *end() const { return last_; }
    const T *data() const { return first_; }
    std::size_t size() const { return std::size_t(last_ - first_); }
    const T &operator[](std::size_t i) const { return first_[i]; }

private:
    const T *first_, *last_;
};

namespace detail
{

/* Throw what the negative errno `r` means. Returns other values. */
inline int check(int r, const std::string &what)
{
    if (r == -ENOMEM)
        throw std::bad_alloc();
    if (r < 0)
        throw std::system_error(-r, std::generic_category(), what);
    return r;
}

/* The cop_type of a C++ type; -1: it is none. */
template <typename T> constexpr int type_of = -1;
template <> inline constexpr int type_of<char> = COP_CHAR;
template <> inline constexpr int type_of<unsigned char> = COP_UCHAR;
template <> inline constexpr int type_of<std::int16_t> = COP_INT16;
template <> inline constexpr int type_of<std::uint16_t> = COP_UINT16;
template <> inline constexpr int type_of<std::int32_t> = COP_INT32;
template <> inline constexpr int type_of<std::uint32_t> = COP_UINT32;
template <> inline constexpr int type_of<std::int64_t> = COP_INT64;
template <> inline constexpr int type_of<std::uint64_t> = COP_UINT64;
template <> inline constexpr int type_of<float> = COP_FLOAT;
template <> inline constexpr int type_of<double> = COP_DOUBLE;
template <> inline constexpr int type_of<const char *> = COP_STRING;

template <typename T>
constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;
template <typename T>
using c_type = std::conditional_t<is_text<T>, const char *, T>;

/* What a T is in a packet: an array if it is a container. */
template <typename T, typename = void> struct traits {
    using of = c_type<T>;
    static constexpr bool is_array = false;
};
template <typename T>
struct traits<T, std::void_t<typename T::value_type,
                             std::enable_if_t<!is_text<T>>>> {
    using of = c_type<typename T::value_type>;
    static constexpr bool is_array = true;
};

/* One value on its way into a packet, with the strings that it points at. */
template <typename T> class item
{
public:
    explicit item(const T &given) : given_(given) {}
    cop_value value()
    {
        constexpr bool is_array = traits<T>::is_array;
        constexpr int type = type_of<typename traits<T>::of>;

        static_assert(type >= 0, "a packet cannot have such a value");
        if constexpr (is_text<T>)
            add(given_);
        else if constexpr (!is_array)
            return {static_cast<cop_type>(type), COP_SCALAR, 1, &given_};
        else if constexpr (type != COP_STRING)
            return {static_cast<cop_type>(type), COP_ARRAY, given_.size(),
                    given_.data()};
        else
            for (const auto &text : given_)
                add(text);
        for (const auto &text : texts_)
            pointers_.push_back(text.c_str());
        return {COP_STRING, is_array ? COP_ARRAY : COP_SCALAR, pointers_.size(),
                pointers_.data()};
    }

private:
    void add(std::string_view text)
    {
        if (text.find('\0') != text.npos)
            check(-EINVAL, "a string with a zero byte");
        texts_.emplace_back(text);
    }
    const T &given_;
    std::vector<std::string> texts_;
    std::vector<const char *> pointers_;
};

} // namespace detail

/* Owns a cop_packet, or none. A copy shares it. */
class packet
{
public:
    packet() = default;
    /* Take over the caller's reference. */
    explicit packet(cop_packet *taken) : packet_(taken) {}
    /* Share a packet that somebody else owns. NULL gives none. */
    static packet share(const cop_packet *owned)
    {
        return packet(owned ? cop_packet_ref(owned) : nullptr);
    }
    packet(const packet &other) : packet(share(other.get()).release()) {}
    packet(packet &&other) noexcept = default;
    packet &operator=(packet other) noexcept
    {
        packet_.swap(other.packet_);
        return *this;
    }

    explicit operator bool() const { return packet_ != nullptr; }
    const cop_packet *get() const { return packet_.get(); }
    /* Give the reference to a C function that takes it. */
    cop_packet *release() { return packet_.release(); }

    std::int32_t tag() const { return cop_packet_tag(get()); }
    std::string format() const
    {
        const char *text = cop_packet_format(get());

        return text ? text : "(damaged)";
    }
    std::size_t size() const /* values */
    {
        return std::size_t(
            detail::check(cop_packet_value_count(get()), "a damaged packet"));
    }

    /* Value number `index` as T: a number, a text, or an array as view<> or
     * std::vector<>. EINVAL if it is of another type, or there is none. */
    template <typename T> T get(std::size_t index) const
    {
        using of = typename detail::traits<T>::of;
        constexpr bool is_array = detail::traits<T>::is_array;
        cop_value value{};
        int r = cop_packet_value(get(), index, &value);

        static_assert(detail::type_of<of> >= 0, "no value is of this type");
        if (r == -ENOENT ||
            (r == 0 && (int(value.type) != detail::type_of<of> ||
                        (value.shape != COP_SCALAR) != is_array)))
            r = -EINVAL;
        detail::check(r, "value " + std::to_string(index) + " of \"" +
                             format() + "\"");
        const of *first = static_cast<const of *>(value.data);
        if constexpr (is_array)
            return T(first, first + value.count);
        else
            return T(*first);
    }

    /* All values. EINVAL if there are more or fewer. */
    template <typename... T> std::tuple<T...> values() const
    {
        if (size() != sizeof...(T))
            detail::check(-EINVAL, "the values of \"" + format() + "\"");
        return values_at<T...>(std::index_sequence_for<T...>());
    }

private:
    template <typename... T, std::size_t... I>
    std::tuple<T...> values_at(std::index_sequence<I...>) const
    {
        return std::tuple<T...>(get<T>(I)...);
    }
    struct deleter {
        void operator()(cop_packet *owned) const { cop_packet_free(owned); }
    };
    std::unique_ptr<cop_packet, deleter> packet_;
};

/* A new packet of numbers, texts, and containers with data() of both. The values
 * are copied. */
template <typename... T> packet make(std::int32_t tag, const T &...given)
{
    std::tuple<detail::item<T>...> items(given...);
    const auto values = std::apply(
        [](auto &...each) {
            return std::array<cop_value, sizeof...(T)>{each.value()...};
        },
        items);
    cop_packet *made = nullptr;

    detail::check(
        cop_packet_new_values(&made, tag, values.data(), values.size()),
        "a new packet");
    return packet(made);
}

/* One call of a filter, with its wave. Not to be kept. */
class call
{
public:
    explicit call(cop_filter_call *given) : call_(given) {}
    std::size_t size() const { return cop_filter_packet_count(call_); }
    packet operator[](std::size_t i) const
    {
        return packet::share(cop_filter_packet(call_, i));
    }
    packet parameters() const
    {
        return packet::share(cop_filter_parameters(call_));
    }
    void emit(packet given)
    {
        detail::check(cop_filter_emit(call_, given.release()), "an output");
    }
    /* For the other functions of filter.h. */
    cop_filter_call *get() const { return call_; }

private:
    cop_filter_call *call_;
};

namespace detail
{

/* Run `body`; its exception becomes the error of this call. */
template <typename Body> int guard(cop_filter_call *given, Body body)
{
    try {
        body();
        return 0;
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (const std::exception &error) {
        return given ? cop_filter_fail(given, "%s", error.what()) : -EPROTO;
    } catch (...) {
        return given ? cop_filter_fail(given, "an exception") : -EPROTO;
    }
}

template <typename T> int pack(const void *state, cop_packet **out)
{
    return guard(nullptr, [&] {
        *out = static_cast<const T *>(state)->pack().release();
    });
}

template <typename T> cop_filter describe(const char *name, std::uint32_t laws)
{
    cop_filter filter = cop_filter();

    filter.abi = COP_FILTER_ABI;
    filter.size = sizeof(filter);
    filter.name = name;
    filter.laws = laws;
    filter.init = [](void **state, cop_filter_call *given) {
        call here(given);
        return guard(given, [&] { *state = new T(here); });
    };
    filter.free = [](void *state) { delete static_cast<T *>(state); };
    return filter;
}

} // namespace detail

/* The wave filter of a class T with T(call &), which refuses wrong parameters,
 * and void operator()(call &), which emits the output of one wave. What they
 * throw is the error of the call. For a constant and COP_FILTER_EXPORT. */
template <typename T>
cop_filter wave_filter(const char *name, std::uint32_t laws)
{
    cop_filter filter = detail::describe<T>(name, laws);

    filter.filter = [](void *state, cop_filter_call *given) {
        call here(given);
        return detail::guard(given, [&] { (*static_cast<T *>(state))(here); });
    };
    return filter;
}

/* The join filter of a class T with T(call &), void join(const packet &, call &),
 * which leaves the object as it was if it throws, void subtract(const T &older),
 * and packet pack() const, which gives none of an empty object. */
template <typename T>
cop_filter join_filter(const char *name, std::uint32_t laws)
{
    cop_filter filter = detail::describe<T>(name, laws);

    filter.join = [](void *state, const cop_packet *input,
                     cop_filter_call *given) {
        call here(given);
        return detail::guard(given, [&] {
            static_cast<T *>(state)->join(packet::share(input), here);
        });
    };
    filter.difference = [](void *newer, const void *older) {
        return detail::guard(nullptr, [&] {
            static_cast<T *>(newer)->subtract(*static_cast<const T *>(older));
        });
    };
    filter.pack = detail::pack<T>;
    return filter;
}

} // namespace coppice

#endif
