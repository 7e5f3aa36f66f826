# SPDX-License-Identifier: GPL-2.0-or-later
"""ring_model.py - the ring's life as steps, for ring_orders.py.

Writer, flusher, take-over and reader are lists of steps.  A step is one access to what they share: the ring, which
outlives its process, and the directory.  Each step names the lines of the code that it stands for.

A record has two words, so that a torn one shows: both hold (serial, index in its unit, records of the unit,
definition it needs), or ("LOST", how many).
"""

import itertools


class Broken(Exception):
    """A promise is broken; the text says which."""


def promise(holds, what):
    if not holds:
        raise Broken(what)


class Step:
    """do(state) may return the name of the step to go on with; False: it has to wait; a list of states: any of them
    may come of it.  The step is passed over unless `when`.  One that is `private` touches nothing shared and comes
    with the step before it.  places: (file, function, text in it)."""

    def __init__(self, name, places, do, when=None, private=False):
        self.name, self.places, self.do, self.when, self.private = name, places, do, when, private


class State:
    """What is shared, then what is private to each.  All values are immutable."""

    def __init__(self, scenario):
        self.scenario = scenario
        # The ring's file.
        self.slots = ((None, None),) * scenario.capacity
        self.magic = self.header = not scenario.whole
        self.head = self.tail = self.lost = self.episodes = self.sequence = 0
        self.loss = ((0, 0), (0, 0))  # (at, base)
        self.text, self.text_used = (), 0
        self.closed = False
        # The directory: files are tuples of frames; names are (sequence, file).
        self.pointer = self.ring = not scenario.whole
        self.files, self.torn, self.names = (), (), ()
        self.alive, self.kills, self.failures = True, scenario.kills, scenario.failures
        self.pc = (0,) * len(scenario.programs)
        # Records that were offered, and those among them whose emission returned.
        self.offered = self.returned = 0
        # struct sqt_nap
        self.asleep = self.signal = False  # whoever has work sees the first; the second ends the flusher's sleep
        # struct sqt_emitter
        self.e_head = self.losing = 0
        self.limit = 0 if scenario.whole else quarter(scenario)
        self.e_wakes = False
        self.room, self.looks = True, False
        # struct sqt_flusher
        self.f_head = self.f_next = self.f_text = self.f_first = self.f_count = self.f_number = 0
        self.f_file, self.f_records, self.f_done = None, (), False
        self.f_opening = self.f_sleeps = False
        # sqt_salvage()
        self.t_first = self.t_sequence = 0
        self.t_draft = None
        # struct sqt_origin_reader
        self.r_live = False
        self.r_head = self.r_next = self.r_tail = self.r_part = self.r_at = self.r_began = self.r_lost = 0
        self.r_account, self.r_parts, self.r_copy, self.r_text, self.r_records = (), (), (), (), ()
        self.r_used, self.r_readings, self.r_kind, self.r_seen = 0, (), None, ()
        self.r_first = 0  # of a flight recorder: what was overwritten comes before this number

    def clone(self):
        other = State.__new__(State)
        other.__dict__.update(self.__dict__)
        return other

    def key(self):
        return tuple(self.__dict__.values())


def quarter(scenario):
    return scenario.capacity // 4 or 1


def setting(**values):
    return lambda s: s.__dict__.update(values)


# ---- what is promised ----

def account(episodes, loss, head, lost):
    """sqt_ring_totals(): (head, lost, LOST records, lost that no record tells of)."""
    at, base = loss[episodes & 1]
    open_now = episodes and at == head
    return head, lost, episodes - 1 if open_now else episodes, lost - base if open_now and lost > base else 0


def check(s, records, totals, least):
    """The records from number 0 on are whole and in order, units together, and nothing is missing in the account."""
    head, lost, marks, still_open = totals
    told, expected = 0, 0
    promise(len(records) == head, "lost")
    for index, (a, b) in enumerate(records):
        promise(a == b and a is not None, "torn")
        if a[0] == "LOST":
            told += a[1]
            continue
        promise(a[1] == expected, "split unit")
        expected = (a[1] + 1) % a[2]
        promise(a[0] <= index - marks_before(records, index) + told, "lost")
        promise(a[0] >= index - marks_before(records, index) + told, "doubled")
    promise(expected == 0, "split unit")
    promise(marks_before(records, head) == marks and told + still_open == lost, "wrong account")
    emitted = head - marks + lost
    promise(least <= emitted <= s.offered and emitted in s.scenario.bounds, "wrong account")


