#!/usr/bin/env python3
"""check_page.py BROWSER PAGE PROFILE WHAT - use a page of coppice-stat.

Drives a headless Chromium through its debugging pipe as a person would, with
keys and the mouse, in both themes. WHAT is "made-up": the page of 1003 tasks in
5 classes with 2 outliers that test-outputs makes; "cards": the same with a stack
of a runtime in the first class; "runtime": any one with calls of a runtime; or "large": it only comes up, in
time. Fails at an error on the console, at any request beyond the page itself,
and at what is not as the keys say.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

DEADLINE_S = 900


class Browser:
    """A Chromium, and one tab of it."""

    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        self.left = b""
        self.numbers = itertools.count(1)
        self.events = []
        # The browser reads descriptor 3 and writes to descriptor 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec 3<&{to_read} 4>&{to_write} "$@"', "sh",
             "timeout", str(DEADLINE_S), program, "--headless=new",
             "--no-sandbox",
             "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + profile, "--window-size=1280,860",
             "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=tab,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def read(self):
        """One message."""
        while b"\0" not in self.left:
            more = os.read(self.back, 1 << 16)
            assert more, "the browser has ended"
            self.left += more
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        """Ask the browser, and keep the events that come before its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script,
                           returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def go(self, url):
        """Go there, and wait until it is loaded, which is after its script."""
        del self.events[:]
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired"
                      for event in self.events):
            self.events.append(self.read())

    def load(self, url):
        """Load it anew, also where only what is behind # differs."""
        self.go("about:blank")
        self.go(url)
        assert self.run("document.documentElement.dataset.ready") == "1"

    def key(self, key, text=None):
        """Press a key and let it go."""
        named = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40,
                 "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35,
                 "Tab": 9}
        code = named.get(key, ord(key[0].upper()))
        if text is None and len(key) == 1:
            text = key
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code}
        if text or key == "Enter":
            down["text"] = text or "\r"
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key,
                  windowsVirtualKeyCode=code)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def click(self, script):
        """Click in the middle of the element that `script` is."""
        box = self.run(f"""(function () {{ var e = {script};
            e.scrollIntoView({{block: "center"}});
            var r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0],
                      y=box[1], button="left", clickCount=1)

    def complaints(self):
        """What went wrong, or was asked for, since the page was loaded."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            if method == "Runtime.consoleAPICalled":
                found.append("console: " + str(params["args"]))
            if method == "Log.entryAdded":
                found.append("log: " + params["entry"]["text"])
            if method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith("file:") or params["type"] != "Document":
                    found.append("request: " + url)
        errors = self.run("document.documentElement.dataset.errors")
        return found + ([] if errors == "0" else [f"{errors} errors"])

    def end(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait()


ROW = "document.activeElement.closest('.row')"


class Page:
    """What a person sees of it."""

    def __init__(self, browser, path):
        self.browser = browser
        self.url = pathlib.Path(path).absolute().as_uri()

    def __getattr__(self, name):
        return getattr(self.browser, name)

    def focused(self):
        """The function of the row that has the keyboard, and its count."""
        return self.run(f"""{ROW} && [{ROW}.querySelector('.name').textContent
            .replace(/[▾▸…]/g, ' ').trim().split(/[ ·]/)[0],
            +{ROW}.querySelector('.count').textContent]""")

    def count(self, selector):
        return self.run(f"document.querySelectorAll('{selector}').length")

    def rows(self):
        return self.count("#tree .row")

    def text(self, selector):
        return self.run(f"document.querySelector('{selector}').textContent")

    def value(self, identity):
        return self.run(f"document.getElementById('{identity}').value")

    def copied(self):
        """What is on the clipboard."""
        return self.run("navigator.clipboard.readText()")

    def said(self):
        """The message in the corner; a copy is there when it is."""
        return self.run("""new Promise(function (done) {
            (function look() {
                var box = document.getElementById('said');
                if (box.classList.contains('on')) done(box.textContent);
                else setTimeout(look, 10);
            })(); })""")

    def hush(self):
        self.run("document.getElementById('said').classList.remove('on')")


def check(what, is_so):
    assert is_so, what
    print("ok:", what)


def check_keys(page):
    """The keys that move, fold, and choose."""
    page.load(page.url)
    page.key("Tab")
    page.run("document.querySelector('#tree .row').focus()")
    top = page.focused()
    check("the first row has all tasks", top == ["main", 1003])
    page.key("ArrowDown")
    second = page.focused()
    check("down goes to another row", second and second != top)
    page.key("ArrowUp")
    check("up goes back", page.focused() == top)
    page.key("End")
    last = page.focused()
    page.key("Home")
    check("end and home", last != top and page.focused() == top)
    check("outliers are marked where they are seen", page.run("""(function () {
        var edge = document.getElementById('left').getBoundingClientRect().right;
        return [...document.querySelectorAll('.row .out')].filter(function (e) {
            return e.getBoundingClientRect().right < edge; }).length; })()""") > 0)
    before = page.rows()
    page.key("ArrowLeft")
    check("left folds", page.rows() == 1 and page.focused() == top)
    page.key("ArrowRight")
    check("right unfolds", page.rows() == before)
    page.key("ArrowRight")
    check("right again goes in", page.focused() == second)
    page.key("ArrowLeft")
    if page.focused() == second:  # it was open, and is folded now
        page.key("ArrowLeft")
    check("left again goes out", page.focused() == top)
    page.key("End")
    last = page.focused()
    page.key("Enter")
    ranks = page.value("ranks")
    check("enter keeps these tasks only", ranks != "" and
          int(page.text("#tree .count")) == last[1])
    page.key("Escape")
    check("escape shows all", page.value("ranks") == "" and
          page.text("#tree .count") == "1003")


def check_search(page):
    page.load(page.url)
    page.key("/")
    check("/ goes to the search", page.run(
        "document.activeElement.id") == "search")
    page.type("stuck_")
    check("two hits", page.text("#hits") == "2 hits" and
          page.count(".row.hit") == 2)
    page.key("Enter")
    first = page.focused()
    page.key("n")
    check("n goes to the next hit", page.text("#hits") == "2 of 2" and
          page.focused() != first)
    page.key("p")
    check("p goes back", page.focused() == first)
    page.key("Escape")
    check("escape ends the search", page.value("search") == "")


def check_copy(page):
    page.load(page.url)
    page.call("Page.bringToFront")
    page.click("document.querySelector('#classes [data-act=copy]')")
    said = page.said()
    one = page.run("JSON.parse(document.getElementById('data').textContent)"
                   ".sets[JSON.parse(document.getElementById('data')"
                   ".textContent).classes[0].set]")
    check("the ranks of a class are copied", page.copied() == one and
          said == "Copied " + one)
    page.hush()
    page.run("document.querySelector('#tree .row').focus()")
    page.key("c")
    page.said()
    check("c copies those of the row", page.copied() == "0-1002")
    page.hush()
    page.click("document.getElementById('ranks')")
    page.type("3-7,11")
    page.click("document.getElementById('copy')")
    page.said()
    check("and those that are left", page.copied() == "3-7,11")
    page.hush()
    # Without a clipboard, as in a page from a server without TLS.
    page.run("Object.defineProperty(navigator, 'clipboard',"
             " {value: undefined, configurable: true}), 0")
    page.run("window.kept = '', document.addEventListener('copy', function () {"
             " window.kept = document.activeElement.value; }), 0")
    page.click("document.getElementById('copy')")
    check("without a clipboard too", page.said() == "Copied 3-7,11" and
          page.run("window.kept") == "3-7,11")


def check_filter(page):
    page.load(page.url)
    page.click("document.getElementById('ranks')")
    page.type("0-9")
    check("ten ranks", page.text("#tree .count") == "10")
    page.type(",x")
    check("what is no set is marked", page.run(
        "document.getElementById('ranks').classList.contains('wrong')"))
    page.key("Escape")
    classes = page.count(".class")
    page.click("document.querySelector('#classes [data-act=only]')")
    check("only one class", page.count(".class") == 1 and classes > 1)
    page.click("document.getElementById('reset')")
    check("all again", page.count(".class") == classes)


def check_runtime(page):
    page.load(page.url)
    page.click("document.getElementById('expand')")
    page.run("document.querySelector('#tree .row').focus()")
    before = page.rows()
    page.key("r")
    page.click("document.getElementById('expand')")
    after = page.rows()
    check("runtime frames are shown", after > before and not page.run(
        "document.getElementById('runtime').checked"))
    page.click("document.getElementById('runtime')")
    check("and hidden", page.rows() == before)


def check_cards(page):
    page.load(page.url)
    check("the runtime's own threads are last in a card", page.run(
        "[...document.querySelector('.class').querySelectorAll('.where')]"
        ".map(function (place) { return /^progress_engine/.test("
        "place.textContent); }).join()") == "false,true")
    cards = page.run("""[...document.querySelectorAll('.class')].map(
        function (card) { return [card.querySelector('b').textContent,
            +/: (\\d+) task/.exec(card.textContent)[1]]; })""")
    check("the cards are in the order of the classes",
          [name for name, _ in cards] ==
          [f"Class {i + 1}" for i in range(len(cards))] and len(cards) > 4)
    check("each says which tasks these are", page.run(
        "[...document.querySelectorAll('.class .list')].every(function (e) {"
        "return /^tasks? [0-9]/.test(e.textContent); })"))
    check("the judgement is read first", page.run(
        "document.getElementById('judgement').getBoundingClientRect().bottom <= "
        "document.getElementById('tools').getBoundingClientRect().top"))
    check("which have the fewest tasks first",
          [count for _, count in cards] == sorted(count for _, count in cards))
    check("a call without a source tells its line, in card and tree", page.run(
        "['.class .where', '#tree .row'].map(function (where) {"
        "return [...document.querySelectorAll(where)].filter(function (e) {"
        "return /MPI_Barrier \\(from job.c:7\\)/.test(e.textContent); }).length;"
        "}).join()") == "2,1")


def check_large(page):
    begin = time.monotonic()
    page.load(page.url)
    took = time.monotonic() - begin
    script = page.run("performance.now()")
    print(f"it came up in {took:.2f} s, {script / 1000:.2f} s of its own clock")
    check("a class is there", page.count(".class") > 0)
    begin = time.monotonic()
    page.key("/")
    page.type("stuck_")
    check("hits", page.text("#hits").endswith("hits"))
    page.key("Escape")
    page.key("i")
    check("cells", page.count(".cell") > 5)
    print(f"search and icicle in {time.monotonic() - begin:.2f} s")


def check_icicle(page):
    page.load(page.url)
    page.run("document.querySelector('#tree .row').focus()")
    page.key("i")
    cells = page.count(".cell")
    check("i draws the icicle", cells > 5 and page.run(
        "document.getElementById('tree').hidden"))
    check("no cell leaves the picture", page.run("""(function () {
        var box = document.getElementById('icicle').getBoundingClientRect();
        return [...document.querySelectorAll('.cell')].filter(function (c) {
            var r = c.getBoundingClientRect();
            return r.left < box.left - 1 || r.right > box.right + 1;
        }).length; })()""") == 0)
    page.click("[...document.querySelectorAll('.cell')].pop()")
    check("a click goes into a cell", page.count(".cell") < cells)
    page.run("document.querySelector('.cell').focus()")
    page.key("c")
    check("c copies those of the cell", "Copied" in page.said())
    page.key("Escape")
    check("escape comes out", page.count(".cell") == cells)
    page.key("i")
    check("i comes back", not page.run(
        "document.getElementById('tree').hidden"))


def check_themes(page):
    for theme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": theme}])
        page.load(page.url)
        check(theme + " as the system says", page.run(
            "document.documentElement.classList.contains('dark')"
        ) == (theme == "dark"))
    page.load(page.url)
    check("the button stands beside the headline", page.run("""(function () {
        var button = document.getElementById('theme').getBoundingClientRect();
        var line = document.getElementById('headline').getBoundingClientRect();
        return button.top < line.bottom && line.top < button.bottom;
        })()"""))
    page.click("document.getElementById('theme')")
    check("the button turns it round", not page.run(
        "document.documentElement.classList.contains('dark')"))
    page.key("t")
    check("t turns it back", page.run(
        "document.documentElement.classList.contains('dark')"))


def main(program, path, profile, what):
    browser = Browser(program, profile)
    page = Page(browser, path)
    session, browser.session = browser.session, None
    browser.call("Browser.grantPermissions", permissions=[
        "clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.session = session
    checks = {"made-up": [check_keys, check_search, check_copy, check_filter,
                          check_icicle],
              "cards": [check_cards],
              "runtime": [check_runtime],
              "large": [check_large]}[what]
    for one in checks + [check_themes]:
        one(page)
        assert page.complaints() == [], page.complaints()
    browser.end()


main(*sys.argv[1:])
