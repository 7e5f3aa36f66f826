/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks.cc - hooks over objects that look like Squid's, and what they emit into a list instead of a ring.
 */
#include "squid/hooks-access.h"
#include "squid/hooks-adaptation.h"
#include "squid/hooks-children.h"
#include "squid/hooks-client.h"
#include "squid/hooks-connections.h"
#include "squid/hooks-digests.h"
#include "squid/hooks-life.h"
#include "squid/hooks-loop.h"
#include "squid/hooks-neighbors.h"
#include "squid/hooks-rock.h"
#include "squid/hooks-settings.h"
#include "squid/hooks-store.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <sys/time.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

uint32_t sqt_groups;
uint32_t sqt_clock = SQT_CLOCK_MONOTONIC;
sqt_io_stamps sqt_io_pending;

static std::string emitted; // "EVENT id arg aux; ..."
static uint64_t emitted_at; // what sqt_emit_pair_at() was given

void
sqt_emit(unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    static const char *const names[] = {
        "NONE",
#define SQT_EVENT(name, ...) #name,
#include "format/events.def"
    };
    emitted += std::string(names[event]) + " " + std::to_string(id) + " " + std::to_string(arg) + " " +
               std::to_string(aux) + "; ";
}

/* What is emitted too shows as such. */
void
sqt_emit_too(unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    emitted += "& ";
    sqt_emit(event, id, arg, aux);
}

void
sqt_emit_unit(sqt_record *records, unsigned n)
{
    for (unsigned i = 0; i < n; ++i)
        sqt_emit(records[i].event, records[i].id, records[i].arg, records[i].aux);
}

void
sqt_emit_pair(uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id, uint64_t part_arg,
              uint32_t part_aux)
{
    sqt_emit(events & 0xffff, id, arg, aux);
    sqt_emit(events >> 16, part_id, part_arg, part_aux);
}

void
sqt_emit_pair_at(uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id,
                 uint64_t part_arg, uint32_t part_aux)
{
    emitted_at = now;
    sqt_emit_pair(events, id, arg, aux, part_id, part_arg, part_aux);
}

uint64_t sqt_known[SQT_KNOWN_KINDS];
static int large_ones_are_defined;
int
sqt_defined_large(unsigned, uint32_t)
{
    return large_ones_are_defined;
}
static std::string defined; // "text; ..." of what was defined since it was looked at last
uint32_t
sqt_define_new(unsigned, uint32_t number, const char *text)
{
    defined += std::string(text) + "; ";
    return number;
}
uint32_t
sqt_define_named(unsigned kind, uint32_t number, const char *text)
{
    return sqt_define_new(kind, number, text);
}
uint32_t
sqt_waited_number(enum sqt_waited kind, const char *name)
{
    return sqt_define_new(SQT_DEF_WAITED, 100 + kind, name);
}
int sqt_names;
int sqt_trace_context;
unsigned sqt_note_count;
sqt_note sqt_notes[SQT_NOTES];
uint32_t
sqt_note_number(unsigned place, const char *value, size_t size)
{
    defined += std::to_string(place) + " " + std::string(value, size) + "; ";
    return 70 + place;
}
int sqt_sample_waits;
sqt_known_acl sqt_known_acls[SQT_KNOWN_ACLS];
uint32_t *sqt_acl_now;
void
sqt_part_begins(void)
{
    defined += "begin; ";
}
void
sqt_part_was_acl(const char *name, size_t length)
{
    defined += "acl " + std::string(name, length) + "; ";
}
uint32_t
sqt_define_acl(const char *, size_t length)
{
    return 3 + static_cast<uint32_t>(length);
}
void
sqt_part_was_disk_call(uint32_t op, uint32_t dir)
{
    defined += "disk " + std::to_string(op) + " " + std::to_string(dir) + "; ";
}
void
sqt_part_was(const char *name)
{
    defined += std::string(name) + "; ";
}
static unsigned invented; // definitions of the present trace
uint32_t
sqt_define_invented(unsigned, uint32_t number, const char *)
{
    return ++invented <= SQT_INVENTED ? number : 0;
}
uint64_t
sqt_hash(const void *, size_t size)
{
    return size == 24 ? 125 : 1;
} // 24: an address and port
uint64_t
sqt_hash_key(const unsigned char *)
{
    return 1;
}

static const sqt_tcp *tcp_known; // nil: the kernel knows nothing of the descriptor
int
sqt_tcp_of(int, struct sqt_tcp *tcp)
{
    if (tcp_known)
        *tcp = *tcp_known;
    return tcp_known ? 0 : -1;
}
void
sqt_gives_up(const char *why)
{
    defined += std::string(why) + "; ";
}

uint32_t
sqt_listener(const char *text)
{
    return strstr(text, "3129") ? 2 : strstr(text, "9999") ? 0 : 1;
}
static uint64_t waited; // before accept, ms
uint64_t
sqt_accept_wait(int)
{
    return waited;
}
void
sqt_sample_listener(uint32_t listener, int fd)
{
    emitted += "sample " + std::to_string(listener) + " of " + std::to_string(fd) + "; ";
}
void
sqt_sample_late(uint32_t listener, int fd)
{
    emitted += "late ";
    sqt_sample_listener(listener, fd);
}
void
sqt_sample(enum sqt_sample_value, unsigned, uint64_t value)
{
    emitted += "value " + std::to_string(value) + "; ";
}

static int tests;

static void
expect(const char *what, const std::string &wanted)
{
    printf("%s %d - %s\n", emitted == wanted ? "ok" : "not ok", ++tests, what);
    if (emitted != wanted)
        printf("# got    %s\n# wanted %s\n", emitted.c_str(), wanted.c_str());
    emitted.clear();
}

/* ---- what stands for Squid's ---- */

struct Context {
    struct Gist {
        const char *scope;
        uint64_t value;
    };
    Gist codeContextGist() const { return {"master", 5}; }
};
static const Context *const context = new Context;

struct Xaction {
    struct {
        uint64_t value;
    } id;
};

struct LogEntry {
    const struct {
        const Xaction *masterXaction;
    } * request;
};

struct Http {
    LogEntry *al;
    Sqtrace::ClientState sqtrace;
};

struct Entry {
    const unsigned char *key;
    int mem_status;
    int64_t objectLen() const { return 1000; }
};

struct Dir {
    int index;
    const char *path;
    const char *type() const { return "rock"; }
};

struct Sio {
    int swap_filen, swap_dirn;
    Sqtrace::SwapState sqtrace;
};

struct File {
    bool failed;
    bool error() const { return failed; }
};

struct Request {
    size_t len;
    Sqtrace::Block sqtrace;
};

struct Message {
    pid_t workerPid;
    int xerrno;
    size_t len;
    Sqtrace::Operation sqtOperation;
};

struct Pending {
    const Request *readRequest, *writeRequest;
};

/* A code context, and what points to one. */
struct Place {
    struct Pointer {
        const Place *raw;
        explicit Pointer(const Place *a) : raw(a) {}
        const Place *getRaw() const { return raw; }
        bool operator!=(std::nullptr_t) const { return raw; }
    };
    static Pointer current;
    static const Pointer &Current() { return current; }
    static void Reset(const Pointer &to) { current = to; }
};
Place::Pointer Place::current(nullptr);

/* What a thread of aufs is given. */
struct Thread {
    Thread *next;
    int cancelled;
    Sqtrace::Operation sqtrace;
};

static Sqtrace::Operation
stamped(uint64_t begin, uint64_t end, uint32_t serial = 0)
{
    Sqtrace::Operation operation = Sqtrace::Operation();
    operation.serial = serial;
    operation.clock = sqt_clock;
    operation.begin = begin;
    operation.end = end;
    return operation;
}

/* ---- the tests ---- */

static void
a_pair_that_ends_while_its_group_is_off()
{
    LogEntry al = {nullptr};
    Http http = {&al, Sqtrace::ClientState()};
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::LookupBegins(http);
    sqt_groups = 0;
    Sqtrace::LookupEnds(http, true);
    sqt_groups = SQT_GROUP_CLIENT;
    emitted.clear();
    Sqtrace::LookupEnds(http, true);
    expect("a pair that ended while its group was off does not end again", "");
}

static void
records_of_one_moment()
{
    LogEntry al = {nullptr};
    Http http = {&al, Sqtrace::ClientState()};
    http.sqtrace.xact = 6;
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::LookupBegins(http);
    emitted.clear();
    Sqtrace::HitIsReady(http, Entry{nullptr, 1});
    expect("a hit reads the clock once", "MEM_HIT 6 1000 0; & LOOKUP_END 6 0 1; & REPLY_READY 6 0 0; ");
    http.sqtrace.ready = -1;
    Sqtrace::StoredReplyIsReady(http);
    expect("and whatever comes first does", "REPLY_READY 6 0 0; ");
}

static void
ids_of_a_transaction()
{
    const Xaction xaction = {{5}};
    const std::remove_pointer<decltype(LogEntry::request)>::type request = {&xaction};
    LogEntry al = {nullptr};
    Http http = {&al, Sqtrace::ClientState()};
    sqt_groups = SQT_GROUP_CLIENT;
    http.sqtrace.xact = SQT_UNNAMED | 7;
    Sqtrace::LookupBegins(http);
    expect("a transaction is its serial until access.log has a request", "LOOKUP_BEGIN 9223372036854775815 0 0; ");
    al.request = &request;
    Sqtrace::LookupEnds(http, true);
    expect("then it is that request's", "LOOKUP_END 5 0 1; ");
    http.sqtrace.xact = 6;
    Sqtrace::LookupBegins(http);
    expect("and the one that it was named, once it was", "LOOKUP_BEGIN 6 0 0; ");
}

/// an SBuf
struct Text {
    const char *rawContent() const { return "BREW"; }
    size_t length() const { return 4; }
    const char *c_str() const { return rawContent(); }
};

/// an HttpRequestMethod
struct Method {
    enum Number { METHOD_GET = 1, METHOD_OTHER = 2 };
    Number id() const { return number; }
    Text image() const { return Text(); }
    Number number;
};

/* ---- the caller's trace ---- */

