"""The baseline's side of fidelity: its own answers, plain texts and long texts, with its log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paredown.client import streaming
from paredown.contracts import ScoreRequest
from paredown.errors import EngineError
from paredown.evaluate import generation
from paredown.evaluate.fidelity import asking, texts
from paredown.evaluate.fidelity.texts import LONG_SLICE, PLAIN_SLICE, PlainText
from paredown.evaluate.generation import Complete
from paredown.hosts.running import RunningEngine
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.events import RequestEvents
from paredown.records.golden import FidelityText, GoldenItem
from paredown.records.traffic import TrafficRequest

LEAST_FURTHEST = 4096
WIDE_IDS = 1024
WIDE_TEXTS = 12
WIDE_POSITIONS = 4


def baseline_texts(
    running: RunningEngine,
    prompts: Sequence[GoldenItem],
    plain: Sequence[PlainText],
    *,
    max_tokens: int = 40,
    top_k: int = 32,
    furthest: int = 0,
    seed: int = 0,
    concurrency: int = 16,
    timeout_s: float = 600.0,
    complete: Complete = streaming.complete,
) -> tuple[FidelityText, ...]:
    """The baseline's own greedy answers to the prompts, the plain texts, windows of a long text, with its top-k.

    An answer ends where the baseline ends it, after `max_tokens` at the latest. Some positions come a second time with
    many more ids, to estimate what the top-k misses. Needs the level OWN_TOP_K.
    furthest: position of the last window of the long text; 0 = no long text. It costs about as many tokens to read
    Raises EngineError when the baseline answers none of the prompts, or gives log-probabilities that are no numbers.
    """
    requests = [TrafficRequest(item.id, item.messages, max_tokens) for item in prompts]
    events = generation.greedy(running, requests, concurrency=concurrency, timeout_s=timeout_s, complete=complete)
    with running.scoring() as client:
        answered = _answered(client, prompts, events)
        if prompts and not answered:
            raise EngineError("The baseline answered none of the fidelity prompts.", events[0].detail)
        found = [*answered, *_plain(client, plain), *_long(client, plain, furthest, seed)]
        return _with_top_k(client, [*found, *_wide(found)], top_k)


def furthest_position(running: RunningEngine, items: Sequence[GoldenItem], least: int = LEAST_FURTHEST) -> int:
    """Where the last window of the long text is wanted: as far as the longest prompt goes, 4,096 at least.

    Costs as many tokens to read as that prompt. The longest is that with the most characters.
    """
    longest = max(items, key=lambda item: sum(len(m.content) for m in item.messages), default=None)
    if longest is None or not longest.messages:
        return least
    with running.scoring() as client:
        (ids,) = client.encode([longest.messages])
    return max(least, len(ids))


def _answered(
    client: ScoringClient, prompts: Sequence[GoldenItem], events: Sequence[RequestEvents]
) -> list[FidelityText]:
    ids = client.encode([item.messages for item in prompts])
    found = []
    for item, prompt, one in zip(prompts, ids, events, strict=True):
        if one.token_ids and not one.failure:
            parts = texts.language_part(item)
            # A slice of the user's that has the name of one of ours stays apart.
            own = f"{item.slice} (answers)" if item.slice in (PLAIN_SLICE, LONG_SLICE) else item.slice
            made = FidelityText(item.id, own, (*prompt, *one.token_ids), len(prompt), text=one.text, parts=parts)
            found.append(made)
    return found


def _plain(client: ScoringClient, plain: Sequence[PlainText]) -> list[FidelityText]:
    encoded = client.encode_texts([one.text for one in plain], special_tokens=True)
    return [
        FidelityText(one.id, PLAIN_SLICE, ids[: one.tokens + 1], 1, text=one.text, parts=(one.part,))
        for one, ids in zip(plain, encoded, strict=True)
        if len(ids) > 1
    ]


def _long(client: ScoringClient, plain: Sequence[PlainText], furthest: int, seed: int) -> list[FidelityText]:
    positions = texts.window_positions(client.info().context_length, furthest) if plain else ()
    if not positions:
        return []
    made = texts.long_text(len(positions), plain, seed)
    (head,) = client.encode_texts([made.head], special_tokens=True)
    pieces = client.encode_texts([*made.windows, *made.filler])
    windows = texts.place_windows(
        head, pieces[: len(positions)], pieces[len(positions) :], positions, [text.strip() for text in made.windows]
    )
    return [
        FidelityText(
            f"long text {window.start}",
            LONG_SLICE,
            window.token_ids,
            window.start,
            text=window.text,
            parts=(f"{LONG_SLICE} at {window.start:,}",),
            cluster=LONG_SLICE,
        )
        for window in windows
    ]


def _wide(found: Sequence[FidelityText]) -> list[FidelityText]:
    """The last positions of some texts, evenly from all kinds, to be looked at with many more ids."""
    count = min(WIDE_TEXTS, len(found))
    return [
        replace(
            text,
            id=f"{text.id} (wide)",
            start=max(text.start, len(text.token_ids) - WIDE_POSITIONS),
            text="",
            truncation=True,
        )
        for text in (found[place * len(found) // count] for place in range(count))
    ]


def _with_top_k(client: ScoringClient, found: Sequence[FidelityText], top_k: int) -> tuple[FidelityText, ...]:
    def request(text: FidelityText) -> ScoreRequest:
        return ScoreRequest(text.token_ids, text.start, top_k=WIDE_IDS if text.truncation else top_k)

    results = asking.score(client, found, request)
    whole = []
    for text, result in zip(found, results, strict=True):
        asking.refuse_nonfinite(text, result.top_logprobs)
        whole.append(
            replace(
                text,
                top_ids=result.top_ids,
                top_logprobs=_rounded(result.top_logprobs) if text.truncation else result.top_logprobs,
                target_logprobs=result.target_logprobs,
            )
        )
    return tuple(whole)


def _rounded(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """To a millionth of a nat: 32-bit numbers hold no more, and the record is a quarter of the size."""
    return tuple(tuple(round(value, 6) for value in row) for row in rows)