def check_kept(s, first, records, head, least):
    """The same of a flight recorder: the records from number `first` on."""
    promise(len(records) == head - first, "lost")
    expected = 0
    for index, (a, b) in enumerate(records):
        promise(a == b and a is not None, "torn")
        promise(a[1] == expected, "split unit")
        promise(a[0] == first + index, "wrong record")
        expected = (a[1] + 1) % a[2]
    promise(expected == 0, "split unit")
    promise(not records or head - first >= min(head, s.scenario.capacity - max(s.scenario.sizes) - 2 * PIECE), "too few")
    promise(least <= head <= s.offered and head in s.scenario.bounds, "wrong account")


def marks_before(records, index):
    return sum(1 for a, _ in records[:index] if a[0] == "LOST")


def check_directory(s):
    """What is there when nobody writes any more."""
    promise(not s.ring and not s.pointer, "left behind")
    records, totals, first = (), None, None
    for _, file in s.names:
        promise(not s.torn[file], "torn file")
        defined = ()
        for frame in s.files[file]:
            if frame[0] == "TEXT":
                defined += frame[1]
            elif frame[0] == "END":
                totals = frame[1]
            else:
                if first is None:
                    first = frame[1] if s.scenario.recorder else 0
                promise(frame[1] - first >= len(records), "doubled")
                promise(frame[1] - first <= len(records), "lost")
                for a, _ in frame[2]:
                    promise(a is None or a[0] == "LOST" or not a[3] or a[3] in defined, "undefined")
                records += frame[2]
    if totals and s.scenario.recorder:
        check_kept(s, first or 0, records, totals[0], s.returned)
    elif totals:
        check(s, records, totals, s.returned)
    else:
        promise(not s.returned, "lost")  # it died before its first record


# ---- the writer ----

PIECE = 1  # of a flight recorder: what is freed beyond what is needed

RING, DEFINE, EMIT = ("src/trace/ring/%s.c" % name for name in ("ring", "define", "emit"))
LIFE, TRACE = ("src/trace/life/%s.c" % name for name in ("life", "trace"))


def attach(s):
    s.limit = quarter(s.scenario)


# ---- who wakes the flusher ----

NAP = "src/trace/clock/nap.c"


def wakes(caller, when, *places):
    """The steps of one that wakes the flusher, for the scenarios in which it sleeps.  caller: where it begins."""
    def sees(s):
        return s.scenario.naps and when(s)

    def call_off(s):
        s.asleep, s.e_wakes = False, s.asleep

    def send(s):
        s.signal, s.e_wakes = True, False

    return [
        Step("see sleeper", [caller, *places[:2]], lambda s: setting(e_wakes=s.asleep)(s), sees),
        Step("call off", [*places[2:3]], call_off, lambda s: s.e_wakes),
        Step("signal", [*places[3:]], send, lambda s: s.e_wakes),
    ]


BEGINNING = [
    Step("pointer", [(RING, "sqt_ring_create", "create_pointer(")], setting(pointer=True)),
    Step("ring", [(RING, "sqt_ring_create", "create_file(")], setting(ring=True)),
    Step("header", [(LIFE, "life_begin", "sqt_define_begin(")], setting(header=True)),
    Step("magic", [(LIFE, "life_begin", "sqt_ring_finish(")], setting(magic=True)),
    Step("attach", [(LIFE, "life_begin", "sqt_emitter_attach(")], attach, private=True),
]


def flusher_ended(s):
    return None if s.f_done else False


def leave(s):
    s.alive = False
    check_directory(s)


ENDING = [
    Step("closed", [(LIFE, "sqt_stop", "->writer.closed, 1")], setting(closed=True)),
    *wakes(("src/trace/flush/flusher.c", "sqt_flusher_ask_to_end", "sqt_nap_order("), lambda s: True),
    Step("wait", [(LIFE, "sqt_stop", "finish_or_leave("), (TRACE, "run", "sqt_flusher_run(")], flusher_ended),
    Step("remove ring", [(TRACE, "run", "sqt_apart_call(trace_remove_ring"), (TRACE, "trace_remove_ring", "sqt_ring_remove("),
                         (RING, "sqt_ring_remove", "unlinkat(ring->ringdir")], setting(ring=False)),
    Step("remove pointer", [(RING, "sqt_ring_remove", "unlinkat(directory")], setting(pointer=False)),
    Step("leave", [(TRACE, "run", "sqt_apart_call(close_directory")], leave),
]


