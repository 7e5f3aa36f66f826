/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-settings.h - the settings of squid.conf that say how large Squid's caches and its pools of helpers are, and how long
 * it keeps connections and DNS answers.
 *
 * They are definitions, once for each trace: lines as squid.conf has them.  No request costs anything for them.
 */
#ifndef SQT_SQUID_HOOKS_SETTINGS_H
#define SQT_SQUID_HOOKS_SETTINGS_H

#include <stdio.h>

#include "ids.h"

namespace Sqtrace
{

/// Defines a setting; its number is its place among them.  A value below 0 is one that nobody has set.
inline void
DefineSetting(uint32_t &number, const char *name, const long long value, const char *unit)
{
    char text[96];
    snprintf(text, sizeof(text), "%s %lld%s", name, value, unit);
    if (value >= 0)
        sqt_define(SQT_DEF_SETTING, number, text);
    ++number;
}

inline void
DefineFlag(uint32_t &number, const char *name, const bool value)
{
    char text[96];
    snprintf(text, sizeof(text), "%s %s", name, value ? "on" : "off");
    sqt_define(SQT_DEF_SETTING, number++, text);
}

/// a policy of replacement, with its first argument, as in "heap GDSF"
template <class Policy>
inline void
DefinePolicy(uint32_t &number, const char *name, const Policy *policy)
{
    char text[96];
    if (policy && policy->type) {
        snprintf(text, sizeof(text), "%s %.30s%s%.30s", name, policy->type, policy->args ? " " : "",
                 policy->args ? policy->args->key : "");
        sqt_define(SQT_DEF_SETTING, number, text);
    }
    ++number;
}

/// how many children a helper may have
template <class Children>
inline void
DefineChildren(uint32_t &number, const char *name, const Children &children, const bool used)
{
    char unit[40];
    snprintf(unit, sizeof(unit), " concurrency=%u", static_cast<unsigned>(children.concurrency));
    if (used)
        DefineSetting(number, name, children.n_max, unit);
    else
        ++number;
}

template <class Configuration>
__attribute__((noinline, cold)) void
DefineSettings(const Configuration &config)
{
    uint32_t number = 0;
    DefineSetting(number, "cache_mem", static_cast<long long>(config.memMaxSize), " bytes");
    DefineSetting(number, "maximum_object_size_in_memory", static_cast<long long>(config.Store.maxInMemObjSize),
                  " bytes");
    DefineSetting(number, "maximum_object_size", config.Store.maxObjectSize, " bytes");
    DefineSetting(number, "workers", config.workers, "");
    DefineFlag(number, "memory_cache_shared", config.memShared.configured() && config.memShared);
    DefineSetting(number, "cache_swap_low", config.Swap.lowWaterMark, "");
    DefineSetting(number, "cache_swap_high", config.Swap.highWaterMark, "");
    DefinePolicy(number, "memory_replacement_policy", config.memPolicy);
    DefinePolicy(number, "cache_replacement_policy", config.replPolicy);
    DefineChildren(number, "url_rewrite_children", config.redirectChildren, config.Program.redirect != nullptr);
    DefineChildren(number, "store_id_children", config.storeIdChildren, config.Program.store_id != nullptr);
    DefineFlag(number, "server_persistent_connections", config.onoff.server_pconns);
    DefineSetting(number, "server_idle_pconn_timeout", config.Timeout.serverIdlePconn, " seconds");
    DefineSetting(number, "negative_dns_ttl", config.negativeDnsTtl, " seconds");
    DefineFlag(number, "collapsed_forwarding", config.onoff.collapsed_forwarding);
}

/// Called once a second: a trace that has just begun does not have the settings yet.
template <class Configuration>
inline void
SettingsAreTold(const Configuration &config)
{
    if (sqt_on(SQT_GROUP_SAMPLE) && !sqt_defined(SQT_DEF_SETTING, 0))
        DefineSettings(config);
}

} // namespace Sqtrace

#endif