/* A request with fields, as an HttpRequest has them. */
struct Fielded {
    struct String {
        std::string text;
        const char *rawBuf() const { return text.empty() ? nullptr : text.data(); }
        size_t size() const { return text.size(); }
    };
    enum class Id { HOST, OTHER };
    struct Name {
        std::string text;
        const char *rawContent() const { return text.data(); }
        size_t length() const { return text.size(); }
    };
    struct Field {
        Id id;
        Name name;
        String value;
    };
    struct {
        std::vector<const Field *> entries;
    } header;
    const Xaction *masterXaction;
    Method method;
};

static void
named(const std::vector<const Fielded::Field *> &fields)
{
    const Xaction xaction = {{6}};
    Fielded request = {{fields}, &xaction, {Method::METHOD_GET}};
    struct {
        const Fielded *request;
    } log = {&request};
    struct {
        const Fielded *request;
        decltype(log) *al;
        Sqtrace::ClientState sqtrace;
    } http = {&request, &log, Sqtrace::ClientState()};
    http.sqtrace.xact = 1;
    Sqtrace::TransactionIsNamed(http);
}

static void
contexts_of_callers()
{
    static const std::string value = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    static const std::string name = "XACT_NAMED 6 9223372036854775809 1; ";
    static const std::string all = name + "TRACE_CONTEXT 6 67667974448284343 1; "
                                          "PART_TRACE_ID 5474458728733560230 11803532876627986230 0; ";
    typedef Fielded::Field Field;
    const Field host = {Fielded::Id::HOST, {"traceparent"}, {value}},
                other = {Fielded::Id::OTHER, {"X-traceparen"}, {value}};
    const Field one = {Fielded::Id::OTHER, {"TraceParent"}, {value}},
                longer = {Fielded::Id::OTHER, {"traceparents"}, {value}};
    const Field bad = {Fielded::Id::OTHER, {"traceparent"}, {value + "0"}},
                empty = {Fielded::Id::OTHER, {"traceparent"}, {""}};
    sqt_groups = SQT_GROUP_CLIENT;
    named({&host, &one});
    expect("a field traceparent is not looked for unless squid.conf says so", name);
    sqt_trace_context = 1;
    named({&host, nullptr, &one, &other, &longer});
    expect("else it is told, also where fields were deleted, and of any case", all);
    named({});
    expect("there may be none", name);
    named({&host, nullptr, &other, &longer});
    expect("other fields are none", name);
    named({&bad});
    expect("one that is not valid is none", name);
    named({&empty});
    expect("nor is one that is empty", name);
    named({&one, &one});
    expect("two are none", name);
    named({&bad, &one});
    expect("also if only one of them is valid", name);
    sqt_groups = 0;
    named({&one});
    expect("nothing is told without its group", "");
    sqt_trace_context = 0;
}

/* Notes of a transaction. */
struct Notes {
    struct Text {
        std::string text;
        const char *rawContent() const { return text.data(); }
        size_t length() const { return text.size(); }
    };
    struct Note {
        Text name_, value_;
        const Text &name() const { return name_; }
        const Text &value() const { return value_; }
    };
    std::vector<const Note *> entries;
    const std::vector<const Note *> &expandListEntries(const void *) const { return entries; }
};

static void
notes()
{
    const Notes::Note office = {{"site"}, {"office"}}, lab = {{"site"}, {"lab"}}, sites = {{"sites"}, {"all"}},
                      empty = {{"group"}, {""}}, staff = {{"group"}, {"staff"}},
                      longer = {{"site"}, {std::string(100, 'L')}};
    const auto said = [](const Notes *of) {
        emitted = defined = "";
        Sqtrace::EmitNotes(5, of);
        emitted += defined;
    };
    Notes all = {{&sites, &office, &empty}};
    sqt_note_count = 2;
    sqt_notes[0] = {"site", 4, 0, 0, 0, 0, {0}};
    sqt_notes[1] = {"group", 5, 0, 0, 0, 0, {0}};
    said(nullptr);
    expect("a transaction may have no notes", "");
    said(&all);
    expect("of its notes those that are named and have a value are told", "NOTE 5 70 0; 0 office; ");
    all.entries = {&staff, &lab, &office, &lab};
    said(&all);
    expect("several values of a name stand in one", "NOTE 5 70 0; & NOTE 5 71 0; 0 lab,office,lab; 1 staff; ");
    all.entries = {&lab, &longer, &longer};
    said(&all);
    expect("and are cut where libsqtrace would", "NOTE 5 70 0; 0 lab," + std::string(SQT_NOTE_VALUE, 'L') + "; ");
    all.entries = {&longer};
    said(&all);
    expect("one is cut by libsqtrace", "NOTE 5 70 0; 0 " + std::string(100, 'L') + "; ");
    sqt_note_count = 0;
}

/* A header that is sent to a server. */
struct SentField {
    struct Value {
        std::string text;
        const char *rawBuf() const { return text.data(); }
        size_t size() const { return text.size(); }
        Value &operator=(const char *other)
        {
            text = other;
            return *this;
        }
    };
    Fielded::Id id;
    Fielded::Name name;
    Value value;
};

struct SentHeader {
    std::vector<SentField *> entries;
};

static std::string
sent(const std::vector<std::string> &values, const int setting, const uint32_t tries)
{
    static const Xaction xaction = {{6}};
    static const Fielded request = {{{}}, &xaction, {Method::METHOD_GET}};
    std::vector<SentField> fields;
    for (const auto &value : values)
        fields.push_back({Fielded::Id::OTHER, {"traceparent"}, {value}});
    SentHeader header;
    for (auto &field : fields)
        header.entries.push_back(&field);
    Sqtrace::ServerState state;
    state.conn = 1;
    state.tries = tries;
    sqt_trace_context = setting;
    Sqtrace::RequestHeaderIsMade(state, &request, header);
    sqt_trace_context = 0;
    std::string all;
    for (const auto &field : fields)
        all += field.value.text + ";";
    return all;
}

/* The case is good if that is true. */
static void
expect_true(const char *what, const bool good)
{
    emitted = good ? "" : "not so";
    expect(what, "");
}

static void
spans_that_are_sent_on()
{
    const std::string value = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", one = value + ";";
    sqt_groups = SQT_GROUP_SERVER;
    expect_true("the field goes on as it is unless squid.conf says otherwise",
                sent({value}, SQT_CONTEXT_OFF, 1) == one && sent({value}, SQT_CONTEXT_ON, 1) == one);
    const std::string first = sent({value}, SQT_CONTEXT_FORWARD, 1), second = sent({value}, SQT_CONTEXT_FORWARD, 2);
    expect_true("else with another span", first.size() == one.size() && first != one &&
                                              first.substr(0, 36) == one.substr(0, 36) &&
                                              first.substr(52) == one.substr(52));
    expect_true("and that of each try is another", first != second && second.substr(0, 36) == one.substr(0, 36));
    expect_true("two stay as they are", sent({value, value}, SQT_CONTEXT_FORWARD, 1) == one + one);
    expect_true("so does one that is not valid", sent({value + "0"}, SQT_CONTEXT_FORWARD, 1) == value + "0;");
    expect_true("and nothing is made of nothing", sent({}, SQT_CONTEXT_FORWARD, 1).empty());
    sqt_groups = 0;
    expect_true("nothing is sent without the group of servers", sent({value}, SQT_CONTEXT_FORWARD, 1) == one);
}

static void
methods()
{
    emitted = std::to_string(Sqtrace::MethodOf(Method{Method::METHOD_GET}));
    expect("a method is Squid's number", "1");
    sqt_known[SQT_DEF_METHOD] = 1 << Method::METHOD_GET | 1 << Method::METHOD_OTHER;
    emitted = std::to_string(Sqtrace::MethodOf(Method{Method::METHOD_GET}));
    expect("also when it is known", "1");
    emitted = std::to_string(Sqtrace::MethodOf(Method{Method::METHOD_OTHER}));
    expect("one that a client invented has its own, even where OTHER is known", "2147483649");
    for (unsigned i = 0; i < 70; ++i)
        emitted = std::to_string(Sqtrace::MethodOf(Method{Method::METHOD_OTHER}));
    expect("where there were too many it is OTHER", "2");
    invented = 0;
    emitted = std::to_string(Sqtrace::MethodOf(Method{Method::METHOD_OTHER}));
    expect("a new trace begins to count anew", "2147483649");
    sqt_known[SQT_DEF_METHOD] = 0;
}

/* ---- listening ports ---- */

struct Connection {
    struct {
        uint64_t value;
    } id;
    int fd;
    bool sqtraceOfClient;
    bool isOpen() const { return fd >= 0; }
};

/// an AnyP::PortCfg
struct Port {
    enum Protocol { PROTO_HTTP, PROTO_FTP, PROTO_HTTPS };
    struct {
        Protocol protocol;
    } transport;
    struct {
        unsigned number;
        const char *address; // nil: any
        unsigned port() const { return number; }
        bool isAnyAddr() const { return !address; }
        char *toUrl(char *buf, unsigned size) const
        {
            snprintf(buf, size, "%s:%u", address, number);
            return buf;
        }
    } s;
    const Connection *listenConn;
    Port *next;
    Sqtrace::ListenerState sqtrace;
};

