/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-diskops.h - hooks of disk operations that a thread of aufs, diskd or a rock disker does.
 *
 *     asked  queued          taken up      done  put back   noticed   handler returns
 *     |------|---------------|-------------|-----|----------|---------|
 *     enqueued   dequeued          io       copy  complete   finished
 *
 * The stamps travel with the operation in its member of type Operation.  The main thread tells that it begins, once it
 * is queued, and that it ended, once it has been delivered.  Threads and other processes stamp, and emit nothing.
 */
#ifndef SQT_SQUID_HOOKS_DISKOPS_H
#define SQT_SQUID_HOOKS_DISKOPS_H

#include "ids.h"

#include <map>

namespace Sqtrace
{

/* ---- the main thread asks ---- */

/// what the store asks for; a queue further down the same chain of calls takes it from here, if one does
struct Question {
    enum {
        Nothing,
        Told,  ///< by a record of the store, which has just said what follows, too
        Untold ///< the record of the operation says what is asked, and when
    } asked;
    uint32_t dir;
    uint32_t what; ///< enum sqt_disk_op
    uint64_t sio;
    uint64_t when; ///< stamp
};

inline Question &
CurrentQuestion()
{
    static Question question;
    return question;
}

/// the store asks for an operation of one of its files; told: so says the record that was emitted last
inline void
OperationIsAskedFor(const uint16_t what, const uint64_t sio, const int dir, const bool told)
{
    if (sqt_has_new_sample())
        sqt_part_begins();
    if (!sqt_on(SQT_GROUP_DISKOP))
        return;
    Question &question = CurrentQuestion();
    question.sio = sio;
    question.asked = told ? Question::Told : Question::Untold;
    if (told)
        return;
    question.when = sqt_read_clock(sqt_clock);
    question.dir = static_cast<uint32_t>(dir);
    question.what = what;
}

/// takes that question, so that nobody else does
inline Question
TakeQuestion()
{
    Question question = Question();
    if (sqt_on(SQT_GROUP_DISKOP))
        question = CurrentQuestion();
    CurrentQuestion().asked = Question::Nothing;
    return question;
}

/// The number of an operation that begins, 0 if nothing is traced.  One that is not to be told has the top bit.
inline uint32_t
NextOperation()
{
    if (!Tracing())
        return 0;
    const auto serial = static_cast<uint32_t>(NextSerial<DiskOperations>());
    return sqt_on(SQT_GROUP_DISKOP) ? serial & INT32_MAX : serial | ~static_cast<uint32_t>(INT32_MAX);
}

/// whether an operation was traced and told when it began
inline bool
IsToldOf(const uint32_t serial)
{
    return static_cast<int32_t>(serial) > 0;
}

/// an operation gets its number and its clock, before anybody else can have it
inline void
OperationIsNumbered(Operation &operation)
{
    operation.clock = sqt_clock;
    operation.serial = NextOperation();
    if (operation.clock)
        operation.moved = operation.begin = operation.end = operation.back = 0;
}

/// the operation of that number is in its queue, behind `depth` others
template <class Count>
inline void
OperationIsQueued(const Question &question, const uint32_t serial, const Count depth)
{
    if (!IsToldOf(serial))
        return;
    if (question.asked == Question::Told) {
        sqt_emit(SQT_EV_DISKOP_QUEUED, serial, question.sio, static_cast<uint32_t>(depth));
        StayOnStack();
        return;
    }
    const bool known = question.asked == Question::Untold;
    sqt_emit_pair(SQT_PAIR(SQT_EV_DISKOP_BEGIN, SQT_EV_PART_DISKOP), serial, known ? question.sio : 0,
                  known ? question.dir : UINT32_MAX, known ? question.when : sqt_read_clock(sqt_clock),
                  static_cast<uint64_t>(depth), known ? question.what : static_cast<uint32_t>(SQT_DISK_OTHER));
    StayOnStack();
}

/// the same, of the question that was asked last, which it takes
template <class Count>
inline void
OperationIsQueued(const uint32_t serial, const Count depth)
{
    if (IsToldOf(serial))
        OperationIsQueued(TakeQuestion(), serial, depth);
}

/* ---- a thread or another process does it ---- */

/// the time in a stamp of an operation, if it has a clock
inline void
Stamp(uint64_t &stamp, const Operation &operation)
{
    if (__builtin_expect(operation.clock != 0, 0))
        stamp = sqt_read_clock(operation.clock);
}

inline void
ServiceBegins(Operation &operation)
{
    Stamp(operation.begin, operation);
}

inline void
ServiceEnds(Operation &operation)
{
    Stamp(operation.end, operation);
}

/// its result is about to be where the main thread finds it
inline void
ResultIsPutBack(Operation &operation)
{
    Stamp(operation.back, operation);
}

/* ---- the main thread gets the answer ---- */

inline uint32_t
CopyOf(const Operation &operation)
{
    const uint64_t copy = operation.back > operation.end ? operation.back - operation.end : 0;
    return copy < UINT32_MAX ? static_cast<uint32_t>(copy) : UINT32_MAX;
}

/// told: the swap's last record has the stamps of its service
inline void
EmitOperationEnd(const unsigned event, const Operation &operation, const uint64_t noticed, const uint32_t bytes,
                 const bool told = false)
{
    if (!IsToldOf(operation.serial) || !sqt_on(SQT_GROUP_DISKOP))
        return;
    if ((told && !operation.moved) || !operation.begin) {
        sqt_emit(event, operation.serial, noticed, bytes);
        StayOnStack();
        return;
    }
    sqt_record unit[3];
    unit[0].event = static_cast<uint16_t>(event);
    unit[0].id = operation.serial;
    unit[0].arg = noticed;
    unit[0].aux = bytes;
    unit[1].event = SQT_EV_PART_DISKOP_IO;
    unit[1].id = operation.begin;
    unit[1].arg = operation.end;
    unit[1].aux = CopyOf(operation);
    if (operation.moved) {
        unit[2].event = SQT_EV_PART_STAMP;
        unit[2].id = 0;
        unit[2].arg = operation.moved;
        unit[2].aux = SQT_STAMP_SECOND_QUEUE;
    }
    sqt_emit_unit(unit, operation.moved ? 3 : 2);
}

/// the bits of an IO_BYTES field
template <class Length>
inline uint32_t
IoBytes(const Length moved, const bool failed)
{
    return failed ? static_cast<uint32_t>(SQT_IO_FAILED) : static_cast<uint32_t>(moved) & SQT_IO_BYTES;
}

/// an operation comes back that nobody wants any more
inline void
OperationIsCancelled(const Operation &operation)
{
    if (sqt_on(SQT_GROUP_DISKOP))
        EmitOperationEnd(SQT_EV_DISKOP_END, operation, sqt_read_clock(sqt_clock), SQT_IO_CANCELLED);
}

/// what an answer says of its operation: it has one,
inline const Operation &
OperationOf(const Operation &operation)
{
    return operation;
}

/// or is a message of diskd, which has the stamps as DiskdService left them
template <class Message>
inline Operation
OperationOf(const Message &answer)
{
    Operation operation;
    operation.serial = answer.sqtSerial;
    operation.clock = answer.sqtClock;
    operation.moved = operation.back = 0;
    operation.begin = static_cast<uint64_t>(answer.offset);
    operation.end = operation.begin + answer.size;
    return operation;
}

/// While it lives, an answer is being delivered, and the store's hooks may take its stamps; then the operation is over.
class Delivery
{
public:
    /// \param ours whether it is for this process; an answer for its predecessor is not ours to tell
    template <class Answer>
    Delivery(const Answer &answer, const uint32_t bytes, const bool ours = true) :
        begun_(Tracing() && ours && begins(OperationOf(answer), bytes))
    {
    }
    ~Delivery()
    {
        if (begun_)
            ends();
    }
    Delivery(const Delivery &) = delete;
    Delivery &operator=(const Delivery &) = delete;

private:
    /// whether it is an operation of the trace
    bool begins(const Operation &operation, const uint32_t bytes)
    {
        if (!operation.clock)
            return false;
        operation_ = operation;
        bytes_ = bytes;
        noticed_ = sqt_read_clock(sqt_clock);
        sqt_io_done(operation.begin, operation.end, CopyOf(operation), noticed_);
        return true;
    }
    void ends()
    {
        const bool told = sqt_io_pending.taken;
        sqt_io_is_over();
        EmitOperationEnd(SQT_EV_DISKOP_END, operation_, noticed_, bytes_, told);
    }