def put(s, number, word, value):
    i = number % len(s.slots)
    slot = (value, s.slots[i][1]) if word == 0 else (s.slots[i][0], value)
    s.slots = s.slots[:i] + (slot,) + s.slots[i + 1:]


def emission(serial, n, definition):
    """The steps of one unit of n records."""
    def define(s):
        s.text += (definition,)

    def begin(s):
        s.offered = serial + n
        s.room = s.e_head + n <= s.limit
        s.looks = False

    def overwrite(s):
        if s.e_head + n > s.tail + len(s.slots):
            at = s.e_head + n + PIECE - len(s.slots)
            while at < s.e_head and is_part(s.slots[at % len(s.slots)]):
                at += 1
            s.tail = at

    def overwrites(s):
        return s.scenario.recorder and not s.room

    def look_for_room(s):
        if s.scenario.recorder:
            s.room, s.limit = True, min(s.e_head + n + quarter(s.scenario), s.tail + len(s.slots))
            return
        limit = s.tail + len(s.slots)
        # What the flusher saw, and what came until the next look: a quarter each, and a unit with its LOST record.
        most = 2 * quarter(s.scenario) + max(s.scenario.sizes)
        promise(not s.f_sleeps or s.signal or s.e_head - s.tail <= most, "asleep")
        s.room = s.e_head + s.losing + n <= limit
        s.looks = True
        if s.room:
            s.limit = min(s.e_head + s.losing + n + quarter(s.scenario), limit)

    def set_loss(s, index, value):
        i = (s.episodes + 1) & 1
        loss = s.loss[i][:index] + (value,) + s.loss[i][index + 1:]
        s.loss = (loss, s.loss[1]) if i == 0 else (s.loss[0], loss)

    def begin_stretch(s):
        s.episodes += 1

    def count_lost(s):
        s.lost += n

    def put_lost(word):
        return lambda s: put(s, s.e_head, word, ("LOST", s.lost - s.loss[s.episodes & 1][1]))

    def put_record(i, word):
        return lambda s: put(s, s.e_head + s.losing + i, word, (serial + i, i, n, definition))

    def publish(s):
        s.head = s.e_head + s.losing + n

    def finish(s):
        if s.room:
            s.e_head, s.losing = s.e_head + s.losing + n, 0
        else:
            s.losing, s.limit = 1, 0
        s.returned = serial + n

    def full(s):
        return not s.room

    def first_lost(s):
        return not s.room and not s.losing

    def after_loss(s):
        return s.room and s.losing

    def fits(s):
        return s.room

    steps = []
    if definition:
        steps += [Step("define", [(DEFINE, "define_append", "memcpy(to, prefix")], define),
                  Step("text used", [(DEFINE, "define_append", "&ring->writer.text_used, ")], setting(text_used=1))]
    steps += [
        Step("begin", [(EMIT, "put", "head + n > e->limit"), (EMIT, "emit_one", "r >= SHARED(e->quick)")], begin,
             private=True),
        Step("overwrite", [(EMIT, "look_at_tail", "emit_overwrite("), (EMIT, "emit_overwrite", "__atomic_store_n(tail, at"),
                           (EMIT, "emit_overwrite", "__atomic_thread_fence(__ATOMIC_RELEASE)")], overwrite, overwrites),
        Step("look for room", [(EMIT, "look_for_room", "look_at_tail(")], look_for_room,
             full),
        *wakes((EMIT, "look_for_room", "sqt_nap_work("), lambda s: s.looks,
               (NAP, "nap_wake", "__atomic_thread_fence(__ATOMIC_SEQ_CST"), (NAP, "nap_wake", "__atomic_load_n(&nap->state"),
               (NAP, "nap_wake", "__atomic_compare_exchange_n("), (NAP, "nap_wake", "nap_signal(")),
        Step("loss at", [(EMIT, "emit_drop", "&loss->at")], lambda s: set_loss(s, 0, s.e_head), first_lost),
        Step("loss base", [(EMIT, "emit_drop", "&loss->base")], lambda s: set_loss(s, 1, s.lost), first_lost),
        Step("stretch", [(EMIT, "emit_drop", "&w->episodes, episodes, __ATOMIC_RELEASE")], begin_stretch, first_lost),
        Step("lost", [(EMIT, "emit_drop", "&w->lost, w->lost + n, __ATOMIC_RELEASE")], count_lost, full),
        Step("LOST, word 0", [(EMIT, "look_for_room", "put_lost("), (EMIT, "put_lost", "fill(")], put_lost(0),
             after_loss),
        Step("LOST, word 1", [(EMIT, "put_lost", "fill(")], put_lost(1), after_loss),
    ]
    for i in range(n):
        steps += [
            Step("word 0 of %d" % i, [(EMIT, "put", "fill("), (EMIT, "emit_one", "fill(")],
                 put_record(i, 0), fits),
            Step("word 1 of %d" % i, [(EMIT, "put", "fill("), (EMIT, "emit_one", "fill(")],
                 put_record(i, 1), fits),
        ]
    return steps + [
        Step("publish", [(EMIT, "put", "publish("), (EMIT, "emit_one", "publish_quickly("),
                         (EMIT, "publish", "&e->ring->writer.head, head, __ATOMIC_RELEASE")], publish, fits),
        Step("finish", [(EMIT, "put", "loss_is_told(")], finish, private=True),
    ]


