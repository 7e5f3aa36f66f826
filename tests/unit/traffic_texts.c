/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_texts.c - the definitions that the records of make_traffic need.
 */
#include "traffic-internal.h"

#include "format/events.h"

static const char fixed[] = "def\t1\t0\tufs /var/spool/squid/0\ndef\t1\t1\taufs /var/spool/squid/1\n"
                            "def\t1\t2\tdiskd /var/spool/squid/2\n"
                            "def\t2\t1\tTCP_MEM_HIT\ndef\t2\t2\tTCP_HIT\ndef\t2\t3\tTCP_IMS_HIT\n"
                            "def\t2\t4\tTCP_NEGATIVE_HIT\ndef\t2\t5\tTCP_REFRESH_UNMODIFIED\n"
                            "def\t2\t6\tTCP_REFRESH_MODIFIED\ndef\t2\t7\tTCP_MISS\ndef\t2\t8\tTCP_TUNNEL\n"
                            "def\t2\t9\tTCP_DENIED\ndef\t2\t10\tNONE_NONE\n"
                            "def\t3\t1\tGET\ndef\t3\t2\tCONNECT\n"
                            "def\t4\t0\tdirect\ndef\t4\t2\tsibling\n"
                            "def\t5\t1\tread handler\ndef\t5\t2\twrite handler\ndef\t5\t3\tstore callbacks\n"
                            "def\t5\t4\tevent loop\n"
                            "def\t6\t1\tmars\n"
                            "def\t8\t1\tepoll_wait\ndef\t8\t2\tread\ndef\t8\t3\twrite\ndef\t8\t4\tsendmsg\n"
                            "def\t9\t1\tmain\n";

const char *
make_traffic_texts(void)
{
    static const char *const which[SQT_SAMPLE_SOURCES] = {[SQT_SOURCE_DISK] = "vda ", [SQT_SOURCE_DIR] = "0 "};
    static char all[sizeof(fixed) + 64 * SQT_SAMPLES];
    size_t used = (size_t)snprintf(all, sizeof(all), "%s", fixed);
    for (unsigned i = 0; i < SQT_SAMPLES; ++i) {
        const struct sqt_sample_info *const sample = &sqt_samples[i];
        used += (size_t)snprintf(all + used, sizeof(all) - used, "def\t%d\t%u\t%s %s%s\n", SQT_DEF_SAMPLE, i + 1,
                                 sqt_sample_sources[sample->source].name,
                                 which[sample->source] ? which[sample->source] : "", sample->name);
    }
    return all;
}
