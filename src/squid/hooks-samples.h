/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-samples.h - resource samples of what only Squid knows: its caches and the queue of aufs.
 */
#ifndef SQT_SQUID_HOOKS_SAMPLES_H
#define SQT_SQUID_HOOKS_SAMPLES_H

#include "hooks-loop.h"
#include "hooks-settings.h"

namespace Sqtrace
{

typedef int QueueLength();

/// how long the queue of aufs is; nil where aufs is not in use
inline QueueLength *&
AufsQueue()
{
    static QueueLength *queue = nullptr;
    return queue;
}

/// the threads of aufs are ready
inline void
AufsQueueIsToldBy(QueueLength *length)
{
    AufsQueue() = length;
}

/// a size or a count that Squid has as one of several types
template <class Number>
inline void
Sample(const sqt_sample_value what, const unsigned number, const Number value)
{
    sqt_sample(what, number, value > 0 ? static_cast<uint64_t>(value) : 0);
}

/// what is in the caches; once a second
/// \param first whether this process is the first worker or the only one: it tells of the memory cache that all share
template <class Stats, class Store, class Disks>
inline void
CachesAreSampled(const Store &store, const Disks &disks, const bool first)
{
    if (!sqt_on(SQT_GROUP_SAMPLE))
        return;
    Stats stats;
    store.getStats(stats);
    const bool ours = first || !stats.mem.shared;
    Sample(SQT_SAMPLE_SQUID_memory_bytes, 0, ours ? stats.mem.size : 0);
    Sample(SQT_SAMPLE_SQUID_memory_objects, 0, ours ? stats.mem.count : 0);
    Sample(SQT_SAMPLE_SQUID_disk_bytes, 0, stats.swap.size);
    Sample(SQT_SAMPLE_SQUID_disk_objects, 0, stats.swap.count);
    Sample(SQT_SAMPLE_SQUID_entries, 0, stats.store_entry_count);
    Sample(SQT_SAMPLE_SQUID_cache_log_lines, 0, CacheLogLines());
    if (AufsQueue())
        Sample(SQT_SAMPLE_SQUID_aufs_queue, 0, AufsQueue()());
    for (unsigned i = 0; i < static_cast<unsigned>(disks.n_configured); ++i) {
        const auto &disk = disks.swapDirs[i];
        if (!disk->doReportStat())
            continue; // another kid tells its numbers
        sqt_sample_dir(i, disk->path);
        Sample(SQT_SAMPLE_DIR_bytes, i, disk->currentSize());
        Sample(SQT_SAMPLE_DIR_objects, i, disk->currentCount());
        Sample(SQT_SAMPLE_DIR_limit_bytes, i, disk->maxSize());
    }
}

} // namespace Sqtrace

#endif