def writer(units):
    """units: (records, definition or None) of each."""
    steps, serial = [], 0
    for n, definition in units:
        steps += emission(serial, n, definition)
        serial += n
    return steps


# ---- the flusher ----

FLUSHER, SEGMENT = "src/trace/flush/flusher.c", "src/trace/segment/segment.c"


def new_file(s):
    s.files, s.torn = s.files + ((),), s.torn + (False,)
    return len(s.files) - 1


def add_frame(s, file, frame):
    s.files = s.files[:file] + (s.files[file] + (frame,),) + s.files[file + 1:]


def set_torn(s, file, torn):
    s.torn = s.torn[:file] + (torn,) + s.torn[file + 1:]


def load_head(s):
    if s.scenario.recorder or s.f_done or (s.head == s.tail and not s.closed and not s.scenario.naps):
        return False
    s.f_head = s.head
    if s.scenario.naps and s.f_head - s.tail < quarter(s.scenario) and not s.closed:
        return "lie down"
    return None


def next_block(s):
    s.f_opening, s.f_number = s.f_file is None, s.f_next


def opening(s):
    return s.f_opening


def store_sequence(s):
    s.sequence = s.f_number


def waiting(s):
    return s.tail != s.f_head


def create(s):
    s.f_file, s.f_text = new_file(s), 0
    s.names += ((s.f_number, s.f_file),)
    s.f_next += 1


def write_text(s):
    if s.text_used > s.f_text:
        add_frame(s, s.f_file, ("TEXT", s.text[s.f_text:s.text_used]))
        s.f_text = s.text_used


def block_count(s, first, head):
    """sqt_block_count(): a block does not end within a unit."""
    count = min(s.scenario.block, head - first)
    while 1 < count < head - first and is_part(s.slots[(first + count) % len(s.slots)]):
        count -= 1
    return count


def is_part(slot):
    return slot[1] is not None and slot[1][0] != "LOST" and slot[1][1] > 0


def records_at(s, first, count):
    return tuple(s.slots[number % len(s.slots)] for number in range(first, first + count))


def count_block(s):
    s.f_first, s.f_count = s.tail, block_count(s, s.tail, s.f_head)


def pack(s):
    s.f_records = records_at(s, s.f_first, s.f_count)


def write_rest(s):
    """The frame is whole now.  Or the disk is full: it is cut off, and tried again."""
    outcomes = [s]
    if s.failures:
        full = s.clone()
        full.failures -= 1
        full.f_records = ()
        if s.scenario.cut:
            set_torn(full, full.f_file, False)
        outcomes.append((full, "look"))
    add_frame(s, s.f_file, ("BLOCK", s.f_first, s.f_records))
    if s.scenario.cut:
        set_torn(s, s.f_file, False)
    return outcomes


def store_tail(s):
    s.tail += s.f_count
    s.f_records = ()


def close(s):
    blocks = sum(1 for frame in s.files[s.f_file] if frame[0] == "BLOCK")
    if blocks == s.scenario.segment or s.closed:
        add_frame(s, s.f_file, ("END", account(s.episodes, s.loss, s.head, s.lost)))
        s.f_file, s.f_done = None, s.closed and s.tail == s.head
    return "next" if s.tail != s.f_head else "look"


def look_again(s):
    """The last look before the sleep.  Whoever stores work later sees that it lay down."""
    if s.closed or s.head - s.tail >= quarter(s.scenario):
        return "get up"
    s.f_sleeps = True
    return None


def sleep(s):
    """Until a signal comes: here the clock does not end it."""
    if not s.signal:
        return False
    s.signal = s.f_sleeps = False
    return None


