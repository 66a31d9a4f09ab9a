"""Rows as they were found → rows that can be sent. What cannot be is refused, clipped or skipped, and counted.

Every complaint is one sentence with file, line and field, and says what to type instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from paredown.errors import UserError
from paredown.spec.named_options import Asked
from paredown.traffic.asked import Reading
from paredown.traffic.rows import Flaw, Row

# A log is written when requests end, so that its lines are out of order by as much as they take.
OUT_OF_ORDER_S = 60.0


@dataclass
class Ledger:
    """What was wrong: raises at once when it is to be refused, else counts it for the notes of the traffic.

    A note begins with the plural of what was counted.
    """

    source: Asked
    invalid: str
    counts: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def wrong(self, says: str, clipped: str, skipped: str, clip: str) -> bool:
        """Whether the row stays (clipped). `clip`: what clipping does, for the user who has to choose.

        clipped, skipped: what the note says after the count ("prompts were cut to 8,192 tokens")
        """
        if self.invalid == "refuse":
            choice = f"{self.source.typed('invalid', 'clip')} to {clip}, or " if clip else ""
            raise UserError(f"{says} Type {choice}{self.source.typed('invalid', 'skip')} to leave such requests out.")
        stays = self.invalid == "clip" and bool(clip)
        self.add(clipped if stays else skipped)
        return stays

    def add(self, note: str) -> None:
        self.counts[note] = self.counts.get(note, 0) + 1

    def remark(self, note: str) -> None:
        self.remarks.append(note)

    def notes(self) -> tuple[str, ...]:
        return (*(counted(count, note) for note, count in self.counts.items()), *self.remarks)


def counted(count: int, note: str) -> str:
    """`1 prompt … was cut`, `2 prompts … were cut`."""
    noun, rest = note.split(" ", 1)
    return f"1 {noun.removesuffix('s')} {rest.replace('were', 'was')}" if count == 1 else f"{count:,} {note}"


def readable(found: Iterable[Row | Flaw], ledger: Ledger) -> list[Row]:
    """The rows without the lines that are no request."""
    rows: list[Row] = []
    for entry in found:
        if isinstance(entry, Row):
            rows.append(entry)
        else:
            ledger.wrong(entry.says, "", "lines could not be read and were left out", clip="")
    return rows


def in_time(rows: Sequence[Row], reading: Reading, ledger: Ledger) -> list[Row]:
    """Rows in the order of their arrival, counted from the first one, within the span and limit asked for."""
    if not any(row.at_s is not None for row in rows):
        if reading.from_s or reading.until_s is not None:
            raise UserError(
                f"from_s and until_s choose by arrival, but the requests of {ledger.source.name} have no times. Type "
                f"'{ledger.source.name}:limit=100' to take the first ones."
            )
        return list(rows[: reading.limit])
    timed = _ascending([row for row in rows if _has_time(row, ledger)], ledger)
    start = _at(timed[0]) if timed else 0.0
    until_s = reading.until_s if reading.until_s is not None else float("inf")
    chosen = [row for row in timed if reading.from_s <= _at(row) - start < until_s][: reading.limit]
    return from_the_first(chosen)


def from_the_first(rows: Sequence[Row]) -> list[Row]:
    """Rows with times counted from the first of them, once all that are left out are gone."""
    if not rows or rows[0].at_s is None:
        return list(rows)
    start = _at(rows[0])
    return [replace(row, at_s=_at(row) - start) for row in rows]


def _at(row: Row) -> float:
    assert row.at_s is not None, "rows without a time were left out before"
    return row.at_s


def _has_time(row: Row, ledger: Ledger) -> bool:
    if row.at_s is not None:
        return True
    says = f"{row.where} has no time, while other lines of the file have one."
    return ledger.wrong(says, "", "requests without a time were left out", clip="")


def _ascending(rows: Sequence[Row], ledger: Ledger) -> list[Row]:
    latest = 0.0
    kept: list[Row] = []
    moved_by_s = 0.0
    for row in rows:
        at_s = _at(row)
        if at_s < 0:
            says = f"{row.where}, {row.names.time} is {at_s:g} s, before the beginning."
            if not ledger.wrong(
                says,
                "times before the beginning were set to 0",
                "requests with a negative time were left out",
                clip="set it to 0",
            ):
                continue
            at_s = 0.0
        if kept and at_s < latest - OUT_OF_ORDER_S:
            says = f"{row.where}, {row.names.time} goes back by {latest - at_s:,.0f} s from the line before."
            if not ledger.wrong(
                says,
                "times that went back were set to that of the request before",
                "requests whose time went back were left out",
                clip="set it to the time of the request before",
            ):
                continue
            at_s = latest
        if at_s < latest:
            ledger.add("requests were out of order and were sorted")
            moved_by_s = max(moved_by_s, latest - at_s)
        latest = max(latest, at_s)
        kept.append(replace(row, at_s=at_s))
    if moved_by_s:
        ledger.remark(f"the request that was most out of order came {moved_by_s:.3g} s late in the file")
    return sorted(kept, key=_at)


def without_gaps(rows: Sequence[Row], longest_s: float, time_scale: float, ledger: Ledger) -> list[Row]:
    """Rows whose waits, as they are replayed, are no longer than `longest_s`."""
    kept: list[Row] = []
    cut_s = 0.0
    for before, row in itertools.pairwise((None, *rows)):
        assert row is not None
        gap_s = (_at(row) - _at(before)) * time_scale if before is not None else 0.0
        if gap_s > longest_s:
            if ledger.invalid == "refuse":
                raise UserError(
                    f"{row.where}, {row.names.time}: nothing arrives for {gap_s:,.0f} s before it, longer than "
                    f"longest_gap_s={longest_s:g}. Type {ledger.source.typed('longest_gap_s', f'{gap_s + 1:.0f}')} to "
                    f"wait, or {ledger.source.typed('invalid', 'clip')} to shorten such gaps."
                )
            cut_s += (gap_s - longest_s) / time_scale
            ledger.add(f"gaps longer than {longest_s:g} s were shortened to that")
        kept.append(replace(row, at_s=_at(row) - cut_s))
    return kept


@dataclass(frozen=True)
class Room:
    """What lengths the model allows. `shortest`: of a prompt, chat template included; `context`: None = not known."""

    shortest: int
    context: int | None


def with_lengths(
    rows: Sequence[Row], reading: Reading, ledger: Ledger, *, default_output: int, room: Room
) -> list[Row]:
    """Rows whose lengths can be sent: scaled, no prompt shorter than can be made, none beyond the context window."""
    settled = (_lengths(row, reading, ledger, default_output, room) for row in rows)
    return [row for row in settled if row is not None]


def _lengths(row: Row, reading: Reading, ledger: Ledger, default_output: int, room: Room) -> Row | None:
    """None = left out."""
    output, prompt = default_output, row.prompt_tokens
    if reading.output_tokens is not None:
        output = reading.output_tokens
    elif row.output_tokens is not None:
        says = f"{row.where}, {row.names.output} is {row.output_tokens}, but an answer has at least 1 token."
        if row.output_tokens < 1 and not ledger.wrong(
            says,
            "answers without a token were made 1 token long",
            "requests without an answer were left out",
            "make it 1",
        ):
            return None
        output = max(1, round(row.output_tokens * reading.length_scale))
    if prompt is None:
        return replace(row, output_tokens=output)
    scaled = round(prompt * reading.length_scale)
    if prompt < 1 or scaled < room.shortest:
        length = f"{row.where}, {row.names.prompt} is {prompt}"
        scale = f" times length_scale={reading.length_scale:g}" if reading.length_scale != 1 else ""
        says = f"{length}{scale}, but the chat template and one word take {room.shortest} tokens."
        short = f"prompts shorter than {room.shortest} tokens, which the chat template and one word take, were"
        if not ledger.wrong(says, f"{short} made that long", f"{short} left out", f"make it {room.shortest}"):
            return None
        scaled = room.shortest
    if room.context is not None and scaled + output > room.context:
        says = (
            f"{row.where}: a prompt of {scaled:,} tokens and an answer of {output:,} are beyond the context window of "
            f"{room.context:,}."
        )
        if not ledger.wrong(says, beyond(room.context, "cut"), beyond(room.context, "left out"), "cut the prompt"):
            return None
        output = min(output, room.context - room.shortest)
        scaled = room.context - output
    return replace(row, prompt_tokens=scaled, output_tokens=output)


def beyond(context: int, done: str) -> str:
    """The note on prompts that did not fit."""
    return f"prompts beyond the context window of {context:,} tokens (answer included) were {done}"
