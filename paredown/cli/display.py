"""Progress on standard error: moving bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from paredown.flow.progress import Stage


def for_terminal() -> TerminalProgress | PlainProgress:
    """Bars when standard error is a terminal, else lines."""
    console = Console(stderr=True, highlight=False)
    return TerminalProgress(console) if console.is_terminal else PlainProgress()


class TerminalProgress:
    """One bar for the stage that runs; finished stages leave a line with their time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = time.monotonic()

    def stage(self, title: str, estimate_s: float | None = None) -> AbstractContextManager[Stage]:
        return self._stage(title, estimate_s)

    @contextmanager
    def _stage(self, title: str, estimate_s: float | None) -> Iterator[Stage]:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[remaining]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}", style="dim", markup=False),
        )
        begun = time.monotonic()
        with Progress(*columns, console=self._console, transient=True) as bars:
            yield _Bar(bars, title, estimate_s)
        self._console.print(f"✓ {title}  [dim]{_seconds(time.monotonic() - begun)}[/dim]")

    def note(self, text: str) -> None:
        self._console.print(f"  {text}", markup=False)


class _Bar:
    def __init__(self, bars: Progress, title: str, estimate_s: float | None) -> None:
        self._bars, self._begun = bars, time.monotonic()
        about = f"about {_seconds(estimate_s)}" if estimate_s else ""
        self._task = bars.add_task(title, total=1.0, doing="", remaining=about)

    def update(self, fraction: float, text: str = "") -> None:
        elapsed = time.monotonic() - self._begun
        remaining = f"{_seconds(elapsed / fraction - elapsed)} left" if fraction > 0.05 else None
        self._bars.update(self._task, completed=fraction, doing=text[:60])
        if remaining:
            self._bars.update(self._task, remaining=remaining)


class PlainProgress:
    """A line when a stage begins, at most one every ten seconds while it runs, one when it ends."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def stage(self, title: str, estimate_s: float | None = None) -> AbstractContextManager[Stage]:
        return self._stage(title, estimate_s)

    @contextmanager
    def _stage(self, title: str, estimate_s: float | None) -> Iterator[Stage]:
        about = f" (about {_seconds(estimate_s)})" if estimate_s else ""
        self._print(f"{title}{about}")
        begun = time.monotonic()
        yield _Lines(title, self._print)
        self._print(f"{title}: done in {_seconds(time.monotonic() - begun)}")

    def note(self, text: str) -> None:
        self._print(f"  {text}")

    def _print(self, line: str) -> None:
        print(f"[{time.monotonic() - self._begun:6.1f} s] {line}", file=sys.stderr, flush=True)


class _Lines:
    def __init__(self, title: str, print_line: Callable[[str], None]) -> None:
        self._title, self._print, self._last = title, print_line, time.monotonic()

    def update(self, fraction: float, text: str = "") -> None:
        if time.monotonic() - self._last > 10:
            self._last = time.monotonic()
            self._print(f"{self._title}: {fraction:.0%} {text}".rstrip())


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