static void
listening_ports()
{
    static const Connection socket = {{1}, 8, false}, closed = {{2}, -1, false};
    static Connection client = {{77}, 12, false};
    Port secure = {{Port::PROTO_HTTPS}, {3129, "[::1]"}, &closed, nullptr, Sqtrace::ListenerState()};
    Port plain = {{Port::PROTO_HTTP}, {3128, nullptr}, &socket, &secure, Sqtrace::ListenerState()};
    Port *const port = &plain, *const other = &secure, *const none = nullptr;
    const auto names = sqt_names;
    sqt_names = SQT_NAMES_CONFIGURED;
    Connection *const conn = &client;
    sqt_groups = 0;
    Sqtrace::ClientConnects(conn, port);
    Sqtrace::AcceptIsPutOff(port, 90, 100);
    Sqtrace::ListenersAreSampled(port);
    Sqtrace::DescriptorsAreSampled(100, 25);
    expect("without a trace nothing is emitted of ports", "");
    sqt_groups = SQT_GROUP_CLIENT | SQT_GROUP_SAMPLE;
    defined.clear();
    waited = 3;
    Sqtrace::ClientConnects(conn, port);
    emitted += defined;
    expect("an accept names its port and says how long its client had waited",
           "CONN_ACCEPT 77 12 3128; PART_LISTENER 0 3 1; http_port 3128; ");
    Sqtrace::ClientConnects(conn, none);
    expect("a connection of FTP data has none", "");
    waited = SQT_ACCEPT_LATE_MS;
    Sqtrace::ClientConnects(conn, port);
    expect("after a long wait the backlog is sampled",
           "CONN_ACCEPT 77 12 3128; PART_LISTENER 0 10 1; late sample 1 of 8; ");
    waited = UINT64_MAX;
    Sqtrace::ClientConnects(conn, port);
    expect("not where the kernel does not say", "CONN_ACCEPT 77 12 3128; PART_LISTENER 0 18446744073709551615 1; ");
    Sqtrace::AcceptGoesOn(port);
    Sqtrace::AcceptIsPutOff(port, 90, 100);
    Sqtrace::AcceptGoesOn(port);
    Sqtrace::AcceptGoesOn(port);
    Sqtrace::AcceptIsPutOff(none, 90, 100);
    expect("an accept that is put off goes on once", "ACCEPT_PUT_OFF 1 90 100; ACCEPT_RESUMED 1 0 0; ");
    Sqtrace::ListenersAreSampled(port);
    Sqtrace::DescriptorsAreSampled(100, 25);
    expect("open ports are sampled, and the limit of descriptors", "sample 1 of 8; value 100; value 25; ");
    defined.clear();
    Sqtrace::ListenerOf(*other);
    plain.transport.protocol = Port::PROTO_FTP;
    plain.s.number = 9999;
    plain.sqtrace.number = 0;
    emitted = std::to_string(Sqtrace::ListenerOf(*port)) + " " + defined;
    expect("ports have directive and address; one of too many is other", "0 https_port [::1]:3129; other; ");
    defined.clear();
    sqt_names = SQT_NAMES_OFF;
    Sqtrace::ListenerOf(*other);
    emitted = defined;
    expect("with names=off a port is its number", "2; ");
    sqt_names = names;
}

/* Swap-in 1 of file 7: opened as a header update, because that needs the least of an entry. */
static Sio
an_open_swap(bool out)
{
    static const Dir dir = {0, "/cache"};
    static const unsigned char key[16] = "";
    const Entry entry = {key, 0};
    Sio sio = {7, 3, Sqtrace::SwapState()};
    sqt_groups = SQT_GROUP_STORE;
    Sqtrace::HeaderUpdateOpens(sio, dir, entry, context, out);
    sio.sqtrace.serial = 1;
    emitted.clear();
    return sio;
}

static void
a_reader_that_leaves()
{
    const File file = {false};
    Sio sio = an_open_swap(false);
    Request request = {4096, Sqtrace::Block()};
    Sqtrace::SlotIsAskedFor(sio, file, request, 8192);
    Sqtrace::SwapFileCloses(sio);
    Sqtrace::SwapEnds(sio, 0);
    expect("a swap-in does not end before the block that is outstanding",
           "SWAPIN_READ 1 8192 4096; SWAPIN_CLOSE 1 0 0; ");
    {
        const Sqtrace::Delivery delivery(stamped(100, 200), 4096);
        const uint64_t noticed = sqt_io_pending.noticed;
        while (sqt_read_clock(sqt_clock) <= noticed)
            ;
        Sqtrace::SlotIsRead(sio, request, 4096);
        if (emitted_at != noticed)
            emitted += "not at the time at which it was noticed";
    }
    expect("but with it", "SWAPIN_READ_DONE 1 8192 4096; PART_DISKOP_IO 100 200 0; "
                          "SWAPIN_CLOSED 1 0 0; ");
    Sqtrace::SwapEnds(sio, 0);
    expect("and once only", "");
}

static void
a_file_with_an_error()
{
    const File file = {true};
    Sio sio = an_open_swap(false);
    Request request = {4096, Sqtrace::Block()};
    Sqtrace::SlotIsAskedFor(sio, file, request, 0);
    Sqtrace::SwapEnds(sio, -1);
    expect("a file that has failed refuses a block, which so is never open", "SWAPIN_CLOSED 1 0 1; ");
}

static void
writes_that_fail()
{
    const File file = {false};
    Sio sio = an_open_swap(true);
    Request first = {1040, Sqtrace::Block()}, second = {540, Sqtrace::Block()};
    Sqtrace::SlotIsHandedOver(sio, file, first, 1000);
    Sqtrace::SlotIsHandedOver(sio, file, second, 500);
    {
        const Sqtrace::TimeOut time_out(Pending{nullptr, &first});
        Sqtrace::SlotIsWritten(sio, first, true);
    }
    Sqtrace::SlotIsWritten(sio, second, false);
    Sqtrace::SwapEnds(sio, -1);
    expect("each slot has its own offset, whatever became of those before it",
           "SWAPOUT_WRITE 1 0 1000; PART_SLOT 0 40 0; SWAPOUT_WRITE 1 1000 500; SWAPOUT_WRITTEN 1 0 3221225472; "
           "SWAPOUT_WRITTEN 1 1000 500; SWAPOUT_CLOSED 1 500 1; ");
}

static void
late_answers()
{
    const File file = {false};
    Sio sio = an_open_swap(false);
    Request request = {4096, Sqtrace::Block()};
    Sqtrace::SlotIsAskedFor(sio, file, request, 4096);
    Message message = {10, 0, 4000, Sqtrace::Operation()};
    Sqtrace::BlockTravels(message, request);
    Sqtrace::ServiceBegins(message.sqtOperation);
    Sqtrace::ServiceEnds(message.sqtOperation);
    emitted.clear();
    Sqtrace::AnswerIsLate(message, 10);
    expect("an answer of which nothing is known is not told", "");
    {
        const Sqtrace::TimeOut time_out(Pending{&request, nullptr});
    }
    Sqtrace::AnswerIsLate(message, 11);
    expect("a late answer for another process is not told", "");
    const std::string begin = std::to_string(message.sqtOperation.begin);
    const std::string end = std::to_string(message.sqtOperation.end);
    Sqtrace::AnswerIsLate(message, 10);
    expect("a late answer names its block", "IO_LATE 1 4096 4096; PART_DISKOP_IO " + begin + " " + end + " 0; ");
    Sqtrace::AnswerIsLate(message, 10);
    expect("once", "");
    Request other = {4096, Sqtrace::Block()};
    Message second = {10, 5, 4000, Sqtrace::Operation()};
    Sqtrace::SlotIsAskedFor(sio, file, other, 8192);
    Sqtrace::BlockTravels(second, other);
    emitted.clear();
    {
        const Sqtrace::TimeOut time_out(Pending{&request, nullptr}), another(Pending{&other, nullptr});
    }
    message.sqtOperation.begin = second.sqtOperation.begin = 0;
    Sqtrace::AnswerIsLate(second, 10);
    expect("or its failure", "IO_LATE 1 8192 2147483648; ");
    Sqtrace::AnswerIsLate(message, 10);
    expect("and each its own", "IO_LATE 1 4096 4096; ");
    for (uint32_t n = 1; n <= 2 * Sqtrace::TimedOutMost; ++n) {
        request.sqtrace.operation = message.sqtOperation.serial = n;
        const Sqtrace::TimeOut time_out(Pending{&request, nullptr});
    }
    Sqtrace::AnswerIsLate(message, 10);
    expect("the latest are remembered", "IO_LATE 1 4096 4096; ");
    message.sqtOperation.serial = 1;
    Sqtrace::AnswerIsLate(message, 10);
    expect("as far as there is room", "");
    Sqtrace::TimedOutBlocks().clear();
}

struct DiskdMessage {
    off_t offset;
    size_t size;
    uint8_t sqtClock;
    uint32_t sqtSerial;
};

static void
diskd()
{
    DiskdMessage answer = {1, 1, 0, 0};
    const Sqtrace::DiskdService none(DiskdMessage{0, 0, 0, 0});
    none.endsWith(answer);
    {
        const Sqtrace::Delivery delivery(answer, 10);
        Sqtrace::EmitCompletion(SQT_EV_SWAPIN_READ_DONE, 1, 0, 10);
    }
    expect("diskd stamps nothing without a clock", "SWAPIN_READ_DONE 1 0 10; ");
    const uint64_t before = sqt_read_clock(sqt_clock);
    const Sqtrace::DiskdService service(DiskdMessage{0, 0, static_cast<uint8_t>(sqt_clock), 9});
    service.endsWith(answer);
    const Sqtrace::Delivery delivery(answer, 10);
    const sqt_io_stamps stamps = sqt_io_take();
    const bool ordered = before <= stamps.service_begin && stamps.service_begin < stamps.service_end &&
                         stamps.service_end <= sqt_read_clock(sqt_clock) && answer.sqtSerial == 9;
    emitted = ordered ? "in order" : "out of order";
    expect("its stamps travel in the answer", "in order");
}

/* Its records, with the numbers in `text` that a clock gave replaced by "t": those from `since` on. */
static std::string
without_times(std::string text, uint64_t since)
{
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of(" ;", at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!word.empty() && word[0] >= '0' && word[0] <= '9' && std::stoull(word) >= since)
            text.replace(at, word.size(), "t");
        at = text.find_first_of(" ;", at) + 1;
    }
    return text;
}

