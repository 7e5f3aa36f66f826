/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.c - resource samples, into gauges, and into counters that grow as the sampled ones do.
 *
 * A sampled counter begins anywhere, and anew with each process.  Ours begins at 0 and only grows: what came before the
 * first sample of a process is not in it.
 */
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "base/visible.h"
#include "figure/table/samples.h"

/* The metric of a sampled value; EXPORT_METRICS: none. */
static enum export_metric
samples_metric(enum sqt_sample_value value)
{
    unsigned i = 0;
    while (i < EXPORT_METRICS && (value == SQT_SAMPLES || export_metrics[i].sample != value))
        ++i;
    return i;
}

/* What the source is called behind its kind: "0" of "cache_dir 0".  Of a listener, its definition says more. */
static const char *
samples_name(const struct sqt_sample_row *sample, const char *source, enum export_family family)
{
    const char *const space = strchr(source, ' ');
    const char *const text = family == EXPORT_FAMILY_listener && space
                                 ? sqt_origin_text(sample->origin, SQT_DEF_LISTENER, (uint32_t)strtoul(space, NULL, 10))
                                 : NULL;
    return text ? text : space ? space + 1 : source;
}

static struct export_child *
samples_child(const struct exporter *e, enum export_family family, const struct sqt_sample_row *sample,
              const char *source)
{
    const struct export_family_info *const info = &export_families()[family];
    char kid[16], name[128];
    const char *labels[EXPORT_LABELS_MOST];
    snprintf(kid, sizeof(kid), "%u", sample->origin->identity.kid);
    sqt_visible_text(name, sizeof(name), samples_name(sample, source, family));
    for (unsigned i = 0; i < info->label_count; ++i)
        labels[i] = info->labels[i].cell < 0 ? name : kid;
    return export_series_get(e->series, family, labels);
}

/* All kids sample the same device: one is enough.  When its trace has ended, another kid goes on from there.  Older
 * samples of that kid may be read only now, and tell what is counted already. */
static int
samples_is_next(const struct export_child *child, const struct sqt_sample_row *sample)
{
    return child->origin == sample->origin || (!child->origin && sample->at > child->sampled);
}

void
exporter_take_sample(void *context, const struct sqt_sample_row *sample)
{
    const struct exporter *const e = context;
    char source[SQT_SOURCE_NAME];
    enum sqt_sample_value value;
    sqt_sample_split(sample, source, &value);
    const enum export_metric metric = samples_metric(value);
    if (metric == EXPORT_METRICS || !exporter_counts(e, sample->at))
        return;
    struct export_child *const child = samples_child(e, export_metrics[metric].family, sample, source);
    if (export_series_is_other(e->series, child))
        return; /* a value of many sources says nothing */
    if (export_metrics[metric].family == EXPORT_FAMILY_disk && !samples_is_next(child, sample))
        return;
    child->sampled = sample->at > child->sampled ? sample->at : child->sampled;
    if (export_metrics[metric].kind == EXPORT_COUNTER)
        export_series_grow(child, metric, sample->origin, sample->value);
    else {
        child->origin = sample->origin;
        export_series_set(child, metric, (int64_t)sample->value);
    }
}
