"""The smoke gate: does the candidate answer as a whole model would, and is it the model that it claims to be?

Everything is compared with the baseline's own behaviour on the same prompts, so that a weak but honest model passes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.client import streaming
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory
from paredown.evaluate import generation
from paredown.evaluate.generation import Complete
from paredown.hosts.running import RunningEngine
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.golden import Check, Smoke
from paredown.records.traffic import Message, TrafficRequest
from paredown.stats import totals

Conversation = tuple[Message, ...]

ANSWER_TOKENS = 48
TIMEOUT_S = 600.0
# Where the baseline ends its answer by itself, the candidate gets this much more room to do so.
ROOM_FACTOR, ROOM_TOKENS = 2, 32
LONGEST_PERIOD = 16
LEAST_REPEATS = 4
LEAST_LOOP_TOKENS = 16
MOST_ODD_CHARACTERS = 0.1
STOPS_EARLY = 0.5
FEWEST_LENGTHS = 3

PROMPTS = (
    "What is the capital of France?",
    "What color is a ripe banana? Answer in one word.",
    "Write one sentence about the sea.",
    "How many days are in a week? Answer with a number.",
    "Translate 'good morning' into Spanish.",
    "Give me two tips for sleeping well.",
)
TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "  two spaces,\ta tab,\n\na blank line and 3.14159 – “quotes”",
    "naïve façade, Straße, 東京で寿司を食べる, Привет, مرحبا 🙂",
    'def f(x: int) -> dict:\n    return {"a": [x, x**2]}  # 100%',
)


def conversations() -> tuple[Conversation, ...]:
    """The smoke prompts, and one conversation with a system message and several turns (encoded, not answered)."""
    single = tuple((Message("user", prompt),) for prompt in PROMPTS)
    several = (
        Message("system", "You answer briefly."),
        Message("user", "Name a river."),
        Message("assistant", "The Danube."),
        Message("user", "Name another one."),
    )
    return (*single, several)


@dataclass(frozen=True)
class SmokeAnswer:
    text: str
    token_ids: tuple[int, ...]
    finish_reason: str
    failure: str = ""


@dataclass(frozen=True)
class Reference:
    """What the baseline does with the smoke prompts and texts; see `reference`.

    begun_ids: the texts with the special tokens that a text outside any conversation begins with, if there are any
    """

    prompt_ids: tuple[tuple[int, ...], ...]
    text_ids: tuple[tuple[int, ...], ...]
    decoded: tuple[str, ...]
    stop_ids: tuple[int, ...]
    answers: tuple[SmokeAnswer, ...]
    begun_ids: tuple[tuple[int, ...], ...] = ()


def reference(
    running: RunningEngine,
    *,
    concurrency: int = len(PROMPTS),
    timeout_s: float = TIMEOUT_S,
    complete: Complete = streaming.complete,
) -> Reference:
    """What `running` encodes, decodes, stops at and answers; taken of the baseline once, then given to `check`.

    Raises EngineError when a prompt fails: there is nothing to compare with then.
    """
    answers = answer(
        running,
        [ANSWER_TOKENS] * len(PROMPTS),
        concurrency=concurrency,
        timeout_s=timeout_s,
        complete=complete,
    )
    failed = [one.failure for one in answers if one.failure]
    if failed:
        raise EngineError(f"The baseline failed on {len(failed)} of {len(answers)} smoke prompts: {failed[0]}")
    with running.scoring() as client:
        text_ids = client.encode_texts(TEXTS)
        return Reference(
            client.encode(conversations()),
            text_ids,
            client.decode(text_ids),
            client.info().stop_ids,
            answers,
            client.encode_texts(TEXTS, special_tokens=True),
        )


def answer(
    running: RunningEngine,
    max_tokens: Sequence[int],
    *,
    concurrency: int = 1,
    timeout_s: float = TIMEOUT_S,
    complete: Complete = streaming.complete,
) -> tuple[SmokeAnswer, ...]:
    """Greedy answers to the smoke prompts. Raises the EngineError of an engine that ended meanwhile.

    One at a time by default: what is computed beside an answer may change its last digits, and so a near tie.
    """
    requests = [
        TrafficRequest(f"smoke-{index}", (Message("user", prompt),), limit)
        for index, (prompt, limit) in enumerate(zip(PROMPTS, max_tokens, strict=True))
    ]
    events = generation.greedy(running, requests, concurrency=concurrency, timeout_s=timeout_s, complete=complete)
    return tuple(
        SmokeAnswer(
            one.text,
            one.token_ids,
            one.finish_reason,
            "" if one.failure == "no_tokens" else f"{one.failure} {one.detail}".strip(),
        )
        for one in events
    )


def limits(baseline: Reference) -> list[int]:
    """Tokens each smoke answer of a candidate may have: room to end where the baseline ends by itself."""
    return [
        ROOM_FACTOR * len(one.token_ids) + ROOM_TOKENS if one.finish_reason == "stop" else ANSWER_TOKENS
        for one in baseline.answers
    ]


# ── the gate ─────────────────────────────────────────────────────────────────────────────────────────────────────


def check(
    running: RunningEngine,
    baseline: Reference,
    *,
    candidate: str,
    changed: Check,
    reloaded: Sequence[SmokeAnswer] | str,
    declared: Sequence[Check] = (),
    concurrency: int = 1,
    timeout_s: float = TIMEOUT_S,
    complete: Complete = streaming.complete,
) -> Smoke:
    """All checks of the gate on a started candidate.

    changed:  whether something was really changed, from the artifacts' own files
    reloaded: `answer(…, limits(baseline))` of a second start of the same candidate, or why there is none
    declared: what the files of both sides say (`smoke_declared.check`)
    """
    answers = answer(running, limits(baseline), concurrency=concurrency, timeout_s=timeout_s, complete=complete)
    with running.scoring() as client:
        same_model = (*_prompts(client, baseline), _tokenizer(client, baseline), _stop_ids(client, baseline))
    return Smoke(
        candidate,
        (
            # Causes before what follows from them: the first that failed heads the verdict.
            *same_model,
            *declared,
            _answers(answers, baseline),
            _coherent(answers, baseline),
            _stops(answers, baseline),
            _lengths(answers, baseline),
            changed,
            _reloads(answers, reloaded),
        ),
        tuple(one.text for one in answers),
    )


def _answers(answers: Sequence[SmokeAnswer], baseline: Reference) -> Check:
    failed = [one.failure for one in answers if one.failure]
    if failed:
        return Check("answers", passed=False, detail=f"{len(failed)} of {len(answers)} prompts failed: {failed[0]}")
    empty = sum(not one.text.strip() for one in answers)
    usual = sum(not one.text.strip() for one in baseline.answers)
    said = f"{len(answers) - empty} of {len(answers)} prompts got an answer (baseline: {len(answers) - usual})"
    if empty <= usual + len(answers) // 3:
        return Check("answers", passed=True, detail=said)
    at_once = sum(not one.text.strip() and one.finish_reason == "stop" for one in answers)
    return Check("answers", passed=False, detail=f"Stops early: {said}; {at_once} end at once" if at_once else said)


def _coherent(answers: Sequence[SmokeAnswer], baseline: Reference) -> Check:
    """Fails when more than three quarters of the answers loop or are not text, and the baseline does better.

    Not earlier: honest 4-bit artifacts of a small model were seen to loop on half of these prompts.
    """
    bad = [fault for one in answers if (fault := incoherence(one))]
    usual = sum(bool(incoherence(one)) for one in baseline.answers)
    if 4 * len(bad) > 3 * len(answers) and len(bad) > usual + 1:
        return Check("coherent", passed=False, detail=f"{len(bad)} of {len(answers)} answers are broken: {bad[0]}")
    return Check(
        "coherent", passed=True, detail=f"{len(answers) - len(bad)} of {len(answers)} answers are text without a loop"
    )


def incoherence(one: SmokeAnswer) -> str:
    """What makes an answer no text: a loop at its end, or many characters that belong into none. Empty: neither."""
    period = loop_period(one.token_ids)
    if period:
        return f"it repeats its last {period} tokens: {one.text[-60:]!r}"
    odd = sum(_is_odd(character) for character in one.text)
    if one.text and odd > MOST_ODD_CHARACTERS * len(one.text):
        return f"{odd} of {len(one.text)} characters are no text: {one.text[:60]!r}"
    return ""


def loop_period(token_ids: Sequence[int]) -> int:
    """Length of the block that the ids end with at least 4 times (16 tokens or more), else 0."""
    for period in range(1, LONGEST_PERIOD + 1):
        length = max(LEAST_REPEATS * period, LEAST_LOOP_TOKENS)
        tail = token_ids[-length:]
        if len(tail) == length and all(tail[place] == tail[place - period] for place in range(period, length)):
            return period
    return 0


def _is_odd(character: str) -> bool:
    is_control = unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs") and character not in "\n\t\r"
    return character == "\ufffd" or is_control


def _prompts(client: ScoringClient, baseline: Reference) -> tuple[Check, ...]:
    """The first token by itself, and the chat template in all else."""
    begun = client.encode_texts(TEXTS, special_tokens=True)
    try:
        given = client.encode(conversations())
    except (EngineDied, EngineHung, EngineOutOfMemory):
        raise
    except EngineError as error:
        lost = f"The chat template was lost or cannot render a conversation: {error}"
        return (_begins((), (), begun, baseline.begun_ids), Check("chat template", passed=False, detail=lost))
    first = _begins(given, baseline.prompt_ids, begun, baseline.begun_ids)
    if first.passed is False and (_shifted(given, baseline.prompt_ids) or _shifted(baseline.prompt_ids, given)):
        return (first, Check("chat template", passed=True, detail="is the baseline's but for the first token"))
    return (first, _template(given, baseline))


def _shifted(shorter: Sequence[tuple[int, ...]], longer: Sequence[tuple[int, ...]]) -> bool:
    """Whether all of one are the others without the first token, which is always the same."""
    same = all(ours == theirs[1:] for ours, theirs in zip(shorter, longer, strict=True))
    return same and len(longer) > 0 and len({row[:1] for row in longer}) == 1


def _begins(
    given: Sequence[tuple[int, ...]],
    wanted: Sequence[tuple[int, ...]],
    begun: Sequence[tuple[int, ...]],
    wanted_begun: Sequence[tuple[int, ...]],
) -> Check:
    """A lost BOS moves every answer a little and breaks none; a doubled one too."""
    for what, ours, theirs in (("conversation", given, wanted), ("text without a template", begun, wanted_begun)):
        if len(ours) != len(theirs):
            continue  # taken by an older version, or no conversation can be rendered
        if _shifted(ours, theirs):
            said = (
                f"The first token is missing (BOS): the baseline begins every {what} with the token {theirs[0][0]}, "
                "the candidate does not. Its tokenizer or chat template lost it."
            )
            return Check("first token", passed=False, detail=said)
        if _shifted(theirs, ours):
            said = (
                f"There is one first token too many (a doubled BOS?): the candidate begins every {what} with a "
                f"further token {ours[0][0]}."
            )
            return Check("first token", passed=False, detail=said)
    return Check("first token", passed=True, detail="conversations and texts begin as the baseline's")


def _template(given: Sequence[tuple[int, ...]], baseline: Reference) -> Check:
    other = [
        index for index, (ours, theirs) in enumerate(zip(given, baseline.prompt_ids, strict=True)) if ours != theirs
    ]
    if not other:
        return Check("chat template", passed=True, detail=f"{len(given)} conversations have the baseline's token ids")
    return Check(
        "chat template",
        passed=False,
        detail="The chat template was lost or changed: "
        f"{len(other)} of {len(given)} conversations do not have the baseline's token ids "
        f"({len(given[other[0]])} tokens instead of {len(baseline.prompt_ids[other[0]])} in the first).",
    )


def _tokenizer(client: ScoringClient, baseline: Reference) -> Check:
    given = client.encode_texts(TEXTS)
    other = [text for text, ours, theirs in zip(TEXTS, given, baseline.text_ids, strict=True) if ours != theirs]
    if other:
        return Check(
            "tokenizer", passed=False, detail=f"{len(other)} of {len(TEXTS)} texts have other token ids: {other[0]!r}"
        )
    decoded = client.decode(given)
    back = [text for text, theirs in zip(decoded, baseline.decoded, strict=True) if text != theirs]
    if back:
        return Check(
            "tokenizer",
            passed=False,
            detail=f"{len(back)} of {len(TEXTS)} token sequences decode otherwise: {back[0]!r}",
        )
    return Check("tokenizer", passed=True, detail=f"{len(TEXTS)} texts have the baseline's token ids, and decode alike")


def _stop_ids(client: ScoringClient, baseline: Reference) -> Check:
    given, wanted = set(client.info().stop_ids), set(baseline.stop_ids)
    if given == wanted:
        return Check("stop ids", passed=True, detail=f"ends at the tokens {sorted(wanted)}, as the baseline")
    return Check(
        "stop ids",
        passed=not (wanted - given),
        detail=f"ends at the tokens {sorted(given)}, the baseline at {sorted(wanted)}",
    )


def _stops(answers: Sequence[SmokeAnswer], baseline: Reference) -> Check:
    """Fails when the candidate ends none of several answers that the baseline ends by itself."""
    ended = [index for index, one in enumerate(baseline.answers) if one.finish_reason == "stop"]
    if not ended:
        return Check("stops", passed=None, detail=f"the baseline ends no answer within {ANSWER_TOKENS} tokens")
    stopped = sum(answers[index].finish_reason == "stop" for index in ended)
    said = f"ends {stopped} of the {len(ended)} answers that the baseline ends by itself"
    return Check("stops", passed=stopped > 0 or len(ended) < 2, detail=said)


def _lengths(answers: Sequence[SmokeAnswer], baseline: Reference) -> Check:
    """A handful of answers shows only gross differences; the gate of answer lengths judges by the golden prompts."""
    pairs = [
        (len(theirs.token_ids), len(ours.token_ids))
        for ours, theirs in zip(answers, baseline.answers, strict=True)
        if theirs.finish_reason == "stop"
    ]
    usual, made = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if not usual:
        return Check("lengths", passed=None, detail=f"the baseline ends no answer within {ANSWER_TOKENS} tokens")
    said = f"{made} tokens in the {len(pairs)} answers that the baseline ends by itself, in {usual}"
    if len(pairs) >= FEWEST_LENGTHS and made:
        high = totals.ratio([pair[0] for pair in pairs], [pair[1] for pair in pairs]).high
        if high is not None and high < STOPS_EARLY:
            return Check("lengths", passed=False, detail=f"Stops early, which looks faster: {said}.")
    return Check("lengths", passed=True, detail=said)


def _reloads(answers: Sequence[SmokeAnswer], reloaded: Sequence[SmokeAnswer] | str) -> Check:
    """Two thirds alike is enough: a near tie between two tokens may fall either way when threads add up differently."""
    if isinstance(reloaded, str):
        return Check("reloads", passed=None, detail=reloaded)
    same = sum(ours.token_ids == theirs.token_ids for ours, theirs in zip(answers, reloaded, strict=True))
    said = f"{same} of {len(answers)} answers have the same tokens after a second start"
    return Check("reloads", passed=3 * same >= 2 * len(answers), detail=said)