static void
operations()
{
    const File file = {false};
    Sio sio = an_open_swap(true);
    sqt_groups = SQT_GROUP_DISKOP;
    const uint64_t since = sqt_read_clock(sqt_clock);
    Request request = {4096, Sqtrace::Block()};
    Sqtrace::SlotIsHandedOver(sio, file, request, 4000);
    const Sqtrace::Question question = Sqtrace::TakeQuestion();
    Message message = {10, 0, 4000, Sqtrace::Operation()};
    Sqtrace::BlockTravels(message, request);
    Sqtrace::OperationIsQueued(question, message.sqtOperation.serial, 7);
    emitted = without_times(emitted, since);
    expect("an operation is told when it is queued: what, whose, where, behind how many",
           "DISKOP_BEGIN 1 1 3; PART_DISKOP t 7 4; ");
    {
        const Sqtrace::TimeOut time_out(Pending{nullptr, &request});
    }
    emitted = without_times(emitted, since);
    expect("that its time was up is told", "DISKOP_END 1 t 3221225472; ");
    Sqtrace::ServiceBegins(message.sqtOperation);
    Sqtrace::ServiceEnds(message.sqtOperation);
    Sqtrace::AnswerIsLate(message, 10);
    emitted = without_times(emitted, since);
    expect("and its late answer", "DISKOP_LATE 1 t 4000; PART_DISKOP_IO t t 0; ");

    sqt_groups = SQT_GROUP_DISKOP | SQT_GROUP_STORE;
    Sqtrace::SlotIsAskedFor(sio, file, request, 8192);
    Sqtrace::BlockTravels(message, request);
    Sqtrace::OperationIsQueued(Sqtrace::TakeQuestion(), message.sqtOperation.serial, 2);
    {
        const Sqtrace::Delivery delivery(stamped(100, 200, 9), 4096);
        Sqtrace::SlotIsRead(sio, request, 4096);
    }
    emitted = without_times(emitted, since);
    expect("what the swap has told is not told again",
           "SWAPIN_READ 1 8192 4096; DISKOP_QUEUED 2 1 2; "
           "SWAPIN_READ_DONE 1 8192 4096; PART_DISKOP_IO 100 200 0; DISKOP_END 9 t 4096; ");
    {
        const Sqtrace::Delivery delivery(stamped(100, 200, 9), 4096, false);
    }
    expect("nor is an answer for the process that was here before", "");
    sqt_groups = SQT_GROUP_DISKOP;

    Thread second = {nullptr, 1, Sqtrace::Operation()}, first = {&second, 0, Sqtrace::Operation()};
    Sqtrace::RequestIsQueued(first, 0);
    Sqtrace::OperationIsAskedFor(SQT_DISK_READ, 5, 2, false);
    Sqtrace::RequestIsQueued(second, 1);
    emitted = without_times(emitted, since);
    expect("an operation that nobody asked for is another one", "DISKOP_BEGIN 3 0 4294967295; PART_DISKOP t 0 0; "
                                                                "DISKOP_BEGIN 4 5 2; PART_DISKOP t 1 3; ");
    Sqtrace::SecondQueueMoves(&first);
    for (Thread *thread = &first; thread; thread = thread->next) {
        Sqtrace::ServiceBegins(thread->sqtrace);
        Sqtrace::ServiceEnds(thread->sqtrace);
        Thread result = {nullptr, 0, Sqtrace::Operation()};
        Sqtrace::RequestComesBack(*thread, &result);
        const Sqtrace::Delivery delivery(result.sqtrace, Sqtrace::IoBytes(-1, true));
    }
    emitted = without_times(emitted, since);
    expect("a busy lock, a failure and a cancelled operation",
           "DISKOP_END 3 t 2147483648; PART_DISKOP_IO t t 0; PART_STAMP 0 t 3; "
           "DISKOP_END 4 t 536870912; PART_DISKOP_IO t t 0; PART_STAMP 0 t 3; ");
    for (const unsigned groups : {0u, static_cast<unsigned>(SQT_GROUP_STORE)}) {
        sqt_groups = groups;
        Sqtrace::RequestIsQueued(first, 0);
        sqt_groups = SQT_GROUP_DISKOP | SQT_GROUP_STORE;
        {
            const Sqtrace::Delivery delivery(first.sqtrace, 0);
        }
        expect("nothing is told of one that began while the group was off", "");
    }
}

/* Lengths of time become d: what follows the id of an event of digests that tells of work. */
static std::string
without_durations(const std::string &text)
{
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find("; ", at) + 2;
        std::string record = text.substr(at, end - at);
        if (record.find("FETCH") == std::string::npos && record.find("HIT") == std::string::npos) {
            const size_t from = record.find(' ', record.find(' ') + 1) + 1;
            record.replace(from, record.find(' ', from) - from, "d");
        }
        out += record;
        at = end;
    }
    return out;
}

struct CachePeer {
    const char *name, *host;
    unsigned index;
};

static void
digests()
{
    struct HttpRequest {
        struct {
            const char *cd_host;
        } hier;
        const struct {
            struct {
                uint64_t value;
            } id;
        } * masterXaction;
    };
    const std::remove_pointer<decltype(HttpRequest::masterXaction)>::type xaction = {{5}};
    const HttpRequest request = {{"moon"}, &xaction};
    const CachePeer peer = {"moon", "moon", 1}, other = {"mars", "mars", 2};
    sqt_groups = ~SQT_GROUP_DIGEST;
    uint64_t begin = Sqtrace::DigestWorkBegins();
    Sqtrace::DigestKeyIsMade(begin, &request);
    Sqtrace::DigestIsLookedUp(begin, &request, &peer, true, true);
    Sqtrace::PeerIsAsked(&request, &peer, true, false);
    Sqtrace::DigestIsUpdated(begin, true);
    Sqtrace::DigestRebuildBegins(begin);
    Sqtrace::DigestRewriteBegins(begin, 128);
    Sqtrace::DigestFetchBegins(&request, &peer);
    expect("nothing is told of digests while their group is off", "");
    sqt_groups = SQT_GROUP_DIGEST;
    begin = Sqtrace::DigestWorkBegins();
    Sqtrace::DigestKeyIsMade(begin, &request);
    Sqtrace::DigestIsLookedUp(begin, &request, &peer, true, true);
    Sqtrace::DigestIsLookedUp(begin, &request, &peer, true, false);
    Sqtrace::DigestIsLookedUp(begin, &request, &peer, false, false);
    emitted = without_durations(emitted);
    expect("a key, and three look-ups", "DIGEST_KEY 5 d 0; DIGEST_LOOKUP 5 d 2147483649; DIGEST_LOOKUP 5 d 1; "
                                        "DIGEST_NONE 5 d 1; ");
    Sqtrace::PeerIsAsked(&request, &peer, false, false);
    Sqtrace::PeerIsAsked(&request, &peer, true, false);
    Sqtrace::PeerIsAsked(&request, &peer, true, true);
    Sqtrace::PeerIsAsked(&request, &other, true, true);
    expect("only what a digest said is a hit of digests", "DIGEST_HIT 5 0 1; DIGEST_HIT 5 1 1; ");
    Sqtrace::DigestRebuildBegins(begin);
    for (unsigned i = 0; i < 5; ++i)
        Sqtrace::DigestIsUpdated(Sqtrace::DigestWorkBegins(), i > 1);
    Sqtrace::DigestIsRebuilt(begin, false);
    Sqtrace::DigestIsUpdated(Sqtrace::DigestWorkBegins(), true);
    Sqtrace::DigestIsRebuilt(begin, true);
    emitted = without_durations(emitted);
    expect("updates are added up by step of the rebuild",
           "DIGEST_REBUILD 0 d 0; DIGEST_REBUILD 0 d 1; PART_DIGEST_UPDATES 2 d 0; PART_DIGEST_UPDATES 3 d 1; "
           "DIGEST_REBUILD 0 d 2; PART_DIGEST_UPDATES 1 d 1; ");
    Sqtrace::DigestRewriteBegins(begin, 128);
    Sqtrace::DigestIsRewritten(begin, 4096, 4096, 4196U);
    Sqtrace::DigestIsRewritten(begin, 100, 4196, 4196U);
    emitted = without_durations(emitted);
    expect("steps of a rewrite", "DIGEST_REWRITE 128 d 0; DIGEST_REWRITE 4096 d 1; DIGEST_REWRITE 100 d 2; ");
    Sqtrace::DigestFetchBegins(&request, &peer);
    Sqtrace::DigestFetchEnds(&request, 700, true, false);
    Sqtrace::DigestFetchEnds(&request, 0, false, false);
    Sqtrace::DigestFetchEnds(&request, 0, false, true);
    expect("fetches", "DIGEST_FETCH_BEGIN 5 0 1; DIGEST_FETCH_END 5 700 0; DIGEST_FETCH_END 5 0 1; "
                      "DIGEST_FETCH_END 5 0 2; ");
    sqt_groups = 0;
}

/* ---- names ---- */

struct Address {
    void getInAddr(struct in6_addr &to) const { memset(&to, 7, sizeof to); }
    unsigned short port() const { return 80; }
    bool isIPv6() const { return six; }
    char *toUrl(char *to, unsigned size) const { return snprintf(to, size, "192.0.2.7:80"), to; }

    bool six;
};

struct ServerPeer {
    const char *name;
    unsigned type, index;
    struct {
        bool originserver;
    } options;
};

struct ServerConnection {
    struct {
        uint64_t value;
    } id;
    const ServerPeer *peer;
    Address remote, local;
    int fd;
    bool sqtraceToServer, sqtraceOfClient;
    const ServerPeer *getPeer() const { return peer; }
};

static void
expect_defined(const char *what, const std::string &wanted)
{
    emitted.swap(defined);
    expect(what, wanted);
    defined.clear();
}

struct ServiceConfig {
    struct {
        const char *termedBuf() const { return "virus-scan"; }
    } key;
};

