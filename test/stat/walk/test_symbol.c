/* test_symbol.c - names in the source from symbols of the linker. */
#include "stat/walk/symbol.h"

#include <stdlib.h>

#include "test/check.h"
#include "test/stat/random.h"

struct row {
    const char *symbol;
    const char *name;
};

/* The names of mangled symbols are those of c++filt. */
static const struct row rows[] = {
    {"main", "main"},
    {"memcpy@@GLIBC_2.14", "memcpy"},
    {"sweep.constprop.0", "sweep"},
    {"sweep.isra.0.cold", "sweep"},
    {"_ZN6solver4stepEi", "solver::step(int)"},
    {"_ZN6solver4stepEi.part.0", "solver::step(int)"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi",
     "std::vector<int, std::allocator<int> >::push_back(int&&)"},
    {"_ZN4mesh5solve17h0123456789abcdefE", "mesh::solve"},
    {"_ZN4mesh5solve17h0123456789abcdefE.llvm.1234", "mesh::solve"},
    {"_RINvCskK7mfDs1mzF_1m6refineINtNtB2_4mesh4CelllEEB2_",
     "m::refine::<m::mesh::Cell<i32>>"},
    {"_RNvXs_NtCskK7mfDs1mzF_1m4meshINtB4_4CelllENtB4_4Step4step",
     "<m::mesh::Cell<i32> as m::mesh::Step>::step"},
    {"__mesh_MOD_exchange", "mesh::exchange"},
    {"__mesh_MOD_", "__mesh_MOD_"},
    {"___MOD_x", "___MOD_x"},
    {"_Z", "_Z"},
    {"_R", "_R"},
    {"_ZN", "_ZN"},
    {"", ""},
};

TEST(symbols_become_names)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *name = symbol_name(rows[i].symbol);

        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        if (strcmp(name, rows[i].name) != 0)
            printf("%s: %s\n", rows[i].symbol, name);
        CU_ASSERT_STRING_EQUAL(name, rows[i].name);
        free(name);
    }
}

/* A name that doubles with each of 40 substitutions, 10^12 times in all, is not
 * written. */
TEST(a_name_that_doubles_is_not_written)
{
    static const char symbol[] =
        "_Z8evaluateI3AddIS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_"
        "IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_"
        "IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_I4LeafS1_ES2_ES3"
        "_ES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_ESH_ESI_ESJ"
        "_ESK_ESL_ESM_ESN_ESO_ESP_ESQ_ESR_ESS_EST_ESU_ESV_ESW_ESX_ESY_ESZ"
        "_ES10_ES11_ES12_ES13_ES14_ES15_EEvPKT_";
    char *name = symbol_name(symbol);

    CU_ASSERT_STRING_EQUAL(name, symbol);
    free(name);
}

/* The name in the source counts only if gfortran made the symbol from it, and
 * appended something. */
TEST(fortran_symbols_have_the_name_of_the_source)
{
    static const struct {
        const char *symbol, *source, *name;
    } cases[] = {
        {"solve_", "solve", "solve"},
        {"my_solve__", "my_solve", "my_solve"},
        {"inner.0", "inner", "inner"},
        {"MAIN__", "ring", "ring"},
        {"MAIN__", NULL, "MAIN__"},
        {"__mesh_MOD_exchange", "exchange", "mesh::exchange"},
        {"solve_", NULL, "solve_"},
        {"solve_", "solve_", "solve_"},
        {"solver", "solve", "solver"},
        {"solve.x", "solve", "solve.x"},
        {"_ZN6solver4stepEi", "step", "solver::step(int)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *name = symbol_name_with_source(cases[i].symbol, cases[i].source);

        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        CU_ASSERT_STRING_EQUAL(name, cases[i].name);
        free(name);
    }
}

/* Symbols come from untrusted files: any bytes give a name. */
TEST(any_symbol_has_a_name)
{
    uint64_t random = 1;
    char text[256];
    size_t len;

    for (size_t round = 0; round < 20000; round++) {
        const char *from =
            rows[random_below(&random, sizeof(rows) / sizeof(rows[0]))].symbol;
        char *name;

        snprintf(text, sizeof(text), "%s", from);
        len = strlen(text);
        for (size_t i = random_below(&random, 6); len > 0 && i > 0; i--)
            text[random_below(&random, (uint32_t)len)] =
                (char)(1 + random_below(&random, 255));
        name = symbol_name(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        free(name);
    }
}
