#!/usr/bin/env python3
"""test_page.py - pages of `heed report` in a browser: nothing is cut off on a phone or a screen, text is legible, both
themes work, the console is empty, and pages can be printed

    tests/pages/test_page.py HEED RECORD...

Exits with 77 without Chromium: HEED_CHROMIUM, else chromium, chromium-browser or google-chrome.
"""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("HEED_CHROMIUM") or next((name for name in NAMES if shutil.which(name)), None)
if not CHROMIUM:
    print("SKIPPED: no Chromium is found; Debian has it as chromium")
    sys.exit(77)

HEED, RECORDS = sys.argv[1], sys.argv[2:]
del sys.argv[1:]
WIDTHS = (400, 1280)
LETTERS = 10  # pixels, at least
THEMES = {"light": 1, "dark": 0}

# A frame is as wide as a phone, which a window cannot be. The page in it reports its measurements.
FRAMES = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><body><script>
const told = {};
addEventListener("message", event => {
    Object.assign(told, event.data);
    document.title = JSON.stringify(told);
});
</script>%s</body>"""
FRAME = '<iframe src="measured.html" style="border:0;width:%dpx;height:900px"></iframe>'
MEASURE = """<script>addEventListener("load", () => {
const all = selector => [...document.querySelectorAll(selector)];
const cut = all(".wide").filter(it => it.scrollWidth > it.clientWidth + 1);
const letters = all("svg text").map(it => parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a);
const covered = all("svg").flatMap(it => {
    const boxes = [...it.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
        Math.min(p.right, q.right) - Math.max(p.left, q.left) > 3 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4).map(([b]) => a + " / " + b));
});
parent.postMessage({[innerWidth]: {
    document: document.documentElement.scrollWidth,
    covered: covered,
    cut: cut.map(it => it.innerText.slice(0, 60)),
    drawings: all("svg").length,
    tables: all("table").length,
    least: Math.min(...letters),
    back: getComputedStyle(document.documentElement).backgroundColor,
    text: getComputedStyle(document.body).color}}, "*");
});</script></body>"""


def heed(*words, folder):
    subprocess.run([HEED, *words], cwd=folder, check=True, capture_output=True, timeout=300)


def browse(*words, folder):
    home = f"--user-data-dir={folder}/browser"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", home, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        heed("board", "add", "--board", "b.db", *RECORDS, folder=cls.folder)
        heed("report", "--final", "final", "--board", "b.db", *RECORDS, folder=cls.folder)
        cls.page = cls.folder / "final" / "report.html"

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def measure(self, theme):
        """Facts of the page at each width."""
        text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", self.page.read_text())
        (self.folder / "measured.html").write_text(text.replace("</body>", MEASURE))
        frames = FRAMES % "".join(FRAME % width for width in WIDTHS)
        (self.folder / "frames.html").write_text(frames)
        done = browse("--window-size=1400,900", "--virtual-time-budget=20000", "--dump-dom",
                      f"--blink-settings=preferredColorScheme={THEMES[theme]}",
                      f"file://{self.folder}/frames.html", folder=self.folder)
        title = re.search("<title>(.*?)</title>", done.stdout)
        self.assertTrue(title, done.stderr)
        return json.loads(html.unescape(title.group(1)))

    def test_nothing_is_cut(self):
        backs = {}
        for theme in THEMES:
            told = self.measure(theme)
            for width in WIDTHS:
                with self.subTest(theme=theme, width=width):
                    facts = told[str(width)]
                    self.assertEqual(facts["document"], width)
                    self.assertEqual(facts["cut"], [])
                    self.assertEqual(facts["covered"], [])
                    self.assertGreater(facts["tables"], 3)
                    self.assertGreater(facts["drawings"], 2)
                    self.assertGreaterEqual(facts["least"], LETTERS)
                    self.assertNotEqual(facts["back"], facts["text"])
            backs[theme] = told[str(WIDTHS[0])]["back"]
        self.assertEqual(backs["light"], "rgb(255, 255, 255)")
        self.assertNotEqual(backs["dark"], backs["light"])

    def test_console_is_silent(self):
        done = browse("--enable-logging=stderr", "--dump-dom", f"file://{self.page}", folder=self.folder)
        self.assertIn("</html>", done.stdout)
        self.assertEqual([line for line in done.stderr.splitlines() if "CONSOLE" in line], [])

    def test_console_is_heard(self):
        """The test above receives the console output of a page."""
        (self.folder / "loud.html").write_text("<script>console.error('loud')</script>")
        done = browse("--enable-logging=stderr", "--dump-dom", f"file://{self.folder}/loud.html", folder=self.folder)
        self.assertIn("CONSOLE", done.stderr)

    def test_print(self):
        done = browse("--print-to-pdf=page.pdf", "--no-pdf-header-footer", f"file://{self.page}", folder=self.folder)
        made = self.folder / "page.pdf"
        self.assertTrue(made.exists(), done.stderr)
        data = made.read_bytes()
        self.assertTrue(data.startswith(b"%PDF"))
        self.assertGreater(len(re.findall(rb"/Type\s*/Page\b", data)), 2)


if __name__ == "__main__":
    unittest.main()