static void
names()
{
    struct {
        const Xaction *masterXaction;
    } const request = {new Xaction{{5}}};
    const ServerPeer peer = {"moon", 1, 3, {false}};
    const ServerConnection direct = {{50}, nullptr, {false}, {false}, -1, false, false},
                           parent = {{51}, &peer, {true}, {true}, -1, false, false};
    uint64_t opening = 0;
    defined.clear();
    const auto connect = [&](const ServerConnection &conn) { Sqtrace::ConnectBegins(opening, &request, &conn, false); };
    sqt_groups = SQT_GROUP_SERVER | SQT_GROUP_CLIENT;
    sqt_names = SQT_NAMES_OFF;
    connect(direct);
    Sqtrace::ConnectionIsReused(&request, &parent, false);
    expect("names=off: no record says which server", "CONNECT_BEGIN 5 50 0; CONNECT_REUSED 5 51 2; ");
    Sqtrace::NumberOfPeer(&peer);
    Sqtrace::ServiceIsAsked(&request, ServiceConfig(), 1);
    expect_defined("and nothing is called by its name", "direct; sibling; cache_peer 3; service-00000001; ");
    sqt_names = SQT_NAMES_CONFIGURED;
    emitted.clear();
    connect(direct);
    Sqtrace::ConnectionIsReused(&request, &parent, false);
    expect("names=configured: a second record says which server",
           "CONNECT_BEGIN 5 50 0; PART_SERVER 4 0 125; CONNECT_REUSED 5 51 2; PART_SERVER 6 0 1; ");
    Sqtrace::NumberOfPeer(&peer);
    Sqtrace::ServiceIsAsked(&request, ServiceConfig(), 1);
    expect_defined("peers and services have names, an origin server a number",
                   "direct; origin-0000007d; sibling; moon; moon; virus-scan; ");
    sqt_names = SQT_NAMES_SERVERS;
    connect(direct);
    expect_defined("names=servers: an origin server is its address and port", "direct; 192.0.2.7:80; ");
    emitted.clear();
    sqt_groups = 0;
}

static void
ends_of_connections()
{
    const Xaction five = {{5}};
    const struct {
        const Xaction *masterXaction;
    } request = {&five};
    const ServerPeer peer = {"moon", 1, 3, {false}};
    ServerConnection conn = {{50}, nullptr, {true}, {true}, 12, false, false};
    uint64_t opening = 50;
    sqt_groups = SQT_GROUP_SERVER;
    emitted.clear();
    Sqtrace::ConnectEnds(opening, &request, conn, false, false, 111);
    expect("an attempt that fails says why, and from which port", "CONNECT_END 5 50 1; PART_CONNECT_ERROR 80 0 111; ");
    Sqtrace::ConnectEnds(opening, &request, conn, false, false, 111);
    expect("only the first word counts", "");
    opening = 50;
    Sqtrace::ConnectEnds(opening, &request, conn, false, true, 110);
    opening = 50;
    Sqtrace::ConnectEnds(opening, &request, conn, true, false, 0);
    expect("one that times out does, one that succeeds does not",
           "CONNECT_END 5 50 2; PART_CONNECT_ERROR 80 0 110; CONNECT_END 5 50 0; ");
    Sqtrace::ConnectionCloses(conn);
    sqt_tcp tcp = {4000, 900, 700, 3, 2, 40, 1400, 6000000, 999, 1};
    tcp_known = &tcp;
    Sqtrace::ConnectionCloses(conn);
    conn.sqtraceToServer = false;
    Sqtrace::ConnectionCloses(conn);
    expect("a connection that closes has what TCP knows of it, if that is anything, and if it leads to a server",
           "SERVER_CLOSE 50 0 0; SERVER_CLOSE 50 4000 900; PART_TCP 700 3 2; ");
    conn.sqtraceToServer = true;
    tcp.idle_ms = 1000;
    Sqtrace::ConnectionCloses(conn);
    conn.sqtraceToServer = false;
    expect("and who closes it, if nothing came from the server for a second",
           "SERVER_IDLE 50 1000 1; SERVER_CLOSE 50 4000 900; PART_TCP 700 3 2; ");
    conn.sqtraceOfClient = true;
    Sqtrace::ConnectionCloses(conn);
    expect("one of a client has nothing in group server", "");
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::ConnectionCloses(conn);
    tcp.sent_again = 0;
    Sqtrace::ConnectionCloses(conn);
    tcp_known = nullptr;
    Sqtrace::ConnectionCloses(conn);
    expect("it has what TCP knows if segments were sent again",
           "CLIENT_RESENT 50 6000000 3; PART_CLIENT_RESENT 40 1400 900; ");
    sqt_groups = SQT_GROUP_SERVER;
    Sqtrace::PeerIsProbed(&peer, false, 111);
    Sqtrace::PeerIsProbed(&peer, false, 0);
    Sqtrace::PeerIsProbed(&peer, true, 0);
    expect("a neighbour that is tried", "PEER_PROBED 0 1 111; PEER_PROBED 0 1 110; PEER_PROBED 0 1 0; ");
    sqt_groups = 0;
    defined.clear();
}

struct Word {
    const char *key;
    const Word *next;
};

struct Program {
    const Word *cmdline;
    const char *id_name;
    struct {
        int queue_size;
    } stats;
    struct {
        unsigned n_running;
    } childs;
};

/// Helper::ResultCode
enum Result { Unknown, Okay, Error, Broken };

static void
answer(Sqtrace::HelperUse &use, const Result result)
{
    Sqtrace::HelperAnswers(use, result, Error, Broken);
}

/// what a helper of up to four words is called
static void
is_called(const char *name, const char *a, const char *b = nullptr, const char *c = nullptr, const char *d = nullptr)
{
    const Word fourth = {d, nullptr};
    const Word third = {c, d ? &fourth : nullptr};
    const Word second = {b, c ? &third : nullptr};
    const Word first = {a, b ? &second : nullptr};
    emitted = Sqtrace::NameOfProgram(&first);
    expect((std::string("the name of ") + a + (b ? b : "")).c_str(), name);
}

static void
names_of_programs()
{
    is_called("rewriter", "/usr/lib/squid/rewriter");
    is_called("rewriter", "rewriter", "-v", "/etc/squid/sites");
    is_called("rewrite.py", "/usr/bin/python3", "-u", "/etc/squid/rewrite.py", "3");
    is_called("rewrite.pl", "/usr/bin/perl5.36", "rewrite.pl");
    is_called("rewrite.py", "/usr/bin/env", "python3", "/etc/squid/rewrite.py");
    is_called("python3", "/usr/bin/python3", "-u");
    is_called("rewrite.py", "/usr/bin/env", "TOKEN=secret", "python3", "rewrite.py");
    is_called("sh", "/bin/sh", "-c", "rewriter --token=secret");
    is_called("perl", "/usr/bin/perl", "-e", "secret");
    is_called("bash", "/bin/bash", "rewriter secret");
    is_called("sh-rewriter", "/usr/local/bin/sh-rewriter", "/etc/squid/sites");
}

static void
helpers()
{
    const Xaction five = {{5}};
    const struct {
        const Xaction *masterXaction;
    } request = {&five};
    const Word word = {"/usr/lib/squid/rewriter", nullptr};
    const Program program = {&word, "redirector", {3}, {2}};
    sqt_groups = 0;
    {
        Sqtrace::OwnHelperUse use;
        Sqtrace::HelperIsToBeAsked(SQT_WAITED_AUTH, &request, "basic");
        Sqtrace::HelperIsAsked(use, program, false);
        Sqtrace::ChildIsAsked(use);
        answer(use, Okay);
    }
    expect("helpers while nothing is traced", "");
    sqt_groups = SQT_GROUP_CLIENT;
    sqt_clock = 0; // stamps are 0
    defined.clear();
    {
        Sqtrace::OwnHelperUse use;
        Sqtrace::HelperIsToBeAsked(SQT_WAITED_AUTH, &request, "basic");
        Sqtrace::HelperIsAsked(use, program, false);
        Sqtrace::ChildIsAsked(use);
        answer(use, Broken);
        Sqtrace::HelperIsAsked(use, program, true);
        answer(use, Okay);
        Sqtrace::HelperDies(use);
    }
    expect("a question is asked again, and each ends once",
           "HELPER_BEGIN 5 1 103; HELPER_END 5 1 2; PART_HELPER 0 3 0; HELPER_BEGIN 5 2 2147483751; HELPER_END 5 2 0; "
           "PART_HELPER 0 3 0; ");
    expect_defined("by the name that squid.conf gives it", "basic; ");
    {
        Sqtrace::OwnHelperUse use;
        Sqtrace::HelperIsAsked(use, program, false);
        emitted.clear();
        use.serial = 3;
    }
    expect("one whose object goes is abandoned, and nobody waits for one that nobody asked for",
           "HELPER_END 0 3 8; PART_HELPER 0 3 0; ");
    expect_defined("its name is that of the program", "rewriter; ");
    emitted.clear();
    sqt_clock = SQT_CLOCK_MONOTONIC;
    sqt_groups = 0;
}

struct NameServer {
    unsigned number;
    unsigned short port() const { return number; }
    void toStr(char *to, unsigned size) const { snprintf(to, size, "192.0.2.%u", number); }
    void toUrl(char *to, unsigned size) const { snprintf(to, size, "192.0.2.9:%u", number); }
};

static void
queries()
{
    Sqtrace::Lookup lookup;
    sqt_groups = SQT_GROUP_SERVER;
    sqt_clock = SQT_CLOCK_MONOTONIC;
    defined.clear();
    {
        Sqtrace::Query first, beside;
        const char acl[8] = "inside";
        {
            const Sqtrace::AclCheck check(acl);
            Sqtrace::LookupIsAsked(lookup, context);
        }
        emitted.clear();
        Sqtrace::QueryIsMade(first);
        Sqtrace::QueryIsMadeBeside(beside, first);
        Sqtrace::QueryIsSent(first, NameServer{53}, 0, 1, 1);
        first.sent = 70;
        Sqtrace::QueryTimesOut(first);
        Sqtrace::QueryIsSent(first, NameServer{5353}, 1, 2, 1);
        first.sent = 80;
        Sqtrace::NameServerSpeaks(0);
        Sqtrace::QueryIsAnswered(first, 2);
        Sqtrace::QueryIsAnswered(first, 2);
        Sqtrace::QueryIsSent(beside, NameServer{53}, 0, 1, 28);
        beside.sent = 90;
    }
    expect("each query that is sent ends once",
           "QUERY_END 5 70 107; PART_QUERY 1 9 3; QUERY_END 5 80 2147483755; PART_QUERY 1 9 7; QUERY_END 5 90 107; "
           "PART_QUERY 28 9 8; ");
    expect_defined("name servers are addresses", "192.0.2.53; 192.0.2.9:5353; 192.0.2.53; ");
    {
        Sqtrace::Query query;
        Sqtrace::LookupIsAsked(lookup, context);
        Sqtrace::QueryIsShared();
        Sqtrace::QueryIsMade(query);
        emitted = std::to_string(query.xact);
        expect("a look-up that makes no query leaves nobody behind", "0");
    }
    sqt_groups = 0;
}

