#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The report in Chromium, from the disk as people open it: of the sample trace, and of two traces compared.

Screenshots are kept in $SQT_TOOLS/report-screenshots, for people to look at.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True

from browser import Browser, Failure, Page  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
SHOTS = os.path.join(TOOLS, "report-screenshots")
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
NUMBER = 0

# Every picture, asked for anew, in the size that the window's width picks; the sources of those that do not load.
BROKEN = """(async () => {
    const bad = [];
    for (const image of document.querySelectorAll('img')) {
        const again = new Image();
        again.src = image.currentSrc || image.src;
        try { await again.decode(); } catch (error) { bad.push(again.src); }
        if (!again.naturalWidth) bad.push(again.src);
        if (!image.alt) bad.push('no alt: ' + again.src);
    }
    return bad;
})()"""
COUNT = "document.querySelectorAll('img').length"
LINKS = "[...document.querySelectorAll('[href],[src],[srcset]')].map(e => e.href || e.src || e.srcset)"
LOST = """[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1))
    .filter(id => !document.getElementById(id))"""
DOUBLE = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) != i)"
# What sticks out to the right of the window, and does not scroll in a box of its own.
WIDE = """[...document.querySelectorAll('body *')].filter(e => e.getClientRects().length
    && !e.closest('.scroll, pre, dialog, .chart g') && !e.matches('.skip') && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40))"""
# Text whose contrast to the page is below 4.5, as WCAG computes it.
FAINT = """(() => {
    const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = colour => {
        paint.fillStyle = '#000';
        paint.fillStyle = colour;
        paint.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const found = new Set();
    for (const e of document.querySelectorAll('body :is(p, a, h1, h2, h3, li, span, td, th, dt, dd, code, button)')) {
        const ink = light(getComputedStyle(e).color);
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (contrast < 4.5) found.add(e.tagName + '.' + e.className + ' ' + contrast.toFixed(2));
    }
    return [...found];
})()"""
FOCUSED = "document.activeElement.dataset.dialog || document.activeElement.tagName"
OPENED = "[...document.querySelectorAll('dialog[open]')].map(d => d.id)"
# The lightness of a corner of a picture, 0 to 255; only where the page may read pictures, so from the web server.
CORNER = """(async () => {
    const image = document.querySelector('figure img');
    const paint = document.createElement('canvas').getContext('2d');
    document.body.append(paint.canvas);
    await image.decode();
    paint.drawImage(image, 0, 0);
    const pixel = paint.getImageData(3, 3, 1, 1).data;
    paint.canvas.remove();
    return (pixel[0] + pixel[1] + pixel[2]) / 3;
})()"""


def check(wrong, name):
    """A test that passes when nothing is wrong."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if wrong else "ok", NUMBER, name))
    for line in list(wrong)[:8]:
        print("# %s" % line)
    sys.stdout.flush()


def differs(got, wanted):
    return [] if got == wanted else ["%r instead of %r" % (got, wanted)]


def report(folder, *arguments):
    subprocess.run([os.path.join(TOOLS, "sqtrace-report"), "--data=" + os.path.join(SOURCE, "tools"), "--quiet",
                    "--output=" + folder, *arguments], check=True, stdin=subprocess.DEVNULL)


class Report(Page):
    """A report opened from the disk."""

    def __init__(self, browser, folder, name="index.html"):
        super().__init__(browser, "about:blank")
        self.folder = folder
        self.base = "file://" + urllib.parse.quote(folder) + "/"
        self.call("Network.enable")
        self.call("Log.enable")
        self.media()
        self.call("Page.navigate", url=self.base + name)
        self.wait_for("document.readyState == 'complete' && location.href != 'about:blank'")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, scheme="light", kind=""):
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": "prefers-color-scheme", "value": scheme},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, key, modifiers=0):
        codes = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
                      modifiers=modifiers, **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def said(self):
        """Messages of the console and of the browser about the page."""
        said = self.errors()
        for event in self.browser.events:
            if event["method"] == "Log.entryAdded":
                text = event["params"]["entry"]["text"]
                # Said of a dialog that is closed, if an address with a fragment is drawn slowly.
                said += [text] if not text.startswith("Autofocus processing was blocked") else []
            elif event["method"] == "Runtime.consoleAPICalled":
                said.append(str(event["params"]["args"]))
        return said

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event["method"] == "Network.requestWillBeSent"]

    def whole(self, name):
        """A screenshot of the whole page."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        self.size(width, min(height, 6000))
        self.screenshot(os.path.join(SHOTS, name))


def links(page):
    """Links to files that are not there, or not in the report's folder."""
    wrong = []
    for link in page.evaluate(LINKS):
        url = urllib.parse.urljoin(page.base, link)
        path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
        if url.startswith("data:,"):
            continue
        if not url.startswith(page.base) or not os.path.isfile(path) or not os.path.getsize(path):
            wrong.append(link)
    return wrong


def becomes(page, expression, wanted):
    """The value of an expression once it is what is wanted, or after 10 s: the page may do it a moment later."""
    until = time.monotonic() + 10
    while page.evaluate(expression) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    return page.evaluate(expression)


