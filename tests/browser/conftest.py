"""A headless Chromium driven over its DevTools protocol, for tests of the HTML report.

PAREDOWN_SCREENSHOTS=DIR keeps a picture of every page that a test opens, to be looked at.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
START_LIMIT_S = 60
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


CONTRASTS = """
(() => {
  const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const parse = c => (c.match(/^rgba?\\(([^)]+)\\)/) || [, ""])[1].split(/[ ,\\/]+/).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const back = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const fore = parse(e.ownerSVGElement ? style.fill : style.color);
    if (fore.length !== 3) continue;
    const [a, b] = [light(fore), light(back(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(e.className.toString() + ": " + e.textContent.trim().slice(0, 40));
  }
  return poor;
})()
"""
OVERLAPS = """
(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg.chart")) {
    if (!svg.getClientRects().length) continue;
    const labels = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim());
    const boxes = labels.map(t => t.getBBox());
    for (let i = 0; i < labels.length; i++) for (let j = i + 1; j < labels.length; j++) {
      const a = boxes[i], b = boxes[j];
      const w = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const h = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      if (w > 1 && h > 3) found.push(`${svg.id} ${labels[i].textContent} / ${labels[j].textContent}`);
    }
  }
  return found;
})()
"""
CLIPPED = """
[...document.querySelectorAll("svg.chart")].filter(s => s.getClientRects().length).flatMap(svg => {
  const view = svg.viewBox.baseVal;
  return [...svg.querySelectorAll("text")].filter(t => {
    const b = t.getBBox();
    return b.x < -1 || b.y < -1 || b.x + b.width > view.width + 1 || b.y + b.height > view.height + 1;
  }).map(t => svg.querySelector("title").textContent + ": " + t.textContent);
})
"""


def executable() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Page:
    """One tab. `problems`: console errors, exceptions and violated policies; `requests`: every address it asked for."""

    socket: aiohttp.ClientWebSocketResponse
    session: str = ""
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    waiting: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    loaded: asyncio.Event = field(default_factory=asyncio.Event)
    scheme: list[dict[str, str]] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting[number] = answer
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.socket.send_json(message)
        return await asyncio.wait_for(answer, 60)

    async def listen(self) -> None:
        async for message in self.socket:
            data = message.json()
            if "id" in data:
                answer = self.waiting.pop(data["id"])
                if "error" in data:
                    answer.set_exception(RuntimeError(str(data["error"])))
                else:
                    answer.set_result(data["result"])
            else:
                self._event(data["method"], data["params"])

    def _event(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {parameters['message']}")

    async def open(self, file: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a file at a true viewport width (a phone below 600 px)."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=self.scheme)
        self.loaded.clear()
        await self.call("Page.navigate", url=file.resolve().as_uri())
        await asyncio.wait_for(self.loaded.wait(), 30)

    async def value(self, expression: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def click(self, selector: str) -> None:
        """A real click (or tap) in the middle of the first element that matches, which is scrolled to first."""
        place = (
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        x, y = await self.value(place)
        # Chromium tells of a scroll one frame later; the page hides its tooltip on that.
        await self.call("Runtime.evaluate", expression=TWO_FRAMES, awaitPromise=True)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def screenshot(self, file: Path) -> None:
        """The whole page, below the fold too."""
        answer = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))


class Visit:
    """The page for tests that are written without async."""

    def __init__(self, runner: asyncio.Runner, page: Page, screenshots: Path | None) -> None:
        self.runner, self.page, self.screenshots = runner, page, screenshots

    def open(self, file: Path, *, width: int = 1280, dark: bool = False) -> None:
        self.page.problems.clear()
        self.page.requests.clear()
        self.runner.run(self.page.open(file, width=width, dark=dark))
        if self.screenshots:
            name = f"{file.stem}-{width}{'-dark' if dark else ''}.png"
            self.runner.run(self.page.screenshot(self.screenshots / name))

    def media(self, name: str) -> None:
        """`print`, or empty for the screen; the colour scheme stays as it was."""
        self.runner.run(self.page.call("Emulation.setEmulatedMedia", media=name, features=self.page.scheme))

    def value(self, expression: str) -> Any:
        return self.runner.run(self.page.value(expression))

    def click(self, selector: str) -> None:
        self.runner.run(self.page.click(selector))

    def poor_contrasts(self) -> list[str]:
        """Texts that stand out from their ground by less than 4.5 : 1 (WCAG 2.1, AA)."""
        return list(self.value(CONTRASTS))

    def overlapping_labels(self) -> list[str]:
        """Pairs of texts of one visible chart that cover each other."""
        return list(self.value(OVERLAPS))

    def clipped_labels(self) -> list[str]:
        """Texts of visible charts that reach beyond their chart."""
        return list(self.value(CLIPPED))

    @property
    def problems(self) -> list[str]:
        return self.page.problems

    @property
    def requests(self) -> list[str]:
        return self.page.requests


@asynccontextmanager
async def browser(program: str) -> AsyncIterator[Page]:
    """A fresh profile, one tab; the process has ended when the block ends."""
    profile = Path(tempfile.mkdtemp(prefix="paredown-chromium-"))
    process = await asyncio.create_subprocess_exec(
        program, *FLAGS, f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port, path = await _port(profile, process)
        async with aiohttp.ClientSession() as client, client.ws_connect(
            f"ws://127.0.0.1:{port}{path}", max_msg_size=0
        ) as socket:  # fmt: skip
            page = Page(socket)
            listening = asyncio.create_task(page.listen())
            target = await page.call("Target.createTarget", url="about:blank")
            page.session = (await page.call("Target.attachToTarget", targetId=target["targetId"], flatten=True))[
                "sessionId"
            ]
            for domain in ("Page", "Runtime", "Log", "Network"):
                await page.call(f"{domain}.enable")
            yield page
            listening.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _port(profile: Path, process: asyncio.subprocess.Process) -> tuple[str, str]:
    """Port and path that Chromium writes into its profile once it listens."""
    file = profile / "DevToolsActivePort"
    for _ in range(START_LIMIT_S * 20):
        if file.exists() and len(lines := file.read_text().split()) == 2:
            return lines[0], lines[1]
        if process.returncode is not None:
            raise RuntimeError(f"Chromium ended with status {process.returncode} before it listened.")
        await asyncio.sleep(0.05)
    raise TimeoutError(f"Chromium did not listen within {START_LIMIT_S} s.")


@pytest.fixture(scope="session")
def visit() -> Iterator[Visit]:
    """One browser for the whole session."""
    program = executable()
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium), so the page cannot be looked at")
    kept = os.environ.get("PAREDOWN_SCREENSHOTS")
    with asyncio.Runner() as runner:
        running = browser(program)
        page = runner.run(running.__aenter__())
        try:
            yield Visit(runner, page, Path(kept) if kept else None)
        finally:
            runner.run(running.__aexit__(None, None, None))
