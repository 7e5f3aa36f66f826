/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ecapwaits.cc - an eCAP service that does what the HTTP request tells it to, and logs its own clock.
 *
 * The HTTP request's header X-Reqmod or X-Respmod, whichever is meant, holds words with ";" between, as for
 * lib/icapd.py:
 *
 *     stall=MS    sleep so long, and all of Squid with it, when the message comes
 *     wait=MS     hold the answer so long; Squid goes on meanwhile
 *     body=MS     hold the body of the answer after its header
 *     do=204      no change (the default)
 *     do=change   the message back, with a header X-Adapted more
 *     do=instead  REQMOD: a response instead of the request, with 3,000 bytes of body
 *     do=block    refuse the message
 *     do=error    give up
 *
 * squid.conf: ecap_service NAME POINT uri=ecap://sqtrace.test/waits log=FILE
 *
 * A line of the log, tab separated, nanoseconds of CLOCK_MONOTONIC, when Squid is done with a message:
 *     tag  method  began_ns  answered_ns  done_ns  do
 * began: the message is here; answered: before the answer is given; done: its last byte was taken, or the message was
 * given up.  tag is the HTTP request's X-Tag.
 */
#include <libecap/adapter/service.h>
#include <libecap/adapter/xaction.h>
#include <libecap/common/autoconf.h>
#include <libecap/common/body.h>
#include <libecap/common/header.h>
#include <libecap/common/message.h>
#include <libecap/common/name.h>
#include <libecap/common/named_values.h>
#include <libecap/common/registry.h>
#include <libecap/common/version.h>
#include <libecap/host/host.h>
#include <libecap/host/xaction.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <ostream>
#include <string>
#include <sys/time.h>

namespace
{

using libecap::Area;
using libecap::Name;

const std::string::size_type InsteadSize = 3000;
const int64_t Second = 1000000000; // ns

int64_t
Now()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * Second + now.tv_nsec;
}

/// what follows NAME= in words with ";" between
std::string
Word(const std::string &words, const std::string &name)
{
    const std::string all = ";" + words;
    const auto at = all.find(";" + name + "=");
    if (at == std::string::npos)
        return "";
    const auto begin = at + name.size() + 2;
    return all.substr(begin, all.find(';', begin) - begin);
}

int64_t
Milliseconds(const std::string &words, const std::string &name)
{
    return std::stoll("0" + Word(words, name)) * 1000000; // in ns
}

class Xaction;

class Service : public libecap::adapter::Service
{
public:
    // what it is
    std::string uri() const override { return "ecap://sqtrace.test/waits"; }
    std::string tag() const override { return "1"; }
    void describe(std::ostream &out) const override { out << "waits as it is told"; }
    bool makesAsyncXactions() const override { return true; }
    bool wantsUrl(const char *) const override { return true; }
    void configure(const libecap::Options &options) override { logPath = options.option(Name("log")).toString(); }
    void reconfigure(const libecap::Options &options) override { configure(options); }

    // what waits, and until when
    void suspend(timeval &timeout) override;
    void resume() override;
    void hold(Xaction *, int64_t ns);
    void forget(Xaction *);

    MadeXactionPointer makeXaction(libecap::host::Xaction *) override;

    void note(const std::string &line);

private:
    std::multimap<int64_t, Xaction *> waiting;
    std::string logPath;
    FILE *log = nullptr;
};

/// one message
class Xaction : public libecap::adapter::Xaction
{
public:
    Xaction(Service &aService, libecap::host::Xaction *aHost) : service(aService), host(aHost) {}

    const Area option(const Name &) const override { return Area(); }
    void visitEachOption(libecap::NamedValueVisitor &) const override {}

    void start() override;
    void resume() override;
    void stop() override;

    // the answer's body
    void abDiscard() override {}
    void abMake() override { hold(Milliseconds(words, "body")); }
    void abMakeMore() override {}
    void abStopMaking() override;
    Area abContent(libecap::size_type offset, libecap::size_type size) override;
    void abContentShift(libecap::size_type size) override;

    // the message's body
    void noteVbContentAvailable() override;
    void noteVbContentDone(bool atEnd) override;

    libecap::host::Xaction *hostSide() const { return host; }

private:
    void hold(int64_t ns);
    void answer();
    void giveBody();
    void endBody();
    libecap::shared_ptr<libecap::Message> instead();

    Service &service;
    libecap::host::Xaction *host;
    std::string words, what, tag, method;
    int64_t began = 0, answered = 0, done = 0;
    std::string body;         ///< what is here of the answer's body, and not yet taken
    bool bodyComes = false;   ///< Squid has more of the message's body
    bool bodyIsWhole = true;  ///< it did not break off
    bool givingBody = false;  ///< the answer's body is not held back any more
    bool bodyIsGiven = false; ///< Squid knows that no more of it comes
};

// ---- the service ----

void
Service::hold(Xaction *const xaction, const int64_t ns)
{
    waiting.emplace(Now() + ns, xaction);
}

