# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium and a web server of a folder, both on loopback and gone when done.

    with Browser(folder) as browser:
        page = browser.open("index.html")
        page.evaluate("document.title")

Chromium takes commands of its DevTools protocol from one pipe and answers on another: JSON, ended by a zero byte.
"""

import base64
import fcntl
import http.server
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time


class Failure(Exception):
    """The browser did not do it; the text says what."""


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, folder, width=1400, height=900):
        self.size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.folder = tempfile.mkdtemp()
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *arguments: Handler(*arguments, directory=folder))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # Out of the way of 3 and 4, which the browser wants.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (commands, answers)]
        os.close(commands)
        os.close(answers)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + self.folder,
             "--no-first-run", "--disable-extensions"] + (["--no-sandbox"] if os.geteuid() == 0 else []),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)))
        for end in ends:
            os.close(end)
        self.buffer, self.serial, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        """The next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise Failure("the browser does not answer")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise Failure("the browser has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, seconds=90, **parameters):
        """One command and its result; events that come meanwhile are kept."""
        self.serial += 1
        command = {"id": self.serial, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        until = time.monotonic() + seconds
        while True:
            message = self.message(until)
            if message.get("id") != self.serial:
                self.events.append(message)
            elif "error" in message:
                raise Failure("%s: %s" % (method, message["error"]["message"]))
            else:
                return message["result"]

    def open(self, path):
        return Page(self, "http://127.0.0.1:%d/%s" % (self.server.server_port, path))


class Page:
    def __init__(self, browser, url):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")
        self.call("Emulation.setDeviceMetricsOverride", **browser.size)
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        """The value of an expression, or what its promise comes to."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return done["result"].get("value")

    def wait_for(self, expression, seconds=60):
        until = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise Failure("waited %d s in vain for %s" % (seconds, expression))
            time.sleep(0.1)

    def errors(self):
        """What the page threw and did not catch."""
        self.evaluate("0")
        return [event["params"]["exceptionDetails"].get("exception", {}).get("description", "?")
                for event in self.browser.events if event["method"] == "Runtime.exceptionThrown"]

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
