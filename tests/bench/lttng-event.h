/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lttng-event.h - an event of LTTng-UST with the payload of a sqtrace record: 8 + 8 + 4 bytes.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sqtrace_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-event.h"

#if !defined(LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(sqtrace_bench, event, LTTNG_UST_TP_ARGS(uint64_t, id, uint64_t, arg, uint32_t, aux),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, id, id)
                                                   lttng_ust_field_integer(uint64_t, arg, arg)
                                                       lttng_ust_field_integer(uint32_t, aux, aux)))

#endif

#include <lttng/tracepoint-event.h>