def get_up(s):
    s.asleep = False
    return "look"


FLUSHING = [
    Step("look", [], lambda s: None, private=True),
    Step("head", [(FLUSHER, "flusher_look", "&f->ring->writer.head, __ATOMIC_ACQUIRE")], load_head),
    Step("next", [], next_block, private=True),
    Step("sequence", [(FLUSHER, "open_segment", "&f->ring->flusher.sequence, ")], store_sequence, opening),
    Step("create", [(FLUSHER, "open_segment", "sqt_segment_open(")], create, opening),
    Step("count", [(FLUSHER, "write_block", "sqt_block_count(")], count_block, waiting, private=True),
    Step("text", [(FLUSHER, "write_block", "sqt_segment_text(")], write_text),
    Step("pack", [(SEGMENT, "sqt_segment_records", "sqt_pack(")], pack, waiting),
    Step("half", [(SEGMENT, "sqt_segment_records", "append_frame(")], lambda s: set_torn(s, s.f_file, True), waiting),
    Step("rest", [(SEGMENT, "append_now", "sqt_write_all(")], write_rest, waiting),
    Step("tail", [(FLUSHER, "write_block", "&ring->flusher.tail, tail + count, __ATOMIC_RELEASE")], store_tail,
         waiting),
    Step("close", [(FLUSHER, "write_block", "close_segment(")], close),
    # from "head", if there is nothing to write
    Step("lie down", [(FLUSHER, "flusher_sleep", "sqt_nap_lie_down("), (NAP, "sqt_nap_lie_down", "__atomic_store_n(&nap->state, state"),
                      (NAP, "sqt_nap_lie_down", "__atomic_thread_fence(__ATOMIC_SEQ_CST")], setting(asleep=True)),
    Step("look again", [(FLUSHER, "flusher_sleep", "has_order(f) || has_work(f)"), (FLUSHER, "has_work", "->writer.head")], look_again),
    Step("sleep", [(FLUSHER, "flusher_sleep", "sqt_nap_sleep("), (NAP, "sqt_nap_sleep", "sigtimedwait(")], sleep),
    Step("get up", [(NAP, "sqt_nap_sleep", "sqt_nap_get_up(")], get_up),
]


# ---- the take-over at the next start; it may be killed as well ----

LEFTOVER, SALVAGE = "src/trace/leftover/leftover.c", "src/trace/leftover/salvage.c"


def judge(s):
    if s.alive:
        return False
    if not s.pointer:
        return "check"
    if not s.ring:
        return "unlink pointer"
    if not s.magic:
        return "unlink ring"
    promise(s.header, "header not there")
    return None


def last_segment(s):
    end, s.t_sequence = 0, s.sequence
    for sequence, file in s.names:
        if sequence != s.sequence:
            continue
        if s.scenario.cut:
            set_torn(s, file, False)
        for frame in s.files[file]:
            if frame[0] == "BLOCK":
                end = frame[1] + len(frame[2])
        if s.files[file]:
            s.t_sequence += 1
        else:
            s.names = tuple(name for name in s.names if name[1] != file)
    s.t_first = min(max(s.tail, end), s.head)


def draft(s):
    s.t_draft = new_file(s)
    add_frame(s, s.t_draft, ("TEXT", s.text[:s.text_used]))


def rest_of_ring(s):
    first = s.t_first
    while first < s.head:
        count = block_count(s, first, s.head)
        add_frame(s, s.t_draft, ("BLOCK", first, records_at(s, first, count)))
        first += count


def rename(s):
    s.names = tuple(sorted([name for name in s.names if name[0] != s.t_sequence] + [(s.t_sequence, s.t_draft)]))


def any_head(s):
    return s.head > 0


TAKING_OVER = [
    Step("judge", [(LEFTOVER, "judge_pointer", "judge_ring("), (LEFTOVER, "judge_ring", "sqt_dead_ring_read(")], judge),
    Step("last segment", [(SALVAGE, "sqt_salvage", "read_last_segment(")], last_segment),
    Step("draft", [(SALVAGE, "write_rest", "sqt_segment_open(")], draft, any_head),
    Step("rest of ring", [(SALVAGE, "write_rest", "sqt_salvage_blocks(")], rest_of_ring, any_head),
    Step("last frame", [(SALVAGE, "write_rest", "sqt_segment_end(")], lambda s: add_frame(
        s, s.t_draft, ("END", account(s.episodes, s.loss, s.head, s.lost))), any_head),
    Step("rename", [(SALVAGE, "sqt_salvage", "renameat("), (LEFTOVER, "adopt", "sqt_salvage("), (LEFTOVER, "judge_ring", "adopt(")], rename, any_head),
    Step("unlink ring", [(LEFTOVER, "judge_ring", "leftover_remove_ring(")], setting(ring=False)),
    Step("unlink pointer", [(LEFTOVER, "judge_pointer", "unlinkat(")], setting(pointer=False)),
    Step("check", [], check_directory),
    Step("done", [], lambda s: False),
]


