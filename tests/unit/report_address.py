#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The address of a report in Chromium: Back, Forward, reload, a copied address, the search, and addresses that nobody made."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import report_browser  # noqa: E402
from browser import Browser, Failure  # noqa: E402
from report_browser import becomes, check, differs, report  # noqa: E402
from report_requests import COUNT, OPEN, SAMPLE, Requests, quiet, table  # noqa: E402

HASH = "decodeURIComponent(location.hash)"
CLASS = "document.querySelector('.filters [name=class]').value"
COMMAND = "document.querySelector('#list details code').textContent"
LABEL = """[...document.querySelectorAll('#list :is(input, select)')].filter(e => !e.labels.length).map(e => e.name)"""


def count_is(page, wanted, name):
    """The list has that many requests, soon."""
    got = becomes(page, "(() => { const n = %s.replaceAll(',', '').match(/\\d+/); return n ? Number(n[0]) : 0; })()" % COUNT, wanted)
    check(differs(got, wanted), name)


def loaded(page):
    page.wait_for("document.readyState == 'complete' && document.querySelector('tr.request') != null", 10)


def history(page, rows):
    misses = sum(row["class"] == "miss" for row in rows)
    late = sum(row["class"] == "miss" and int(row["total_ns"]) >= 20e6 for row in rows)
    page.choose("class", "miss")
    page.choose("min", "20 ms")
    check(differs(page.evaluate(HASH), "#requests?class=miss&min=20000000"), "filters are in the address")
    page.evaluate("document.querySelector('tr.request').focus()")
    page.press("Enter")
    opened = page.evaluate(OPEN)
    check([] if "&request=" in page.evaluate(HASH) else [page.evaluate(HASH)], "so is the open request")
    page.evaluate("history.back()")
    check(differs(becomes(page, OPEN, None), None), "Back closes the request")
    count_is(page, late, "and the list is as it was")
    page.evaluate("history.back()")
    count_is(page, misses, "Back takes the last filter away")
    page.evaluate("history.back()")
    count_is(page, len(rows), "Back to all requests")
    check(differs([page.evaluate(CLASS), page.evaluate("location.hash")], ["", ""]), "form and address say so, too")
    for _ in range(3):
        page.evaluate("history.forward()")
        page.evaluate("new Promise(done => setTimeout(done, 100))")
    check(differs(becomes(page, OPEN, opened), opened), "Forward three times opens the request again")
    page.press("Escape")
    becomes(page, OPEN, None)
    check(differs(becomes(page, HASH, "#requests?class=miss&min=20000000"), "#requests?class=miss&min=20000000"),
          "Escape takes it out of the address")
    page.evaluate("document.querySelector('a[href=\"#findings\"]').click()")
    check(differs(becomes(page, "[location.hash, !!history.state]", ["#findings", True]), ["#findings", True]),
          "a link within the page is an entry of the history")
    count_is(page, late, "and leaves the list as it is")
    page.evaluate("window.before = true")
    page.call("Page.reload")
    becomes(page, "window.before", None)
    loaded(page)
    count_is(page, late, "a reload keeps the filters")
    check(differs(page.evaluate(CLASS), "miss"), "and the form shows them")
    page.evaluate("sqtrace.zoom(60e9, 120e9)")
    wanted = "#requests?class=miss&min=20000000&zoom=60,120"
    check(differs(becomes(page, HASH, wanted), wanted), "the stretch of time is in the address")
    return opened, late


def copied(browser, folder, address, opened, late):
    page = Requests(browser, folder, "index.html" + address)
    loaded(page)
    count_is(page, late, "a copied address shows the same requests")
    check(differs(page.evaluate(OPEN), opened), "the same open request")
    check(differs(page.evaluate("[sqtrace.view.from, sqtrace.view.to]"), [60e9, 120e9]), "and the same stretch of time")
    page.press("Escape")
    return page


