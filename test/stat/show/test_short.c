/* test_short.c - long names of C++ and Rust, shortened for pictures. */
#include "stat/show/short.h"

#include <stdlib.h>

#include "stat/show/columns.h"
#include "test/check.h"
#include "test/stat/random.h"

static const struct {
    const char *name;
    const char *text;
} rows[] = {
    {"main", "main"},
    {"f(std::vector<int> const&)", "f(std::vector<int> const&)"},
    {"[sleeping in a place with a name of more than 40 characters (here)]",
     "[sleeping in a place with a name of more than 40 characters (here)]"},
    {"std::function<void (int, std::vector<double> const&)>::operator()() "
     "const",
     "std::function<…>::operator()() const"},
    {"std::_Function_handler<void (), solver::run(int)::{lambda()#1}>::"
     "_M_invoke(std::_Any_data const&)",
     "std::_Function_handler<…>::_M_invoke(…)"},
    {"void std::__invoke_impl<void, solver::Mesh::exchange(int)::"
     "{lambda(int)#1}&, int>(std::__invoke_other, int&&)",
     "std::__invoke_impl<…>(…)"},
    {"solver::Mesh<double, 3>::exchange(int)::{lambda(int)#1}::operator()(int)"
     " const",
     "solver::Mesh<…>::exchange(int)::{lambda(int)#1}::operator()(…)"},
    {"std::ostream& operator<< <std::char_traits<char> >(std::ostream&, int)",
     "operator<< <…>(std::ostream&, int)"},
    {"bool operator<(std::vector<int, std::allocator<int> > const&, int)",
     "operator<(std::vector<…> const&, int)"},
    {"ns::Thing<std::vector<int, std::allocator<int> > >::operator->() const",
     "ns::Thing<…>::operator->() const"},
    {"Widget<long>::operator std::vector<int, std::allocator<int> >() const",
     "Widget<…>::operator std::vector<…>() const"},
    {"(anonymous namespace)::Worker<int>::loop_until_done(unsigned long, int)",
     "(anonymous namespace)::Worker<…>::loop_until_done(…)"},
    {"<m::mesh::Cell<i32> as m::mesh::Step<alloc::vec::Vec<u8>>>::step",
     "<m::mesh::Cell<…> as m::mesh::Step<…>>::step"},
    {"core::ops::FnOnce::call_once::<fn(), (alloc::string::String, u32)>",
     "core::ops::FnOnce::call_once::<…>"},
};

TEST(long_names_are_shown_short)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = short_name(rows[i].name);

        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        if (strcmp(text, rows[i].text) != 0)
            printf("%s\n", text);
        CU_ASSERT_STRING_EQUAL(text, rows[i].text);
        free(text);
    }
}

/* Names come from untrusted files: any bytes give a text, not much longer. */
TEST(any_name_has_a_text)
{
    static const char alphabet[] = "<<>>(()){}[]-=: ,aoperator";
    uint64_t random = 7;
    char name[512];

    for (size_t round = 0; round < 20000; round++) {
        size_t len = random_below(&random, sizeof(name));
        char *text;

        for (size_t i = 0; i < len; i++)
            name[i] = alphabet[random_below(&random, sizeof(alphabet) - 1)];
        if (round % 2)
            memcpy(name, "operator", len < 8 ? len : 8);
        name[len] = '\0';
        text = short_name(name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT(columns_of(text) <= columns_of(name) + 3);
        free(text);
    }
}