# ---- the reader ----

SOURCES, ORIGINS, ORIGIN = "src/read/join/sources.c", "src/read/join/origins.c", "src/read/join/origin.c"
READ_RING, WORDS = "src/read/file/ring.c", "src/read/file/words.c"


# pread() copies words in any order, and a word that is stored meanwhile in two halves.  So what it copied is not known before
# it ends: each word, or half of one, may be of any moment since it began.  `r_seen` has these moments.  One pread() ends
# and the next one begins in the same step; whatever lies between, they might do.

HALF, CARRY = 8, 2  # what the lower half of a word counts; from this number on the upper half is another
WORDS_OF = {  # words that are of use, of which pread() of the header
    "two": ("episodes", "loss", "head", "lost", "tail", "text_used"),
    0: ("episodes", "tail"), 1: ("tail", "head", "text_used"), 2: ("tail", "head", "lost", "loss", "episodes"),
    3: ("head", "lost", "tail", "text_used"), 4: ("episodes", "lost", "tail")}


def watch(s):
    """After each step of anybody: what a pread() that is under way may see from now on."""
    if s.r_kind:
        kind = s.r_kind[0]
        now = s.slots if kind == "records" else (s.tail,) if kind == "tail" else tuple(getattr(s, word) for word in WORDS_OF[kind])
        if not s.r_seen or s.r_seen[-1] != now:
            s.r_seen += (now,)


def begin_reading(s, kind):
    s.r_kind, s.r_seen = None if kind is None else (kind,), ()


def values(moments):
    return sorted(set(moments))