def searches(page, rows):
    page.evaluate("sqtrace.filter({})")
    row = next(row for row in rows if row["server"] != "-")
    for text, test in ((row["xid"], lambda one: one["xid"] == row["xid"]),
                       (row["server"].upper(), lambda one: row["server"] in one["server"]),
                       ("http://user@%s/a?b" % row["server"], lambda one: row["server"].split(":")[0] in one["server"])):
        page.choose("text", text)
        count_is(page, sum(map(test, rows)), "a search for %s" % text)
    page.choose("text", "%<x>'&")
    count_is(page, 0, "a search for what is not there")
    check(differs(page.evaluate("[%s, document.querySelector('.filters [name=text]').value]" % COMMAND),
                  ["""sqtrace-dump --where='server ~ "*%<[xX]>'\\''&*"' TRACE""", "%<x>'&"]), "gives a command that is safe to copy")
    page.evaluate("document.querySelector('.filters .all').click()")
    count_is(page, len(rows), "one button takes the search away")


def commands(page, rows):
    """The command under the list finds what the list has."""
    server = next(row["server"] for row in rows if row["server"] != "-")
    for filters in ({"class": "miss", "min": "20 ms", "to": "120"}, {"stage": "dns"}, {"status": "4xx"},
                    {"text": server}, {"text": rows[7]["xid"], "status": rows[7]["status"]}):
        page.evaluate("sqtrace.filter({})")
        for name, value in filters.items():
            page.choose(name, value)
        where = page.evaluate(COMMAND).split("--where='")[1].rsplit("' TRACE", 1)[0]
        found = table("requests", "--where=" + where.replace("'\\''", "'"), SAMPLE)
        check(differs(page.listed(), len(found)) or ([] if found else ["none"]), "the command for %s" % sorted(filters))


def forged(browser, folder):
    """Addresses that somebody else wrote: the page opens, and its command has nothing of them."""
    for address in ("#requests?stage=x'%3B%20touch%20y&sort=constructor&zoom=9,x&request=1.", "#requests?class=%22%27&__proto__=1&trace=no",
                    "#requests?min=x&status=%3Cimg%20src%3Dx%20onerror%3Dthrow%201%3E&kid=1e9&up=1", "#requests?%", "#requests?zoom=-1,1e99"):
        page = Requests(browser, folder, "index.html" + address)
        loaded(page)
        told = page.evaluate("[%s, document.querySelector('#list details').hidden, document.querySelectorAll('#list img').length]" % COMMAND)
        check(differs(told, ["sqtrace-dump --where='' TRACE", True, 0]) + page.said(), "forged: " + address)


def narrow(page):
    for scheme in ("light", "dark"):
        page.size(390, 844)
        page.media(scheme)
        page.choose("class", "miss")
        page.evaluate("document.querySelector('#list details').open = true, document.getElementById('list').scrollIntoView()")
        check(page.evaluate(report_browser.WIDE) + page.evaluate(report_browser.FAINT), "390 px, %s: it fits, and has contrast" % scheme)
        page.screenshot(os.path.join(report_browser.SHOTS, "list-390-%s.png" % scheme))
    check(page.evaluate(LABEL), "each field has a label")


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP chromium is not installed")
        return
    os.makedirs(report_browser.SHOTS, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        try:
            report(work, "--figures=slowest", SAMPLE)
            rows = table("requests", SAMPLE)
            with Browser(work) as browser:
                page = Requests(browser, work)
                loaded(page)
                opened, late = history(page, rows)
                page.evaluate("document.querySelector('tr.request').focus()")
                page.press("Enter")
                page.wait_for("location.hash.includes('request=')", 10)
                page = copied(browser, work, page.evaluate("location.hash"), opened, late)
                searches(page, rows)
                commands(page, rows)
                narrow(page)
                quiet(page, "the sample")
                forged(browser, work)
        except (Failure, subprocess.CalledProcessError) as failure:
            check([failure], "the browser works")
    print("1..%d" % report_browser.NUMBER)


if __name__ == "__main__":
    sys.exit(main())
