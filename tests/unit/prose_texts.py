# SPDX-License-Identifier: GPL-2.0-or-later
"""prose_texts.py - paragraphs and list items of Markdown, manual pages, HTML, squid.conf's documentation and --help.

Each function takes a text and returns [(line, paragraph), ...] without code, tables, headings and synopses.
"""

import html.parser
import re


class Paragraphs:
    """Collects pieces of text; a break ends the paragraph."""

    def __init__(self):
        self.found, self.pieces, self.line = [], [], 0

    def add(self, line, text):
        if not self.pieces:
            self.line = line
        self.pieces.append(text)

    def end(self):
        text = " ".join(" ".join(self.pieces).split())
        if text:
            self.found.append((self.line, text))
        self.pieces = []


def markdown(text):
    out, fenced = Paragraphs(), False
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        if fenced or bare.startswith(("```", "#", "|", "<!--", "![")) or not bare:
            out.end()
            continue
        if line.startswith("    ") and not out.pieces:
            continue  # an indented block of code
        item = re.match(r"(\s*)([-*+]|\d+\.)\s+(.*)", line)
        if item:
            out.end()
            bare = item.group(3)
        bare = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", bare)
        out.add(number, bare)
    out.end()
    # Code within a sentence is one word.
    return [(line, re.sub(r"`[^`]*`", "code", text).replace("*", "")) for line, text in out.found]


ESCAPES = [(r"\(lq", '"'), (r"\(rq", '"'), (r"\(aq", "'"), (r"\(bu", "-"), (r"\(->", "-"), (r"\e", "\\"), (r"\-", "-"),
           (r"\&", "")]


def untroffed(text):
    text = re.sub(r"\\f(?:\([A-Z]{2}|[A-Z])", "", text)
    for escape, plain in ESCAPES:
        text = text.replace(escape, plain)
    return text


def manual_page(text):
    """Bold and italic words count as they stand.  The tag of a .TP or .IP is a heading."""
    out, skipped, tag, verbatim = Paragraphs(), False, False, False
    for number, line in enumerate(text.split("\n"), 1):
        request = re.match(r"[.']\s*([A-Z]+|[a-z]+|\\\")?(?:\s+(.*))?$", line)
        name, rest = (request.group(1), request.group(2) or "") if request else (None, line)
        if name in ("nf", "EX", "TS"):
            out.end()
            verbatim = True
        elif name in ("fi", "EE", "TE"):
            verbatim = False
        elif verbatim or name == '\\"' or name in ("TH", "ta"):
            pass
        elif name in ("SH", "SS"):
            out.end()
            skipped = rest.strip('"') in ("NAME", "SYNOPSIS", "SEE ALSO")
        elif name in ("PP", "P", "LP", "br", "sp", "IP", "RS", "RE"):
            out.end()
        elif name == "TP":
            out.end()
            tag = True
            continue
        elif skipped or tag or re.fullmatch(r"@[A-Z_]*@", line):
            pass
        elif name in ("B", "I", "SM"):
            out.add(number, untroffed(rest.replace('"', "")))
        elif name in ("BR", "RB", "IR", "RI", "BI", "IB"):
            words = re.findall(r'"([^"]*)"|(\S+)', rest)
            out.add(number, untroffed("".join(quoted or bare for quoted, bare in words)))
        elif name is None:
            out.add(number, untroffed(line))
        tag = False
    out.end()
    return out.found


class Page(html.parser.HTMLParser):
    """Legends, labels and lists of facts are no prose."""

    BREAKS = {"p", "li", "div", "figcaption", "section", "ul", "ol", "figure", "header", "details"}
    SKIPPED = {"head", "script", "style", "svg", "pre", "table", "h1", "h2", "h3", "h4", "nav", "summary", "button", "dl"}
    VOID = {"br", "hr", "img", "input", "link", "meta", "source"}

    def __init__(self):
        super().__init__()
        self.out, self.open = Paragraphs(), []  # open: (tag, whether its text is skipped)

    def handle_starttag(self, tag, attrs):
        if tag in self.VOID:
            return
        if tag in self.SKIPPED or tag in self.BREAKS:
            self.out.end()
        classes = (dict(attrs).get("class") or "").split()
        skipped = tag in self.SKIPPED or "legend" in classes or "label" in classes
        self.open.append((tag, skipped or bool(self.open and self.open[-1][1])))

    def handle_endtag(self, tag):
        while self.open and any(tag == name for name, _ in self.open):
            if self.open.pop()[0] == tag:
                break
        if tag in self.SKIPPED or tag in self.BREAKS:
            self.out.end()

    def handle_data(self, data):
        if not (self.open and self.open[-1][1]):
            self.out.add(self.getpos()[0], data.replace("\u00a0", " "))


def page(text):
    parser = Page()
    parser.feed(text)
    parser.out.end()
    return parser.out.found


def squid_conf(text):
    """What a patch adds between DOC_START and DOC_END of cf.data.pre."""
    out, inside, verbatim = Paragraphs(), False, False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("+"):
            continue
        line = line[1:]
        if line in ("DOC_START", "DOC_END"):
            inside = line == "DOC_START"
            verbatim = False
        elif inside and not line.strip():
            out.end()
            verbatim = False
        elif inside and not verbatim:
            option = re.match(r"\t    \S+\t+(.*)", line)
            if option:
                out.end()
            verbatim = line.startswith("\tFormat:") or line.startswith("\tExample:")
            if not verbatim:
                out.add(number, option.group(1) if option else line.strip())
    out.end()
    return out.found


def help_text(text):
    """What --help prints: an option or name with two spaces before its text is an item."""
    out, usage, names = Paragraphs(), False, False
    for number, line in enumerate(text.split("\n"), 1):
        usage = line.startswith("usage:") or usage and line.startswith("       ")
        item = re.match(r" {2,}(?:\S+(?: \S+)*? {2,}(\S.*)|(-\S+)$)", line)
        names = bool(line.strip()) and (names or bool(re.match("(tables|figures|presets):", line)))  # a list, no sentence
        if usage or names or not line.strip() or re.match(r"[\w ]+:( \S+){20}|\S*:$", line):
            out.end()
        elif item and not line.startswith(" " * 12):
            out.end()
            if item.group(1):
                out.add(number, item.group(1))
        else:
            out.add(number, line.strip())
    out.end()
    return out.found


def sentences(paragraphs):
    """[(line, sentence, words)], without those under 5 words.  The line is that of the paragraph."""
    found = []
    for line, text in paragraphs:
        for sentence in re.split(r"(?<=[.?!])[)\"'\u201d]*\s+", text):
            words = [w for w in sentence.split() if re.search(r"\w", w)]
            if len(words) >= 5:
                found.append((line, sentence, len(words)))
    return found
