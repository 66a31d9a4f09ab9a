"""How the requests of an open loop went, over time: each as a bar, and all of them counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, path, tag, text, x_axis, y_axis
from paredown.report.units import duration, number, tick

MOST_ROWS, ROW_PX = 60, 7.0
MOST_STEPS = 150
PHASES = ("late", "waiting", "answering")


@dataclass(frozen=True)
class Request:
    """Seconds since the first request was due. first, done: None when it never came; `failure`: error class."""

    name: str
    due: float
    sent: float
    first: float | None
    done: float | None
    failure: str = ""


def draw(identity: str, title: str, requests: Sequence[Request], width: float) -> Markup:
    """A bar a request, in the order due: until it was sent, until its first token, until it was done.

    At most 60 bars, evenly chosen (`shown`).
    """
    chosen = shown(requests)
    area_top, left, right = 12.0, 46.0, width - 14.0
    bottom = area_top + ROW_PX * len(chosen)
    across = _time(requests, left, right)
    rows = [_row(request, across, area_top + ROW_PX * index) for index, request in enumerate(chosen)]
    tips = "; ".join(_tip(request).replace("\n", ", ") for request in chosen[:12])
    description = f"{len(chosen)} of {len(requests)} requests, the first ones: {tips}"
    return frame(
        identity, title, description, width, bottom + 46,
        x_axis(across, bottom, area_top, _seconds, "time since the first was due", 6 if width > 400 else 5),
        text(left - 6, area_top + 8, "first", "tick", "end"),
        text(left - 6, bottom - 1, "last", "tick", "end") if len(chosen) > 2 else Markup(""),
        *rows,
    )  # fmt: skip


def shown(requests: Sequence[Request]) -> list[Request]:
    ordered = sorted(requests, key=lambda r: r.due)
    if len(ordered) <= MOST_ROWS:
        return ordered
    failed = {id(r) for r in [r for r in ordered if r.failure][: MOST_ROWS // 3]}
    room = MOST_ROWS - len(failed)
    others = [r for r in ordered if id(r) not in failed]
    kept = {id(others[round(i * (len(others) - 1) / (room - 1))]) for i in range(room)} | failed
    return [r for r in ordered if id(r) in kept]


def counts(identity: str, title: str, requests: Sequence[Request], width: float, height: float) -> Markup:
    """Requests due, begun (first token, or failed without one) and ended so far; in between they are in flight."""
    left, right, top, bottom = 46.0, width - 14.0, 30.0, height - 46
    across = _time(requests, left, right)
    up = Scale(0, max(1, len(requests)), bottom, top)
    drawn = [
        ("base", sorted(r.due for r in requests)),
        ("waiting", sorted(begun for r in requests if (begun := _begun(r)) is not None)),
        ("choice", sorted(r.done for r in requests if r.done is not None)),
    ]
    description = (
        f"{len(requests)} requests were due, {sum(r.first is not None for r in requests)} got a first token, "
        f"{sum(bool(r.failure) for r in requests)} failed; at most "
        f"{most_behind(requests)} were due and had not ended at one moment"
    )
    return frame(
        identity, title, description, width, height,
        x_axis(across, bottom, top, _seconds, "time since the first was due", 6 if width > 400 else 5),
        y_axis(up, left, right, lambda v: tick(number(v)), "requests so far", 5),
        *(path(_steps(times, across, up), f"curve {class_}") for class_, times in drawn if times),
    )  # fmt: skip


def _begun(request: Request) -> float | None:
    if request.first is not None:
        return request.first
    return request.done if request.failure else None


def most_behind(requests: Sequence[Request]) -> int:
    """The most requests that were due and had neither come back nor failed at one moment."""
    changes = sorted([*((r.due, 1) for r in requests), *((r.done, -1) for r in requests if r.done is not None)])
    level = most = 0
    for _, change in changes:
        level += change
        most = max(most, level)
    return most


def _time(requests: Sequence[Request], left: float, right: float) -> Scale:
    last = max(v for r in requests for v in (r.due, r.sent, r.first, r.done) if v is not None)
    return Scale(0, last * 1.02 or 1.0, left, right)


def _seconds(value: float) -> str:
    return tick(duration(value))


def _row(request: Request, across: Scale, y: float) -> Markup:
    ended = request.done if request.done is not None else request.sent
    first = request.first if request.first is not None else ended
    edges = (request.due, request.sent, first, ended)
    parts = []
    for phase, start, end in zip(PHASES, edges, edges[1:], strict=False):
        if end > start:
            class_ = f"phase {'failed' if request.failure and phase != 'late' else phase}"
            width = max(0.8, across(end) - across(start))
            parts.append(tag("rect", x=across(start), y=y + 1, width=width, height=ROW_PX - 2, class_=class_))
    if request.failure:
        x, middle = across(ended), y + ROW_PX / 2
        parts.append(line(x, middle - 3, x, middle + 3, "phase-end"))
    area = tag(
        "rect", x=across(request.due) - 4, y=y, width=across(ended) - across(request.due) + 8, height=ROW_PX,
        class_="tap",
    )  # fmt: skip
    return tag("g", *parts, area, class_="mark bar", data_tip=_tip(request))


def _tip(request: Request) -> str:
    said = [f"{request.name}: due at {duration(request.due)}", f"sent {duration(request.sent - request.due)} later"]
    if request.first is not None:
        said.append(f"first token {duration(request.first - request.due)} after it was due")
    if request.failure:
        said.append(f"failed: {request.failure}")
    elif request.done is not None:
        said.append(f"done {duration(request.done - request.due)} after it was due")
    return "\n".join(said)


def _steps(times: Sequence[float], across: Scale, up: Scale) -> list[tuple[float, float]]:
    stride = max(1, -(-len(times) // MOST_STEPS))
    corners = [(across(times[0]), up(0))]
    for index in sorted({*range(0, len(times), stride), len(times) - 1}):
        x = across(times[index])
        corners += [(x, corners[-1][1]), (x, up(index + 1))]
    return [*corners, (across.end, corners[-1][1])]