/// what Squid's functions begin with that are run again in the right context
static void
in_its_context(const Place::Pointer right, const bool fails)
{
    if (Sqtrace::HasRunIn<Place>(right, [=] { in_its_context(right, fails); }))
        return;
    emitted += Place::current.raw == right.raw ? "right " : "as it was ";
    if (fails)
        throw 1;
}

static void
contexts()
{
    const Place places[2] = {};
    const Place::Pointer nil(nullptr), here(places), there(places + 1);
    Place::Reset(here);
    sqt_groups = 0;
    in_its_context(there, false);
    expect("while nothing is traced a context stays as it was", "as it was ");
    sqt_groups = SQT_GROUP_STORE;
    in_its_context(nil, false);
    expect("and where none is known", "as it was ");
    in_its_context(here, false);
    in_its_context(there, false);
    expect("else what begins is run once, in the right one", "right right ");
    Place::Reset(nil);
    in_its_context(there, false);
    emitted += Place::current.raw ? "" : "nil";
    expect("also where there was none", "right nil");
    Place::Reset(here);
    try {
        in_its_context(there, true);
    } catch (const int) {
        emitted += "thrown ";
    }
    emitted += Place::current.raw == here.raw ? "back" : "";
    expect("which is over when an exception leaves it", "right thrown back");
    sqt_groups = 0;
}

/* ---- why a look-up is no hit, and what holds a reply back ---- */

/* What an HttpRequest has to say. */
struct Wish {
    struct {
        bool cached;
        bool respMaybeCacheable() const { return cached; }
    } method;
    struct {
        bool noCache, internal, cachable;
    } flags;
    struct {
        bool none;
        bool isEmpty() const { return none; }
    } vary_headers;
    struct {
        int code;
    } hier;
    const Xaction *masterXaction;
    bool maybeCacheable() { return true; }
};

struct Shared {
    bool shared;
    bool mayStartHitting() const { return shared; }
    struct Memory {
        Sqtrace::Bringer sqtrace;
        Wish *request;
    } * mem_obj;
};

struct Asked {
    Wish *request;
    const Shared *entry;
    LogEntry *al;
    Sqtrace::ClientState sqtrace;
    struct {
        int status;
    } redirect;
    const Shared *storeEntry() const { return entry; }
};

static Wish
a_wish()
{
    static const Xaction xaction = {{5}};
    return Wish{{true}, {false, false, true}, {true}, {0}, &xaction};
}

static uint32_t
why(Wish wish, const Shared *entry = nullptr, const bool found = false, const int redirect = 0)
{
    Asked http = {&wish, entry, nullptr, Sqtrace::ClientState(), {redirect}};
    http.sqtrace.found = found;
    Sqtrace::LookupMisses(http);
    return http.sqtrace.missed;
}

static void
expect_number(const char *what, const uint32_t got, const uint32_t wanted)
{
    emitted = std::to_string(got);
    expect(what, std::to_string(wanted));
}

static void
reasons_of_misses()
{
    const Shared common = {true, nullptr}, own = {false, nullptr};
    sqt_groups = SQT_GROUP_CLIENT;
    Wish wish = a_wish();
    expect_number("nothing was found", why(wish), SQT_MISS_ABSENT);
    expect_number("a redirect is no miss", why(wish, nullptr, false, 302), SQT_MISS_NONE);
    expect_number("what was found cannot be sent", why(wish, nullptr, true), SQT_MISS_UNUSABLE);
    expect_number("or is refused later", why(wish, &common, true), SQT_MISS_UNUSABLE);
    expect_number("or is for another client", why(wish, &own, true), SQT_MISS_UNSHAREABLE);
    wish.vary_headers.none = false;
    expect_number("a variant is not there", why(wish), SQT_MISS_VARY);
    wish.flags.noCache = true;
    expect_number("no-cache", why(wish), SQT_MISS_NO_CACHE);
    wish.flags.cachable = false;
    expect_number("cache deny", why(wish), SQT_MISS_CACHE_DENY);
    wish.method.cached = false;
    expect_number("a method", why(wish), SQT_MISS_METHOD);

    wish = a_wish();
    Asked http = {&wish, &common, nullptr, Sqtrace::ClientState(), {0}};
    Sqtrace::FreshnessIsJudged(true);
    Sqtrace::EntryIsStale(http);
    expect_number("the client wants a newer one", http.sqtrace.missed, SQT_MISS_RELOAD);
    Sqtrace::LookupMisses(http);
    expect_number("the first reason counts", http.sqtrace.missed, SQT_MISS_RELOAD);
    http.sqtrace.missed = 0;
    Sqtrace::FreshnessIsJudged(false);
    Sqtrace::EntryIsStale(http);
    expect_number("it has expired", http.sqtrace.missed, SQT_MISS_STALE);
    Sqtrace::HeaderIsFound(http, false);
    expect_number("it could not be read", http.sqtrace.missed, SQT_MISS_SWAP_FAIL);

    http.sqtrace.missed = SQT_MISS_ABSENT;
    expect_number("nobody was asked", Sqtrace::ReasonOfMiss(http, &own), SQT_MISS_ABSENT);
    wish.hier.code = 1;
    expect_number("a server said that it is for one client", Sqtrace::ReasonOfMiss(http, &own), SQT_MISS_UNCACHEABLE);
    expect_number("or for all", Sqtrace::ReasonOfMiss(http, &common), SQT_MISS_ABSENT);
    expect_number("or nothing", Sqtrace::ReasonOfMiss(http, static_cast<Shared *>(nullptr)), SQT_MISS_ABSENT);
    sqt_groups = 0;
    http.sqtrace.missed = 0;
    Sqtrace::LookupMisses(http);
    expect_number("nothing is kept while the group is off", http.sqtrace.missed, SQT_MISS_NONE);
}

/* A follower's look-up goes on until the header of the reply is here. */
static void
a_follower()
{
    Wish wish = a_wish();
    Shared::Memory memory = {Sqtrace::Bringer(), &wish};
    const Shared entry = {true, &memory};
    LogEntry al = {nullptr};
    Asked http = {&wish, &entry, &al, Sqtrace::ClientState(), {0}};
    sqt_groups = SQT_GROUP_CLIENT;
    http.sqtrace.xact = 6;
    Sqtrace::LookupBegins(http);
    emitted.clear();
    Sqtrace::FollowsAnother(http, entry, 2);
    expect("a follower says whom it follows", "COLLAPSED 6 5 2; ");
    Sqtrace::HeaderIsFound(http, true);
    Sqtrace::StoredReplyIsReady(http);
    expect("its reply is ready when it is here", "LOOKUP_END 6 0 1; REPLY_READY 6 0 0; ");
    memory.sqtrace.xact = 9;
    memory.sqtrace.kid = 3;
    Sqtrace::FollowsAnother(http, entry, 2);
    expect("the leader may be in another worker", "COLLAPSED 6 9 3; ");
}

/* A MemObject of a Squid with delay pools, and one of a Squid without. */
struct Pooled {
    struct Id {
        unsigned short number;
        unsigned short pool() const { return number; }
    };
    unsigned short number;
    bool room;
    Id mostBytesAllowed() const { return Id{number}; }
    bool readAheadPolicyCanRead() const { return room; }
};
struct Unpooled {
};

static void
delay_pools()
{
    const Wish wish = a_wish();
    sqt_groups = SQT_GROUP_SERVER;
    Sqtrace::ServerIsHeldBack(&wish, Pooled{3, true});
    expect("a delay pool holds a reply back", "SERVER_HELD 5 0 3; ");
    Sqtrace::ServerIsHeldBack(&wish, Pooled{3, false});
    expect("a slow client does, whatever its pool", "SERVER_HELD 5 0 0; ");
    Sqtrace::ServerIsHeldBack(&wish, Unpooled());
    expect("a Squid without delay pools", "SERVER_HELD 5 0 0; ");
}

/// an SBuf, as far as the name of an ACL is one
struct Name {
    const char *text;
    const char *rawContent() const { return text; }
    unsigned length() const { return 3; }
};

static void
parts()
{
    const char named[16] = "bad_sites";
    const Name buffer = {"badly"};
    defined.clear();
    {
        const Sqtrace::AclCheck check(named);
        Sqtrace::AclIsChecked(named);
    }
    Sqtrace::LogIsWritten();
    Sqtrace::DiskCallIsOver(SQT_DISK_READ, 2);
    sqt_sample_waits = 1;
    sqt_io_done(1, 2, 3, 4);
    Sqtrace::DiskCallIsOver(SQT_DISK_READ, 2);
    sqt_io_is_over();
    expect_defined("parts tell nothing unless a sample waits, and no disk call of another thread", "");
    {
        const Sqtrace::AclCheck check(buffer);
    }
    Sqtrace::AclIsChecked(named);
    Sqtrace::AclIsChecked(buffer);
    Sqtrace::LogIsWritten();
    Sqtrace::DiskCallIsOver(SQT_DISK_READ, 2);
    expect_defined("else they say what was sampled", "begin; acl bad_sites; acl bad; write to a log; disk 3 2; ");
    sqt_sample_waits = 0;
}

/// what a check says from Squid 7 on
struct Verdict {
    const Name *lastCheckedName; // optional
};

/// before, the name is elsewhere
struct OldVerdict {
};
const char *AclMatchedName = nullptr;

