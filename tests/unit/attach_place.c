/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach_place.c - on which instruction of a function a probe of sqtrace-attach stands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/place.h"

/* The code, as a compiler makes it, and where the probe belongs. */
struct place_case {
    const char *name, *code;
    size_t size, offset;
    int emulated;
};
#define PLACE(name, code, offset, emulated) \
    { \
        name, code, sizeof(code) - 1, offset, emulated \
    }

static const struct place_case cases[] = {
    PLACE("push", "\x55\x48\x89\xe5", 0, 1),
    PLACE("push of a high register", "\x41\x57\x41\x56", 0, 1),
    PLACE("behind endbr64", "\xf3\x0f\x1e\xfa\x41\x54\x55", 4, 1),
    PLACE("lea of an address, then push", "\x48\x8d\x05\x91\x59\x2e\x00\x41\x54", 7, 1),
    PLACE("a vector register is cleared, then push", "\x66\x0f\xef\xc0\x55", 4, 1),
    PLACE("a test, then a jump", "\x83\x3d\x11\x22\x33\x44\x01\x74\x05", 7, 1),
    PLACE("mov from an argument, then push", "\x48\x89\xfb\x53", 3, 1),
    PLACE("room on the stack, then push", "\x48\x83\xec\x18\x53", 4, 1),
    PLACE("xor of an argument's register", "\x31\xd2\x53", 0, 0),
    PLACE("mov to an argument's register", "\x48\x89\xf2\x53", 0, 0),
    PLACE("mov to a high argument's register", "\x4d\x89\xd0\x53", 0, 0),
    PLACE("the same behind endbr64", "\xf3\x0f\x1e\xfa\x48\x89\xf2\x53", 4, 0),
    PLACE("push with a prefix that the kernel does not know", "\x48\x55\x53", 0, 0),
    PLACE("an unknown instruction", "\xc5\xf8\x77\x53", 0, 0),
    PLACE("code that ends in an instruction", "\x48\x8d\x05\x91", 0, 0),
    PLACE("mov of a constant of two bytes, mov to memory, then push", "\x66\xc7\x47\x18\x00\x00\x48\x89\x77\x20\x53",
          10, 1),
    PLACE("the same with a byte of it that looks like a push", "\x66\xc7\x47\x18\x00\x00\x89\xc8\x53", 8, 1),
    PLACE("cmp with a constant of two bytes, then a jump", "\x66\x81\x7f\x10\x34\x12\x74\x05", 6, 1),
    PLACE("a wide constant in spite of the prefix", "\x66\x48\xc7\x47\x18\x00\x00\x00\x00\x53", 9, 1),
    PLACE("mov of a constant of four bytes", "\xc7\x47\x18\x00\x00\x00\x00\x53", 7, 1),
    PLACE("a jump that is cut off", "\x0f\x84\x01\x02", 0, 0),
    PLACE("no code", "", 0, 0),
};

static void
test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        uint8_t *const code =
            malloc(cases[i].size + 1); /* as large as it is: a sanitizer sees what is read beyond it */
        memcpy(code, cases[i].code, cases[i].size);
        const struct sqt_place_found found = sqt_place_find(code, cases[i].size);
        if (found.offset != cases[i].offset || found.emulated != cases[i].emulated)
            fail_msg("%s: offset %zu, emulated %d", cases[i].name, found.offset, found.emulated);
        free(code);
    }
}

/* Whatever the bytes are, the place is in the code. */
static void
test_any_bytes(void **state)
{
    (void)state;
    uint64_t seed = UINT64_C(88172645463325252);
    for (unsigned round = 0; round < 200000; ++round) {
        uint8_t code[24];
        for (unsigned i = 0; i < sizeof(code); ++i) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            code[i] = (uint8_t)seed;
        }
        const size_t size = seed % (sizeof(code) + 1);
        const struct sqt_place_found found = sqt_place_find(code, size);
        assert_true(found.offset < size || (found.offset == 0 && !found.emulated) || !found.emulated);
        if (found.emulated)
            assert_true(found.offset < size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