def keyboard(page, name, links=3):
    """Opens the first figure with the keyboard alone, goes on to the next, and comes back."""
    page.size(*SIZES["desk"])
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    first, second = page.evaluate("[...document.querySelectorAll('[data-dialog]')].map(a => a.dataset.dialog)")[:2]
    for _ in range(400):
        page.press("Tab")
        if page.evaluate(FOCUSED) == first:
            break
    check(differs(page.evaluate(FOCUSED), first), name + ": the first figure can be reached with the Tab key")
    page.press("Enter")
    check(differs(becomes(page, OPENED, [first]), [first]), name + ": Enter opens it")
    page.wait_for("document.querySelector('dialog[open] img').complete", 10)
    shown = page.evaluate("""(() => { const d = document.querySelector('dialog[open]'), i = d.querySelector('img');
        return [i.naturalWidth > 0, i.getBoundingClientRect().width > 900, d.querySelectorAll('a').length >= LINKS,
                d.querySelector('code').textContent.includes('sqtrace-dump --figure='),
                d.contains(document.activeElement)] })()""".replace("LINKS", str(links)))
    check(differs(shown, [True] * 5),
          name + ": large, with its series, its script, the command, and the focus within")
    page.screenshot(os.path.join(SHOTS, name + "-large.png"))
    page.press("ArrowRight")
    check(differs(becomes(page, OPENED, [second]), [second]), name + ": the arrow key goes to the next")
    page.press("Escape")
    check(differs([becomes(page, OPENED, []), becomes(page, FOCUSED, second)], [[], second]),
          name + ": Escape closes it, and the focus is where its figure is")


def look(browser, folder, name):
    page = Report(browser, folder)
    count = page.evaluate(COUNT)
    check([] if count > 20 else ["only %d" % count], name + ": there are pictures")
    for size, pixels in SIZES.items():
        page.size(*pixels)
        check(page.evaluate(BROKEN), "%s: every picture loads, %s" % (name, size))
        check(page.evaluate(WIDE), "%s: nothing is wider than the window, %s" % (name, size))
        for scheme in ("light", "dark"):
            page.size(*pixels)
            page.media(scheme)
            check(page.evaluate(FAINT), "%s: all text has contrast, %s, %s" % (name, size, scheme))
            page.whole("%s-%s-%s.png" % (name, size, scheme))
        page.media()
    check(links(page), name + ": every link leads to a file of the folder")
    check(page.evaluate(LOST), name + ": every link within the page leads somewhere")
    check(page.evaluate(DOUBLE), name + ": no two things have the same id")
    keyboard(page, name)
    page.media(kind="print")
    check(differs(page.evaluate("getComputedStyle(document.querySelector('nav')).display"), "none"),
          name + ": printed without navigation")
    paper = page.call("Page.printToPDF", printBackground=True)["data"]
    check([] if len(paper) > 100000 else ["%d characters of PDF" % len(paper)], name + ": it can be printed")
    check(page.said(), name + ": the console is silent")
    check([url for url in page.requests() if not url.startswith((page.base, "data:,"))],
          name + ": no request leaves the folder")


def single(folder):
    """A report that is one file: what it shows, and that it asks for nothing else."""
    with Browser(folder) as browser:
        page = Report(browser, folder, "one.html")
        check(page.evaluate(BROKEN), "one file: every picture loads")
        page.size(*SIZES["phone"])
        check(page.evaluate(BROKEN), "one file: every picture loads, phone")
        check(page.evaluate(LOST), "one file: every link within the page leads somewhere")
        check(page.evaluate(DOUBLE), "one file: no two things have the same id")
        keyboard(page, "one-file", 1)
        check([] if page.evaluate("document.querySelectorAll('tr.request').length") else ["none"],
              "one file: it lists requests")
        check(page.said(), "one file: the console is silent")
        # The browser says that it asks for addresses that have the data in them, too.
        check([url for url in page.requests() if url != page.base + "one.html" and not url.startswith("data:")],
              "one file: it asks for nothing else")


def schemes(folder):
    """Pictures are light or dark with the page."""
    with Browser(folder) as browser:
        for scheme, light in (("light", True), ("dark", False)):
            page = Page(browser, "about:blank")
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            page.call("Page.navigate", url="http://127.0.0.1:%d/index.html" % browser.server.server_port)
            page.wait_for("document.readyState == 'complete' && location.href != 'about:blank'")
            corner = page.evaluate(CORNER)
            check([] if (corner > 200) == light and (corner < 80) != light else ["its corner is %d" % corner],
                  "a picture is %s where the page is" % scheme)


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP chromium is not installed")
        return
    os.makedirs(SHOTS, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "report_traces"), os.path.join(work, "t")], check=True)
        one, two = os.path.join(work, "one"), os.path.join(work, "two & more")
        try:
            report(one, os.path.join(SOURCE, "doc", "sample"))
            report(two, "before=%s/t/before.sqt" % work, "after=%s/t/slower.sqt" % work)
            for folder, name in ((one, "one"), (two, "two")):
                with Browser(folder) as browser:
                    look(browser, folder, name)
            alone = os.path.join(work, "alone")
            os.mkdir(alone)
            report(os.path.join(alone, "one.html"), "--single-file", os.path.join(SOURCE, "doc", "sample"))
            single(alone)
            schemes(one)
        except (Failure, subprocess.CalledProcessError) as failure:
            check([failure], "the browser works")
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
