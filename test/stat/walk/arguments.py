"""arguments.py SEED COUNT - a program in C that calls MPI_Recv() in COUNT + 1 ways,
for test-arguments: the peer and the tag are computed from arguments, memory and
each other, as the seed has it. Three are always the same: one in a ring, one of
which clang 14 describes the peer by a register that has changed, and, behind the
others, a recursion in which each call computes two arguments from two."""
import random
import sys

chance = random.Random(int(sys.argv[1]))
count = int(sys.argv[2])
GIVEN = ["rank", "size", "p->peer", "p->tags[1]", "shared[2]", "(int)p->far",
         "p->near", "p->small"]


def some(names):
    return chance.choice(names + [str(chance.randrange(30))])


def value(names, depth=2):
    if depth == 0 or chance.random() < .25:
        return some(names)
    left = value(names, depth - 1)
    right = value(names, depth - 1)
    return chance.choice([
        f"({left} + {right})", f"({left} - {right})", f"({left} * {right})",
        f"({left} / (({right} & 7) + 1))", f"({left} % size)",
        f"({left} >> 2)", f"(({left} & 255) << 3)", f"({left} ^ {right})",
        f"({left} & {right})", f"({some(names)} == 3 ? {left} : {right})"])


def maybe(share, text):
    return "    " + text + "\n" if i > 1 and chance.random() < share else ""


print("""#include "arguments.h"
static int shared[8] = {3, 1, 4, 1, 5, 9, 2, 6};
struct part { int peer; long far; short near; unsigned char small; int tags[4]; };
""")
for i in range(count):
    names = GIVEN + ["a", "b"] * 2
    peer = chance.choice(["a", "rank - 1", "(rank + 1) % size", "rank / 2",
                          f"{value(names)} & 1023"])
    tag = chance.choice(["7", "b", "token[1]", f"{value(names)} & 4095"])
    if i == 0:
        peer = "(rank + size - 1) % size"
    if i == 1:
        peer = "rank - 1"
        tag = "((p->tags[1] ^ size) + ((int)p->far ^ rank)) & 4095"
    print(f"""APART static int calls_{i}(int rank, int size, struct part *p)
{{
    int token[8] = {{0}}, a = {value(GIVEN)}, b = {value(GIVEN)}, r;
"""
          + ("    if (p->near > 3) note(token);\n" if i == 1 else "")
          + maybe(.3, "note(token);")
          + maybe(.4, f"if ({some(GIVEN)} > {some(GIVEN)}) "
                      f"{{ a = {value(GIVEN)}; note(token); }}")
          + maybe(.3, f"for (int i = 0; i < size % 5; i++) a += {some(GIVEN)};")
          + maybe(.3, f"p->tags[1] = {value(names)};")
          + maybe(.2, "token[1] = p->peer++;")
          + f"""    r = MPI_Recv(token, 1, 1, {peer}, {tag}, 0x44000000, 0);
"""
          + maybe(.5, "r += a * b + rank + p->peer;")
          + f"""    return r + token[0] + {i};
}}
static int given_{i}(void)
{{
    struct part p = {{2, {chance.randrange(-3, 9)}, 5, 3, {{7, 8, 9, 1}}}};
    int rank, size;
    ask(&rank, &size, &p);
""" + maybe(.3, "rank += size / 3;") + f"""    return calls_{i}(rank, size, &p) + p.peer;
}}""")
print(f"""APART static int calls_{count}(int a, int b, int left)
{{
    int token[8] = {{0}};
    int r = left > 0 ? calls_{count}(a + b, a ^ b, left - 1)
                     : MPI_Recv(token, 1, 1, (a + b) & 1023, a ^ b, 0x44000000, 0);
    return r + token[0];
}}
static int given_{count}(void)
{{
    int rank, size;
    ask(&rank, &size, 0);
    return calls_{count}(rank, size, 30) + 1;
}}""")
print("const caller_fn callers[] = {"
      + ", ".join(f"given_{i}" for i in range(count + 1)) + "};")
print(f"const int caller_count = {count + 1};")