static void
denied_accesses()
{
    const Name bad = {"bad"};
    const auto names = sqt_names;
    LogEntry al = {nullptr};
    Http http = {&al, Sqtrace::ClientState()};
    http.sqtrace.xact = 77;
    sqt_names = SQT_NAMES_CONFIGURED;
    sqt_groups = 0;
    Sqtrace::AccessIsDenied(http, Verdict{&bad}, false);
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::AccessIsDenied(http, Verdict{nullptr}, false);
    Sqtrace::AccessIsDenied(http, OldVerdict(), false);
    expect("denied, but by no ACL that is known, or while nothing is traced", "");
    Sqtrace::AccessIsDenied(http, Verdict{&bad}, false);
    AclMatchedName = "bad_sites";
    Sqtrace::AccessIsDenied(http, OldVerdict(), true);
    expect("a request is denied, and a reply", "DENIED 77 6 0; DENIED 77 12 1; ");
    sqt_names = SQT_NAMES_OFF;
    Sqtrace::AccessIsDenied(http, OldVerdict(), true);
    expect("without names", "");
    sqt_names = names;
    sqt_groups = 0;
}

struct Part {
    int64_t offset, length;
};

struct Parts {
    std::vector<Part *> specs;
};

struct Ranged {
    const struct {
        const Parts *range;
    } * request;
    LogEntry *al;
    Sqtrace::ClientState sqtrace;
};

static void
asked_ranges()
{
    Part first = {0, 100}, middle = {500, 20}, suffix = {-1, 7}, rest = {1000, -1}, all = {0, -1};
    const struct {
        const char *what, *wanted;
        Parts parts;
    } cases[] = {{"a range", "RANGE 77 20 0; ", {{&middle}}},
                 {"the last bytes", "RANGE 77 7 0; ", {{&suffix}}},
                 {"several parts", "RANGE 77 120 0; ", {{&first, &middle}}},
                 {"up to the end", "RANGE 77 1000 1; ", {{&middle, &rest}}},
                 {"all", "RANGE 77 0 1; ", {{&rest, &all}}}};
    std::remove_pointer<decltype(Ranged::request)>::type request = {nullptr};
    LogEntry al = {nullptr};
    Ranged http = {&request, &al, Sqtrace::ClientState()};
    http.sqtrace.xact = 77;
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::CalloutsEnd(http);
    expect("a request of the whole", "");
    for (const auto &c : cases) {
        const std::remove_pointer<decltype(Ranged::request)>::type ranged = {&c.parts};
        http.request = &ranged;
        Sqtrace::CalloutsEnd(http);
        expect(c.what, c.wanted);
    }
    sqt_groups = 0;
    Sqtrace::CalloutsEnd(http);
    expect("a range while nothing is traced", "");
}

struct Brought {
    struct Request {
        const Xaction *masterXaction;
    };
    struct Memory {
        const Request *request;
    };
    const Memory *mem_obj;
};

/* An end of a tunnel, with delay pools and without. */
struct PooledEnd {
    struct {
        unsigned short pool() const { return 2; }
    } delayId;
};
struct PlainEnd {
};

static void
tunnels()
{
    const Xaction xaction = {{5}};
    const Brought::Request request = {&xaction};
    Sqtrace::Tunnel tunnel;
    sqt_groups = SQT_GROUP_CLIENT;
    Sqtrace::TunnelCopies(tunnel, true, "", 0);
    Sqtrace::TunnelIsHeldBack(tunnel, PooledEnd());
    Sqtrace::TunnelCloses(tunnel, &request);
    expect("a tunnel that was not told to be open", "");
    tunnel.open = true;
    tunnel.asked = 1;
    Sqtrace::TunnelCopies(tunnel, false, "", 100);
    const uint64_t first = tunnel.asked;
    Sqtrace::TunnelServerTookAll(tunnel);
    Sqtrace::TunnelCopies(tunnel, false, "", 20);
    expect_number("the server is asked with the client's first bytes", tunnel.asked == first && first > 1, 1);
    expect_number("bytes wait for it", tunnel.unsentSince > 0 && !tunnel.answered, 1);
    Sqtrace::TunnelIsHeldBack(tunnel, PlainEnd());
    expect_number("no pool", tunnel.pool, 0);
    Sqtrace::TunnelReads(tunnel, false);
    expect_number("the client is read from, which no pool holds back", tunnel.heldSince > 0, 1);
    Sqtrace::TunnelReads(tunnel, true);
    Sqtrace::TunnelIsHeldBack(tunnel, PooledEnd());
    Sqtrace::TunnelReads(tunnel, true);
    expect_number("it has an end", tunnel.heldSince == 0 && tunnel.resumed > 0 && tunnel.held == 0, 1);
    Sqtrace::TunnelServerTookAll(tunnel);
    tunnel.pause = 1;
    tunnel.resumed = 1;
    Sqtrace::TunnelCopies(tunnel, true, "\x16\x03\x03\0\0", 5);
    expect_number("the server answers", tunnel.answered > 0 && !tunnel.unsentSince, 1);
    expect_number("its bytes come later than the pause was long: they were not there", tunnel.held, 0);
    tunnel.pause = UINT64_MAX / 2;
    tunnel.resumed = 1;
    Sqtrace::TunnelCopies(tunnel, true, "\x16\x03\x03\0\0", 5);
    expect_number("its bytes were there while the pool was empty", tunnel.held == UINT64_MAX / 2 && tunnel.pause == 0,
                  1);
    tunnel.answered = 7;
    tunnel.held = 8;
    tunnel.unsent = 9;
    tunnel.timesOut = true;
    Sqtrace::TunnelCloses(tunnel, &request);
    expect("its end", "TUNNEL_END 5 7 1; PART_TUNNEL_HELD 0 8 2; PART_TUNNEL_UPLOAD 120 9 0; "
                      "PART_TUNNEL_DOWNLOAD 0 0 0; ");
    tunnel.open = true;
    Sqtrace::TunnelCopies(tunnel, true, "hello", 5);
    Sqtrace::TunnelCloses(tunnel, &request);
    expect("the end of one without TLS", "TUNNEL_END 5 7 1; PART_TUNNEL_HELD 0 8 2; PART_TUNNEL_UPLOAD 120 9 0; ");
    tunnel.open = true;
    sqt_groups = 0;
    Sqtrace::TunnelCopies(tunnel, true, "hello", 5);
    expect_number("the trace that knew it has ended", tunnel.open, 0);
    sqt_groups = 0;
}

/* Whether Squid waits for the rest of a record after the server sent these bytes, one read or one byte at a time. */
static void
rests_of_records()
{
    const struct {
        const char *what;
        const char *data;
        size_t size;
        bool rest;
    } cases[] = {{"a whole record", "\x17\x03\x03\0\2ab", 7, false},
                 {"two", "\x16\x03\x03\0\1a\x17\x03\x03\0\2ab", 13, false},
                 {"one that is not whole", "\x17\x03\x03\x40\0a", 6, true},
                 {"a header", "\x17\x03\x03\0\2ab\x17\x03", 9, true},
                 {"an empty one", "\x17\x03\x03\0\0", 5, false},
                 {"no TLS", "HTTP/1.1 200 OK", 15, false},
                 {"another version", "\x17\x04\x03\0\2a", 6, false},
                 {"too large", "\x17\x03\x03\x48\1a", 6, false}};
    sqt_groups = SQT_GROUP_CLIENT;
    for (const auto &c : cases)
        for (const size_t step : {c.size, size_t(1)}) {
            Sqtrace::Tunnel tunnel;
            tunnel.open = true;
            for (size_t i = 0; i < c.size; i += step) {
                Sqtrace::TunnelCopies(tunnel, true, c.data + i, step);
                Sqtrace::TunnelReads(tunnel, true);
            }
            expect_number(c.what, tunnel.restSince > 0, c.rest);
            expect_number("bytes that came after waits", tunnel.restBytes > 0,
                          !tunnel.notTls && step == 1 && c.size > 1);
        }
    sqt_groups = 0;
}

static void
unkept_entries()
{
    const Xaction xaction = {{5}};
    const Brought::Request request = {&xaction};
    const Brought::Memory memory = {&request};
    const Brought entry = {&memory};
    unsigned asked = 0;
    const auto why = [&asked] { return ++asked, SQT_UNKEPT_OPEN_FILES; };
    sqt_groups = 0;
    Sqtrace::EntryIsNotKept(entry, why, context);
    sqt_groups = SQT_GROUP_STORE;
    Sqtrace::EntryIsNotKept(entry, why, context);
    expect("an entry of which nothing is kept", "NOT_KEPT 5 0 3; ");
    expect_true("why is looked for only while tracing", asked == 1);
    sqt_groups = 0;
}

/* The word of the ring has the ACL that is being checked, and after an inner one the outer one again. */
static void
shown_acls()
{
    const char outer[16] = "bad_sites", inner[16] = "all";
    uint32_t word = 0;
    sqt_acl_now = &word;
    {
        const Sqtrace::AclCheck check(outer);
        expect_number("a check shows its ACL", word, 12);
        for (int i = 0; i < 2; ++i) {
            const Sqtrace::AclCheck within(inner);
            expect_number("an inner check shows its own", word, 6);
        }
        expect_number("then the outer one is shown again", word, 12);
    }
    expect_number("after all none is", word, 0);
    sqt_acl_now = nullptr;
    const Sqtrace::AclCheck check(outer);
    expect_number("without group loop none is", word, 0);
}

/* ---- children of helpers ---- */

struct Child {
    pid_t pid;
    struct {
        unsigned replies;
    } stats;
};

/// a child that ends with that status, or by that signal; nobody has taken its status
static pid_t
a_child_that_ends(const int status, const int signal)
{
    const pid_t pid = fork();
    siginfo_t info;
    if (!pid) {
        if (signal)
            kill(getpid(), signal);
        _exit(status);
    }
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    return pid;
}

static std::string
death(const pid_t pid, const char *exit, const char *who)
{
    return "CHILD_DIED " + std::to_string(pid) + " " + exit + " " + who + "; ";
}

