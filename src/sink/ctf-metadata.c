/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ctf-metadata.c - the description of a CTF trace, from the tables of events and kinds.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "row/raw.h"
#include "ctf.h"

static const char *const type_names[] = {[CTF_UINT32] = "uint32",
                                         [CTF_UINT64] = "uint64",
                                         [CTF_HASH] = "hash",
                                         [CTF_INT64] = "int64",
                                         [CTF_STRING] = "text"};

static struct ctf_field
field_of(const char *role, const struct sqt_field_info *info)
{
    struct ctf_field field = {.role = role, .kind = info->kind, .doc = info->doc};
    switch (sqt_raw_of(info->kind, &field.definition)) {
    case SQT_RAW_NOTHING:
        field.type = CTF_NOTHING;
        break;
    case SQT_RAW_HASH:
        field.type = CTF_HASH;
        break;
    case SQT_RAW_TIME:
        field.type = CTF_INT64;
        break;
    case SQT_RAW_DEFINITION:
        field.type = CTF_STRING;
        break;
    default:
        field.type = strcmp(role, "aux") == 0 ? CTF_UINT32 : CTF_UINT64;
    }
    return field;
}

void
ctf_event_of(struct ctf_event *event, const struct sqt_event_info *info)
{
    *event = (struct ctf_event){
        info->name, info->doc, {field_of("id", &info->id), field_of("arg", &info->arg), field_of("aux", &info->aux)}};
}

static void ctf_metadata_print(struct sqt_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
ctf_metadata_print(struct sqt_out *out, const char *format, ...)
{
    const size_t room = 4096;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(sqt_out_room(out, room), room, format, arguments);
    va_end(arguments);
    out->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* Text that a writer of the trace chose: whatever might end a literal is left out. */
static void
print_literal(struct sqt_out *out, const char *text)
{
    for (; *text; ++text)
        ctf_metadata_print(out, "%c", isalnum((unsigned char)*text) || strchr("._- ", *text) ? *text : '?');
}

static void
print_event(struct sqt_out *out, const struct ctf_event *event, unsigned number)
{
    ctf_metadata_print(out, "\n/* %s */\nevent {\n\tname = \"", event->doc);
    print_literal(out, event->name);
    ctf_metadata_print(out, "\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", number);
    for (unsigned i = 0; i < 3; ++i) {
        const struct ctf_field *const f = &event->fields[i];
        if (f->type != CTF_NOTHING)
            ctf_metadata_print(out, "\t\t%s %s_%s; /* %s */\n", type_names[f->type], f->role, sqt_kinds[f->kind].name,
                               f->doc);
    }
    ctf_metadata_print(out, "\t};\n};\n");
}

void
ctf_metadata(struct sqt_out *out, const struct sqt_ctf *ctf, uint64_t start_ns)
{
    ctf_metadata_print(
        out, "/* CTF 1.8 */\n\n"
             "typealias integer { size = 16; align = 8; signed = false; } := uint16;\n"
             "typealias integer { size = 32; align = 8; signed = false; } := uint32;\n"
             "typealias integer { size = 64; align = 8; signed = false; } := uint64;\n"
             "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hash;\n"
             "typealias integer { size = 64; align = 8; signed = true; } := int64;\n"
             "typealias string { encoding = UTF8; } := text;\n\n"
             "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"
             "\tpacket.header := struct {\n\t\tuint32 magic;\n\t\tuint32 stream_id;\n\t\tuint64 stream_instance_id;\n"
             "\t};\n};\n\n"
             "env {\n\ttracer_name = \"sqtrace\";\n\tsquid_version = \"");
    print_literal(out, ctf->squid_version);
    ctf_metadata_print(
        out,
        "\";\n};\n\n"
        "/* Nanoseconds since the start of the trace. */\n"
        "clock {\n\tname = trace;\n\tfreq = 1000000000;\n\toffset_s = %llu;\n\toffset = %llu;\n};\n\n"
        "typealias integer { size = 64; align = 8; signed = false; map = clock.trace.value; } := time;\n\n"
        "stream {\n\tid = 0;\n"
        "\tpacket.context := struct {\n\t\ttime timestamp_begin;\n\t\ttime timestamp_end;\n"
        "\t\tuint64 content_size;\n\t\tuint64 packet_size;\n\t\tuint64 packet_seq_num;\n"
        "\t\tuint64 events_discarded;\n\t};\n"
        "\tevent.header := struct {\n\t\tuint16 id;\n\t\ttime timestamp;\n\t};\n"
        "\tevent.context := struct {\n\t\tuint32 kid;\n\t};\n};\n",
        (unsigned long long)(start_ns / 1000000000), (unsigned long long)(start_ns % 1000000000));
    for (unsigned i = 1; i < ctf->event_count; ++i)
        if (ctf->events[i].name)
            print_event(out, &ctf->events[i], i);
}
