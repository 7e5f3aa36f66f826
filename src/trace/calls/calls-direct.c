/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls-direct.c - see calls-direct.h.
 */
#define _GNU_SOURCE
#include "calls-direct.h"

#include <dlfcn.h>
#include <stddef.h>

/* Where the library that has the function of that name in front of all others is mapped; NULL: not known. */
static const void *
library_of(const char *name)
{
    Dl_info info;
    const void *const function = dlsym(RTLD_DEFAULT, name);
    return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

static int
direct_look(void)
{
    static const char *const names[] = {
#define SQT_WRAP_DIRECT(type, name, parameters, arguments, class) #name,
#define SQT_WRAP_SPECIAL(name) #name,
#include "calls-wrap.def"
    };
    const void *const libc = library_of("__libc_start_main");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        if (!libc || library_of(names[i]) != libc)
            return 0;
    return 1;
}

int
sqt_calls_can_be_direct(void)
{
#ifdef SQT_CALLS_DIRECT_KNOWN
    static int can = -1;
    if (can < 0)
        can = direct_look();
    return can;
#else
    (void)look;
    return 0;
#endif
}