static void
children()
{
    const Word word = {"/usr/lib/squid/rewriter", nullptr};
    const Program asked = {&word, "external_acl_type", {0}, {4}}, idle = {&word, "basicauthenticator", {0}, {1}};
    const pid_t exits = a_child_that_ends(3, 0), killed = a_child_that_ends(0, SIGKILL);
    const std::string silent = std::to_string(UINT32_C(2147483648) + 100 + SQT_WAITED_AUTH);
    sqt_groups = 0;
    Sqtrace::ChildStarts(idle, exits);
    Sqtrace::ChildDies(idle, Child{exits, {0}});
    expect("children while nothing is traced", "");
    sqt_groups = SQT_GROUP_CLIENT;
    defined.clear();
    Sqtrace::ChildStarts(idle, 77);
    expect("a child that starts, and how many run then",
           "CHILD_STARTED 77 1 " + std::to_string(100 + SQT_WAITED_AUTH) + "; ");
    expect_defined("a helper that nobody asks has the name that its kind has", "basic; ");
    emitted.clear();
    Sqtrace::ChildDies(idle, Child{exits, {0}});
    expect("a child whose status nobody has taken yet", death(exits, "3", silent.c_str()));
    Sqtrace::ChildDies(idle, Child{killed, {0}});
    expect("one that a signal ended", death(killed, "265", silent.c_str()));
    int status = 0;
    waitpid(exits, &status, 0);
    Sqtrace::ChildIsReaped(exits, status);
    waitpid(killed, &status, 0);
    Sqtrace::ChildIsReaped(killed, status);
    Sqtrace::ChildIsReaped(0, 0);
    Sqtrace::ChildDies(idle, Child{exits, {1}});
    Sqtrace::ChildDies(idle, Child{killed, {1}});
    const std::string basic = std::to_string(100 + SQT_WAITED_AUTH);
    expect("the same once Squid has taken it", death(exits, "3", basic.c_str()) + death(killed, "265", basic.c_str()));
    Sqtrace::ChildDies(idle, Child{getpid(), {1}});
    expect("who lives, or is unknown, has no status", death(getpid(), "1024", basic.c_str()));
    const Xaction five = {{5}};
    const struct {
        const Xaction *masterXaction;
    } request = {&five};
    {
        Sqtrace::OwnHelperUse use;
        Sqtrace::ExternalAclIsToBeAsked(&request, "quota", false);
        Sqtrace::HelperIsAsked(use, asked, false);
        large_ones_are_defined = 1;
        defined.clear();
        emitted.clear();
        Sqtrace::ChildStarts(asked, 78);
        expect("a helper that was asked is the same for its children",
               "CHILD_STARTED 78 4 " + std::to_string(100 + SQT_WAITED_EXTERNAL_ACL) + "; ");
        large_ones_are_defined = 0;
    }
    sqt_groups = 0;
    emitted.clear();
    defined.clear();
}

/* ---- Squid as a whole ---- */

struct Counts {
    int scancount;
    struct timeval startTime;
};

struct OldCounts {
    int scancount;
};

struct SwapDir {
    int index;
    const char *path;
    const char *type() const { return "aufs"; }
};

static void
life()
{
    const SwapDir dir = {3, "/cache"};
    const struct timeval now = {12, 500000};
    sqt_groups = 0;
    defined.clear();
    Sqtrace::SquidGivesUp("no memory");
    Sqtrace::SquidFails("x > 0", "x.cc", 7);
    Sqtrace::DirIsRebuilt(dir, Counts{5, {10, 0}}, now);
    Sqtrace::SwapLogsAreWritten(5, 0.5);
    expect("nothing is told of Squid while nothing is traced", "");
    sqt_groups = SQT_GROUP_STORE | SQT_GROUP_CLIENT;
    Sqtrace::SquidGivesUp("no memory");
    Sqtrace::SquidGivesUp(nullptr);
    Sqtrace::SquidFails("x > 0", "x.cc", 7);
    expect_defined("why Squid ends", "no memory; ; assertion failed: x.cc:7: \"x > 0\"; ");
    emitted.clear();
    Sqtrace::DirIsRebuilt(dir, Counts{5, {10, 0}}, now);
    Sqtrace::DirIsRebuilt(dir, Counts{-1, {0, 0}}, now);
    Sqtrace::DirIsRebuilt(dir, OldCounts{6}, now);
    Sqtrace::SwapLogsAreWritten(5, 0.5);
    expect("indexes of cache_dirs",
           "DIR_REBUILT 5 2500 3; DIR_REBUILT 0 0 3; DIR_REBUILT 6 0 3; SWAP_LOGS_WRITTEN 5 500000 0; ");
    Sqtrace::ServiceChanges(ServiceConfig(), false, "suspended");
    Sqtrace::ServiceChanges(ServiceConfig(), false, "down after an options fetch failure");
    Sqtrace::ServiceChanges(ServiceConfig(), true, "suspended");
    expect("services that Squid stops to use", "SERVICE_STATE 0 1 2; SERVICE_STATE 0 1 0; SERVICE_STATE 0 1 1; ");
    sqt_groups = 0;
    defined.clear();
}

static void
lists()
{
    const auto read = [](const unsigned values) {
        const char array[16] = "long_list";
        const Name buffer = {"badly"};
        const Sqtrace::AclReading reading;
        for (unsigned i = 0; i < values; ++i)
            Sqtrace::ValueIsRead();
        if (values % 2)
            Sqtrace::AclWasRead(reading, array);
        else
            Sqtrace::AclWasRead(reading, buffer);
    };
    const auto told = [](const char *what, const std::string &wanted) { // without how long it took
        std::string short_one;
        for (size_t at = 0; (at = emitted.find("LIST_READ", at)) != std::string::npos; ++at)
            short_one += emitted.substr(at, emitted.find(' ', at + 10) - at) + "; ";
        emitted = short_one;
        expect(what, wanted);
    };
    sqt_names = SQT_NAMES_CONFIGURED;
    sqt_groups = 0;
    read(999);
    read(1000);
    Sqtrace::ListsAreTold();
    told("lists that were read without a trace are told nobody", "");
    read(1000);
    sqt_groups = SQT_GROUP_LOOP;
    Sqtrace::ListsAreTold();
    told("before a trace begins, a long list is kept for it", "LIST_READ 1000; ");
    Sqtrace::ListsAreTold();
    told("once", "");
    read(999);
    read(2000);
    told("later, it is told at once", "LIST_READ 2000; ");
    sqt_groups = 0;
    for (unsigned i = 0; i < 40; ++i)
        read(1001 + i);
    sqt_groups = SQT_GROUP_LOOP;
    Sqtrace::ListsAreTold();
    emitted = std::to_string(std::count(emitted.begin(), emitted.end(), 'L'));
    expect("of too many, the last has its place", "16");
    sqt_groups = 0;
}

static void
lines_of_cache_log()
{
    const uint64_t before = Sqtrace::CacheLogLines();
    defined.clear();
    Sqtrace::LineIsLogged();
    sqt_sample_waits = 1;
    Sqtrace::LineIsLogged();
    sqt_sample_waits = 0;
    emitted = std::to_string(Sqtrace::CacheLogLines() - before) + " " + defined;
    expect("lines of cache.log are counted, and a sample says so", "2 write to cache.log; ");
    defined.clear();
}

/* ---- settings of squid.conf ---- */

struct PolicySettings {
    const char *type;
    Word *args;
};
struct MaybeFlag {
    bool set, value;
    bool configured() const { return set; }
    explicit operator bool() const { return value; }
};
struct ChildSettings {
    unsigned n_max, concurrency;
};
struct SquidSettings {
    size_t memMaxSize = 268435456;
    struct {
        size_t maxInMemObjSize = 524288;
        int64_t maxObjectSize = -1;
    } Store;
    int workers = 4;
    struct {
        int server_pconns = 1, collapsed_forwarding = 0;
    } onoff;
    struct {
        int64_t serverIdlePconn = 60;
    } Timeout;
    int64_t negativeDnsTtl = 59;
    MaybeFlag memShared = {true, true};
    struct {
        int lowWaterMark = 90, highWaterMark = 95;
    } Swap;
    PolicySettings *memPolicy = nullptr, *replPolicy = nullptr;
    ChildSettings redirectChildren = {20, 0}, storeIdChildren = {5, 10};
    struct {
        Word *redirect = nullptr, *store_id = nullptr;
    } Program;
};

static void
settings()
{
    SquidSettings conf;
    Word gdsf = {"GDSF", nullptr}, program = {"/usr/lib/store-id", nullptr};
    PolicySettings lru = {"lru", nullptr}, heap = {"heap", &gdsf};
    conf.memPolicy = &lru;
    conf.replPolicy = &heap;
    conf.Program.store_id = &program;
    defined.clear();
    sqt_groups = SQT_GROUP_SAMPLE;
    Sqtrace::SettingsAreTold(conf);
    emitted = defined;
    expect(
        "settings are lines of squid.conf; what nobody set or uses is none",
        "cache_mem 268435456 bytes; maximum_object_size_in_memory 524288 bytes; workers 4; memory_cache_shared on; "
        "cache_swap_low 90; cache_swap_high 95; memory_replacement_policy lru; cache_replacement_policy heap GDSF; "
        "store_id_children 5 concurrency=10; server_persistent_connections on; server_idle_pconn_timeout 60 seconds; "
        "negative_dns_ttl 59 seconds; collapsed_forwarding off; ");
    defined.clear();
    large_ones_are_defined = 1;
    Sqtrace::SettingsAreTold(conf);
    sqt_groups = 0;
    large_ones_are_defined = 0;
    Sqtrace::SettingsAreTold(conf);
    emitted = defined;
    expect("once, and only with group sample", "");
}

int
main()
{
    a_pair_that_ends_while_its_group_is_off();
    records_of_one_moment();
    ids_of_a_transaction();
    methods();
    contexts_of_callers();
    spans_that_are_sent_on();
    notes();
    listening_ports();
    a_reader_that_leaves();
    a_file_with_an_error();
    writes_that_fail();
    operations(); // the first to take numbers
    late_answers();
    diskd();
    digests();
    names();
    ends_of_connections();
    life();
    lists();
    lines_of_cache_log();
    reasons_of_misses();
    a_follower();
    delay_pools();
    names_of_programs();
    helpers();
    children();
    queries();
    contexts();
    parts();
    denied_accesses();
    asked_ranges();
    tunnels();
    rests_of_records();
    unkept_entries();
    shown_acls();
    settings();
    printf("1..%d\n", tests);
}