def halves(moments):
    """(upper halves, whole words with halves of any two moments)"""
    shifted = [moment + HALF - CARRY for moment in moments]
    upper, lower = values(v // HALF for v in shifted), values(v % HALF for v in shifted)
    return upper, [u * HALF + low - HALF + CARRY for u in upper for low in lower]


class Reading:
    """What one pread() of the header may have copied: lists of values of each word."""

    def __init__(self, s):
        seen = dict(zip(WORDS_OF[s.r_kind[0]], zip(*s.r_seen)))
        self.episodes, self.text = values(seen.get("episodes", ())), values(seen.get("text_used", ()))
        self.loss = [values(slot[word] for slot in slots) for slots in zip(*seen.get("loss", ())) for word in (0, 1)]
        (self.head_upper, self.head), (self.lost_upper, self.lost), (self.tail_upper, self.tail) = (
            halves(seen.get(word, ())) for word in ("head", "lost", "tail"))


def outcomes(s, kind, *choices):
    """A state for each choice of values, which are added to what was read; then the next pread() begins."""
    found = []
    for chosen in itertools.product(*choices):
        new = s.clone()
        new.r_readings += (chosen,)
        begin_reading(new, kind)
        found.append(new)
    return found


def find_ring(s):
    s.r_began = s.returned
    s.r_live = s.pointer and s.ring and s.magic
    promise(s.header or not s.r_live, "header not there")
    if s.r_live:
        begin_reading(s, s.scenario.first)


def is_live(s):
    return s.r_live


def believe(s, episodes, loss, head, lost, tail, tail_now, text):
    promise(tail <= head <= tail_now + len(s.slots), "impossible ring")
    s.r_head, s.r_used = head, text
    s.r_account = account(episodes, (loss[0:2], loss[2:4]), head, lost)
    s.r_readings = ()
    begin_reading(s, None)
    return [s]


# Two readings that are equal.

def first_reading(s):
    r = Reading(s)
    return outcomes(s, "two", r.episodes, *r.loss, r.head, r.lost, r.tail, r.text)


def second_reading(s):
    r, (first,) = Reading(s), s.r_readings
    if s.scenario.trust != "a second reading" and not all(a in b for a, b in zip(first, (r.episodes, *r.loss, r.head, r.lost, r.tail, r.text))):
        return []
    episodes, at0, base0, at1, base1, head, lost, tail, text = first
    return believe(s, episodes, (at0, base0, at1, base1), head, lost, tail, tail, text)


# Five readings, none of which needs to be equal to another.

def reading_0(s):
    r = Reading(s)
    return outcomes(s, 1, r.episodes, r.tail_upper)


def reading_1(s):
    r = Reading(s)
    return outcomes(s, 2, r.tail, r.head_upper, r.text)


def reading_2(s):
    r, (first, _) = Reading(s), s.r_readings
    if first[1] not in r.tail_upper:
        return []
    return outcomes(s, 3, [first[1]], r.head, r.lost_upper, *r.loss, r.lost)


def reading_3(s):
    r, (_, second, _) = Reading(s), s.r_readings
    if s.scenario.trust == "the head's halves":
        return outcomes(s, 4, r.lost, r.tail, r.text)
    return outcomes(s, 4, r.lost, r.tail, r.text) if second[1] in r.head_upper else []


def reading_4(s):
    r, (first, second, third, fourth) = Reading(s), s.r_readings
    if third[2] not in r.lost_upper or third[0] not in r.tail_upper:
        return []
    if first[0] not in r.episodes and s.scenario.trust != "the episodes":
        return []
    lost = third[7] if s.scenario.trust == "a later reading of the lost" else fourth[0]
    text = second[2] if s.scenario.trust == "a later reading of the text" else fourth[2]
    return believe(s, first[0], third[3:7], third[1], lost, second[0], fourth[1], text)


def list_segments(s):
    """Segments after the ring: those that are not known yet."""
    s.r_parts += tuple(file for _, file in s.names if file not in s.r_parts)


def take(s, first, records):
    """What is new among them."""
    promise(first <= s.r_next, "lost")
    new = tuple(records[s.r_next - first:])
    for a, b in new:
        promise(a == b and a is not None, "torn")
        promise(a[0] == "LOST" or not a[3] or a[3] in s.r_text, "undefined")
    s.r_records += new
    s.r_next += len(new)


def read_frame(s):
    if s.r_live and s.r_next >= s.r_head:
        return "finish"
    if s.r_part == len(s.r_parts):
        return "copy from"
    frames = s.files[s.r_parts[s.r_part]]
    if s.r_at == len(frames):
        if s.r_part + 1 == len(s.r_parts):
            return "copy from" if s.r_live else "finish"
        s.r_part, s.r_at = s.r_part + 1, 0
        return "frame"
    kind, frame = frames[s.r_at][0], frames[s.r_at]
    s.r_at += 1
    if kind == "TEXT":
        s.r_text += frame[1]
    elif kind == "BLOCK":
        take(s, frame[1], frame[2][:s.r_head - frame[1]] if s.r_live else frame[2])
    elif not s.r_live:
        s.r_account, s.r_head = frame[1], frame[1][0]
    return "frame"


def load_ring_tail(s):
    if not s.r_live:
        return "finish"
    s.r_copy = ()
    if s.tail > s.r_next:
        return "behind"
    begin_reading(s, "records")
    return None


def copy_records(s):
    """Of each word of the records all values that were there meanwhile."""
    for number in range(s.r_next, s.r_head):
        words = zip(*(slots[number % len(slots)] for slots in s.r_seen))
        s.r_copy += (tuple(tuple(dict.fromkeys(word)) for word in words),)
    begin_reading(s, "tail")


def load_ring_tail_again(s):
    return outcomes(s, "tail", halves([tail for tail, in s.r_seen])[1])


def agree_on_tail(s):
    ((tail,),) = s.r_readings
    if s.scenario.trust == "the tail":
        tail = 0
    elif s.scenario.trust != "a second reading of the tail" and tail not in halves([now for now, in s.r_seen])[1]:
        return []
    s.r_readings = ()
    begin_reading(s, None)
    return [(s, "behind")] if tail > s.r_next else [s]


def load_ring_text(s):
    s.r_text += s.text[:s.r_used]


def take_copy(s):
    promise(all(len(a) == len(b) == 1 for a, b in s.r_copy), "torn")
    take(s, s.r_next, tuple((a[0], b[0]) for a, b in s.r_copy))
    return "finish"


def behind(s):
    """The flusher moved on: what is wanted is in a file now, in this one or in one that is new.  Of a flight recorder it
    is nowhere: the reader goes on at the tail."""
    s.r_copy = ()
    if s.scenario.recorder:
        s.r_first, s.r_records, s.r_next = s.tail, (), s.tail
        return "frame"
    known = s.r_part < len(s.r_parts) and s.r_at < len(s.files[s.r_parts[s.r_part]])
    if not known:
        before = s.r_parts
        list_segments(s)
        promise(s.r_parts != before, "lost")
    return "frame"


def check_read(s):
    """What was read of a living flight recorder is whole, in order, and reaches to the head."""
    expected = 0
    promise(len(s.r_records) == s.r_account[0] - s.r_first, "lost")
    for index, (a, b) in enumerate(s.r_records):
        promise(a == b and a is not None, "torn")
        promise(a[1] == expected, "split unit")
        promise(a[0] == s.r_first + index, "wrong record")
        expected = (a[1] + 1) % a[2]
    promise(expected == 0, "split unit")
    promise(s.r_began <= s.r_account[0] <= s.offered, "wrong account")


def finish_reading(s):
    """One that found neither ring nor records came too early."""
    if s.r_live or s.r_began:
        promise(s.r_account, "lost")
        if s.scenario.recorder and s.r_live:
            # the reader may have been overtaken beyond the head that it reads up to
            if s.r_first <= s.r_account[0]:
                check_read(s)
            return
        if s.scenario.recorder:
            return  # killed: what the take-over made is checked there
        check(s, s.r_records, s.r_account, s.r_began)


def reading(*readings):
    """The reader, which reads the words of the header in one of two ways."""
    return [
        Step("find ring", [(ORIGINS, "sqt_sources_add_ring", "sqt_ring_open(")], find_ring),
        *readings,
        Step("list", [(SOURCES, "add_directory", '".sqt"')], list_segments),
        Step("frame", [(ORIGIN, "origin_fill", "read_segments(")], read_frame),
        Step("copy from", [(READ_RING, "sqt_ring_copy", "ring_tail(ring, tail)")], load_ring_tail),
        Step("copy", [(READ_RING, "sqt_ring_copy", "sqt_words_read(ring->fd, records")], copy_records),
        Step("tail again", [(READ_RING, "sqt_ring_copy", "ring_tail(ring, tail)"),
                            (WORDS, "sqt_words_agree", "sqt_words_read(fd, to")], load_ring_tail_again),
        Step("tail agreed", [(WORDS, "sqt_words_agree", "sqt_words_read(fd, again"),
                             (WORDS, "sqt_words_agree", "memcmp(to, again")], agree_on_tail),
        Step("load text", [(ORIGIN, "origin_take_ring", "sqt_ring_text(")], load_ring_text),
        Step("take", [(ORIGIN, "origin_take_ring", "origin_take(o,")], take_copy),
        Step("behind", [(ORIGIN, "origin_fill", "sqt_sources_rescan("), (ORIGIN, "origin_fill", "read_ring_after_gap(")], behind),
        Step("finish", [], finish_reading),
        Step("end", [], lambda s: False),
    ]


EQUAL = [
    Step("first reading", [(WORDS, "sqt_words_take", "words_read_once(")], first_reading, is_live),
    Step("second reading", [(WORDS, "sqt_words_take", "words_are_equal(")], second_reading, is_live),
]
BRACKETED = [
    Step("reading 0", [(WORDS, "words_are_bracketed", "r[0].writer.episodes == r[4]")], reading_0, is_live),
    Step("reading 1", [(WORDS, "words_are_bracketed", "r[1].writer.head")], reading_1, is_live),
    Step("reading 2", [(WORDS, "words_are_bracketed", "r[2].writer.lost"), (WORDS, "words_take_bracketed", "= r[2].writer;")],
         reading_2, is_live),
    Step("reading 3", [(WORDS, "words_take_bracketed", "lost = r[3].writer.lost"), (WORDS, "words_take_bracketed", "->tail = r[1]"),
                       (WORDS, "words_take_bracketed", "->tail_now = r[3]"), (WORDS, "words_take_bracketed", "->text_used = r[3]")], reading_3, is_live),
    Step("reading 4", [(WORDS, "sqt_words_take", "words_are_bracketed(")], reading_4, is_live),
]
READING, READING_BRACKETED = reading(*EQUAL), reading(*BRACKETED)


def check_account(s):
    """What was emitted when the words were read, without the records."""
    if s.r_live:
        head, lost, marks, still_open = s.r_account
        promise(s.r_began <= head - marks + lost <= s.offered and 0 <= still_open <= lost, "wrong account")
    return "end"


# The same without the records, for worlds that would be too large.
READING_ACCOUNT = [READING_BRACKETED[0], *BRACKETED, Step("account", [], check_account), Step("end", [], lambda s: False)]