void
Service::forget(Xaction *const xaction)
{
    for (auto at = waiting.begin(); at != waiting.end();)
        at = at->second == xaction ? waiting.erase(at) : std::next(at);
}

void
Service::suspend(timeval &timeout)
{
    if (waiting.empty())
        return;
    const int64_t left = std::max<int64_t>(0, waiting.begin()->first - Now());
    const timeval mine = {static_cast<time_t>(left / Second), static_cast<suseconds_t>(left % Second / 1000)};
    if (timercmp(&mine, &timeout, <))
        timeout = mine;
}

void
Service::resume()
{
    while (!waiting.empty() && waiting.begin()->first <= Now()) {
        const auto due = waiting.begin()->second;
        waiting.erase(waiting.begin());
        due->hostSide()->resume();
    }
}

libecap::adapter::Service::MadeXactionPointer
Service::makeXaction(libecap::host::Xaction *const host)
{
    return MadeXactionPointer(new Xaction(*this, host));
}

void
Service::note(const std::string &line)
{
    if (!log)
        log = std::fopen(logPath.c_str(), "a");
    if (log) {
        std::fputs(line.c_str(), log);
        std::fflush(log);
    }
}

// ---- a message ----

void
Xaction::start()
{
    began = Now();
    const auto isResponse = dynamic_cast<libecap::StatusLine *>(&host->virgin().firstLine());
    const libecap::Header &header = isResponse ? host->cause().header() : host->virgin().header();
    method = isResponse ? "RESPMOD" : "REQMOD";
    words = header.value(Name(isResponse ? "X-Respmod" : "X-Reqmod")).toString();
    tag = header.value(Name("X-Tag")).toString();
    what = Word(words, "do");

    const int64_t stall = Milliseconds(words, "stall");
    const timespec time = {static_cast<time_t>(stall / Second), static_cast<long>(stall % Second)};
    nanosleep(&time, nullptr);

    // Only a message that comes back changed passes through here.
    if (what == "change" && host->virgin().body()) {
        bodyComes = true;
        host->vbMake();
    }
    hold(Milliseconds(words, "wait"));
}

/// goes on at once, or when the time is over
void
Xaction::hold(const int64_t ns)
{
    if (ns)
        service.hold(this, ns);
    else
        resume();
}

void
Xaction::resume()
{
    if (answered)
        giveBody();
    else
        answer();
}

void
Xaction::answer()
{
    answered = done = Now();
    if (what == "change" || what == "instead") {
        const auto adapted = what == "change" ? host->virgin().clone() : instead();
        adapted->header().add(Name("X-Adapted"), Area("1", 1));
        host->useAdapted(adapted);
    } else if (what == "block") {
        host->blockVirgin();
    } else if (what == "error") {
        host->adaptationAborted();
    } else {
        host->useVirgin();
    }
}

libecap::shared_ptr<libecap::Message>
Xaction::instead()
{
    const auto response = libecap::MyHost().newResponse();
    auto &line = dynamic_cast<libecap::StatusLine &>(response->firstLine());
    line.version(libecap::Version(1, 1));
    line.statusCode(200);
    response->addBody(); // of a length that Squid is not told
    body.assign(InsteadSize, 'i');
    return response;
}

void
Xaction::giveBody()
{
    givingBody = true;
    if (!body.empty())
        host->noteAbContentAvailable();
    endBody();
}

/// all of the answer's body is here and may go: Squid is told so, once
void
Xaction::endBody()
{
    if (!givingBody || bodyComes || bodyIsGiven)
        return;
    bodyIsGiven = true;
    done = Now();
    host->noteAbContentDone(bodyIsWhole);
}

Area
Xaction::abContent(const libecap::size_type offset, const libecap::size_type size)
{
    return givingBody ? Area::FromTempString(body.substr(offset, size)) : Area();
}

void
Xaction::abContentShift(const libecap::size_type size)
{
    body.erase(0, size);
    done = Now();
}

void
Xaction::noteVbContentAvailable()
{
    const Area content = host->vbContent(0, libecap::nsize);
    body.append(content.start, content.size);
    host->vbContentShift(content.size);
    if (givingBody)
        host->noteAbContentAvailable();
}

void
Xaction::noteVbContentDone(const bool atEnd)
{
    bodyComes = false;
    bodyIsWhole = atEnd;
    host->vbStopMaking();
    endBody();
}

void
Xaction::abStopMaking()
{
    service.forget(this);
    givingBody = false;
    if (bodyComes) {
        bodyComes = false;
        host->vbStopMaking();
    }
}

void
Xaction::stop()
{
    service.forget(this);
    if (!answered)
        done = Now();
    service.note(tag + "\t" + method + "\t" + std::to_string(began) + "\t" + std::to_string(answered) + "\t" +
                 std::to_string(done) + "\t" + (what.empty() ? "204" : what) + "\n");
}

const bool Registered = libecap::RegisterVersionedService(new Service);

} // namespace