    union {
        Operation operation_;
    };
    uint64_t noticed_;
    uint32_t bytes_;
    const bool begun_; ///< else nothing above is set
};

/* ---- aufs ----
 *
 * request is a squidaio_request_t, result its squidaio_result_t: both have a member sqtrace of type Operation. */

template <class Request, class Count>
inline void
RequestIsQueued(Request &request, const Count depth)
{
    OperationIsNumbered(request.sqtrace);
    OperationIsQueued(request.sqtrace.serial, depth);
}

/// requests that waited in a second queue, because the first was locked, come into the first
template <class Request>
inline void
SecondQueueMoves(Request *const first)
{
    for (Request *request = first; request; request = request->next)
        Stamp(request->sqtrace.moved, request->sqtrace);
}

/// the main thread takes a request from the queue of results; without a result nobody wants it any more
template <class Request, class Result>
inline void
RequestComesBack(const Request &request, Result *const result)
{
    if (result && !request.cancelled)
        result->sqtrace = request.sqtrace;
    else
        OperationIsCancelled(request.sqtrace);
}

/* ---- diskd ----
 *
 * A question to diskd has the clock and the operation's number.  Its answer leaves offset and size of the message idle,
 * so the stamps travel there: the message stays as long as it was, and a message queue of the system holds as many. */

template <class Message>
inline void
QuestionIsNumbered(Message &message)
{
    message.sqtClock = static_cast<uint8_t>(sqt_clock);
    message.sqtSerial = NextOperation();
}

class DiskdService
{
public:
    template <class Message>
    explicit DiskdService(const Message &question) :
        clock_(question.sqtClock), serial_(question.sqtSerial), begin_(sqt_read_clock(clock_))
    {
    }

    template <class Message>
    void endsWith(Message &answer) const
    {
        const uint64_t took = sqt_read_clock(clock_) - begin_;
        answer.sqtClock = static_cast<uint8_t>(clock_);
        answer.sqtSerial = serial_;
        answer.offset = static_cast<decltype(answer.offset)>(begin_);
        answer.size = took < SIZE_MAX ? static_cast<size_t>(took) : SIZE_MAX;
    }

private:
    const uint32_t clock_, serial_;
    const uint64_t begin_;
};

/* ---- rock diskers ----
 *
 * message is an IpcIoMsg. */

/// a block goes to a disker: the message has a number and says which clock to stamp with
template <class Message, class Request>
inline void
BlockTravels(Message &message, Request &request)
{
    if (!Tracing())
        return;
    OperationIsNumbered(message.sqtOperation);
    request.sqtrace.operation = message.sqtOperation.serial;
}

/// The blocks of timed-out operations, by their numbers, until their answers come after all.
typedef std::map<uint32_t, Block> Blocks;
inline Blocks &
TimedOutBlocks()
{
    static Blocks blocks;
    return blocks;
}

/// Of them so many are remembered: a disker has up to 2,048 operations at a time, and one that died answers none.
static const size_t TimedOutMost = 16384;

/// While it lives, the completion that is being delivered is a time-out.
class TimeOut
{
public:
    template <class Pending>
    explicit TimeOut(const Pending &pending) : noticed_(sqt_read_clock(sqt_clock)), operation_()
    {
        if (pending.readRequest)
            remember(pending.readRequest->sqtrace);
        else if (pending.writeRequest)
            remember(pending.writeRequest->sqtrace);
        sqt_io_timed_out();
    }
    ~TimeOut()
    {
        sqt_io_is_over();
        EmitOperationEnd(SQT_EV_DISKOP_END, operation_, noticed_, SQT_IO_FAILED | SQT_IO_TIMED_OUT);
    }
    TimeOut(const TimeOut &) = delete;
    TimeOut &operator=(const TimeOut &) = delete;

private:
    void remember(const Block &block)
    {
        operation_.serial = block.operation;
        if (!block.operation)
            return;
        Blocks &blocks = TimedOutBlocks();
        blocks[block.operation] = block;
        if (blocks.size() > TimedOutMost)
            blocks.erase(blocks.begin());
    }

    const uint64_t noticed_;
    Operation operation_;
};

} // namespace Sqtrace

#endif
