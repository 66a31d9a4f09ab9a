"""The scripted language model of the fake engine: which token comes next, and with what probability.

Tokens are bytes, 256 ends an answer. The model is a function of the tokens before (nothing is drawn), so that what is
served and what is scored agree. After a prompt that its script knows it says the scripted answer, right or wrong by
the hash of the prompt; after any other it says words chosen by the prompt; off its path, letters chosen by the last
four tokens. A variant of the model that shares `language` differs from it only as its script says.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paredown.errors import UserError
from paredown.records.codec import loads

END = 256
VOCABULARY = 257
ANSWER_STARTS = b"\x02assistant\n"
CHAT_TEMPLATE = (
    "{% for message in messages %}\x02{{ message['role'] }}\n{{ message['content'] }}\x03\n{% endfor %}"
    "{% if add_generation_prompt %}\x02assistant\n{% endif %}"
)
LETTERS = (*b"eeeettttaaaaooooiiiinnnnsssshhhrrrdlllucmwfgypbvk       ", END)
WORDS = (
    "river",
    "stone",
    "light",
    "paper",
    "garden",
    "window",
    "early",
    "market",
    "copper",
    "travel",
    "winter",
    "signal",
    "narrow",
    "bridge",
    "answer",
    "simple",
    "yellow",
    "follow",
    "carry",
    "morning",
    "village",
    "quiet",
    "letter",
    "north",
    "island",
    "number",
    "steady",
    "harbour",
)
RUNNER_UP_SHARE = 0.6


@dataclass(frozen=True)
class ScriptedItem:
    """What is known of one prompt. `prompt_digest`: SHA-256 of the rendered conversation in UTF-8."""

    prompt_digest: str
    right: str
    wrong: tuple[str, ...] = ()
    slice: str = ""


@dataclass(frozen=True)
class Knowledge:
    """An answer to every prompt that contains these words."""

    contains: str
    answer: str


@dataclass(frozen=True)
class Speeds:
    """Time that the fake takes, in ns: slept, or only counted with a scripted clock."""

    load_ns: int = 0
    prefill_ns_per_token: int = 0
    decode_ns_per_step: int = 0
    decode_ns_per_further_request: int = 0
    scoring_ns_per_token: int = 0


@dataclass(frozen=True)
class Faults:
    """What goes wrong, and when; counted in generated tokens of the whole process where a number is asked for."""

    oom_on_load: bool = False
    fail_on_load: str = ""
    die_on_load: bool = False
    hang_on_load: bool = False
    die_after_tokens: int | None = None
    hang_after_tokens: int | None = None
    oom_after_tokens: int | None = None
    fail_after_tokens: int | None = None
    die_in_scoring: bool = False
    hang_in_scoring: bool = False
    oom_in_scoring: bool = False
    wrong_tokens: bool = False
    ignores_forced_length: bool = False
    one_at_a_time: bool = False
    repeats_itself: bool = False


@dataclass(frozen=True)
class CacheScript:
    """The KV cache of the fake.

    bytes_per_token: what one position takes
    capacity_tokens: positions that fit, prompts and whole answers of all requests together; later ones wait inside
                     the engine. None = all that come
    fails_when_full: memory runs out instead
    keeps_prefixes:  the beginning of a prompt that was read before takes no time
    """

    bytes_per_token: int = 256
    capacity_tokens: int | None = None
    fails_when_full: bool = False
    keeps_prefixes: bool = False


@dataclass(frozen=True)
class FakeScript:
    """fake.json.

    right_fraction: share of the items of a slice that it answers right; "" stands for every slice not named
    luck:           share of the items on which right or wrong is decided by `seed` alone: flips both ways
    sharpness:      probability of the likeliest token
    disagreement:   share of unscripted positions at which the runner-up of `language` is the likeliest
    scripted_clock: time stamps are those of the script, from 0 on, and nothing sleeps
    """

    weight_bytes: int = 1_000_000
    parameters: int = 500_000
    language: int = 0
    seed: int = 0
    items: tuple[ScriptedItem, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    right_fraction: Mapping[str, float] = field(default_factory=lambda: {"": 1.0})
    luck: float = 0.0
    sharpness: float = 0.995
    disagreement: float = 0.0
    speeds: Speeds = Speeds()
    faults: Faults = Faults()
    cache: CacheScript = CacheScript()
    scripted_clock: bool = False


def read_script(directory: Path) -> FakeScript:
    """Raises UserError when the directory has no fake.json."""
    path = directory / "fake.json"
    if not path.exists():
        raise UserError(f"{directory} has no fake.json, so it is no artifact of the fake engine.")
    return loads(FakeScript, path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Peaked:
    """A distribution over the vocabulary: the likeliest token, the next one, the rest alike."""

    top: int
    runner_up: int
    sharpness: float

    def logprob(self, token: int) -> float:
        """Natural logarithm of its probability."""
        rest = 1.0 - self.sharpness
        if token == self.top:
            return math.log(self.sharpness)
        if token == self.runner_up:
            return math.log(rest * RUNNER_UP_SHARE)
        return math.log(rest * (1.0 - RUNNER_UP_SHARE) / (VOCABULARY - 2))

    def largest(self, count: int) -> tuple[int, ...]:
        """Ids of the `count` likeliest tokens, likeliest first, of equal ones the lowest id first."""
        first = (self.top, self.runner_up)
        others = (token for token in range(VOCABULARY) if token not in first)
        return (*first, *others)[:count]


class Language:
    """The model that a script describes."""

    def __init__(self, script: FakeScript) -> None:
        self.script = script
        self._items = {item.prompt_digest: item for item in script.items}

    def answer(self, prompt: bytes) -> bytes:
        """What it answers to a rendered conversation."""
        if self.script.faults.repeats_itself:
            return b"na " * 100
        digest = hashlib.sha256(prompt).hexdigest()
        item = self._items.get(digest)
        if item is not None:
            wrong = item.wrong or ("I do not know.",)
            chosen = item.right if self._is_right(item) else wrong[_hash(digest, "wrong") % len(wrong)]
            return chosen.encode()
        for known in self.script.knowledge:
            if known.contains.encode() in prompt:
                return known.answer.encode()
        return _words(digest).encode()

    def _is_right(self, item: ScriptedItem) -> bool:
        script, digest = self.script, item.prompt_digest
        fraction = script.right_fraction.get(item.slice, script.right_fraction.get("", 1.0))
        if _unit(digest, f"luck {script.seed}") < script.luck:
            return _unit(digest, f"own {script.seed}") < fraction
        return _unit(digest, "skill") < fraction

    def knows(self, prompt: bytes) -> bool:
        return hashlib.sha256(prompt).hexdigest() in self._items

    def reader(self, tokens: Sequence[int]) -> Reader:
        return Reader(self, tokens)


class Reader:
    """Reads tokens one by one and says what comes next. It never looks ahead."""

    def __init__(self, language: Language, tokens: Sequence[int]) -> None:
        self._language, self._script = language, language.script
        self._seen = bytearray(_as_bytes(tokens))
        self._answer: tuple[int, ...] = ()
        self._scripted = False
        self._at = -1  # position on the path of the answer, −1 when off it
        start = self._seen.rfind(ANSWER_STARTS)
        if start >= 0:
            end = start + len(ANSWER_STARTS)
            self._plan(bytes(self._seen[:end]))
            for token in tokens[end:]:
                self._follow(token)

    def read(self, token: int) -> None:
        self._seen.append(min(token, 255))
        if token == ANSWER_STARTS[-1] and self._seen.endswith(ANSWER_STARTS):
            self._plan(bytes(self._seen))
        else:
            self._follow(token)

    def next(self) -> Peaked:
        """The distribution of the next token."""
        script, context = self._script, bytes(self._seen[-4:])
        mixed = zlib.crc32(context, script.language)
        by_letters, runner_up = LETTERS[mixed % len(LETTERS)], LETTERS[(mixed >> 8) % len(LETTERS)]
        top = self._answer[self._at] if 0 <= self._at < len(self._answer) else by_letters
        if runner_up == top:
            runner_up = ord("z") if top != ord("z") else ord("y")
        if not (self._scripted and self._at >= 0):
            swapped = zlib.crc32(context, script.seed + 7919) / 2**32 < script.disagreement
            if swapped:
                top, runner_up = runner_up, top
        return Peaked(top, runner_up, script.sharpness)

    def _plan(self, prompt: bytes) -> None:
        # Whether it starts with a space is left open: choices that are scored often do, answers seldom.
        self._answer = (*self._language.answer(prompt).lstrip(), END)
        self._scripted = self._language.knows(prompt)
        self._at = 0

    def _follow(self, token: int) -> None:
        if self._at == 0 and token == ord(" "):
            return  # a choice that starts with a space is the same answer
        is_on_path = 0 <= self._at < len(self._answer) and self._answer[self._at] == token
        self._at = self._at + 1 if is_on_path else -1


def _as_bytes(tokens: Sequence[int]) -> bytes:
    """0xFF is no byte of UTF-8: it stands for every special token."""
    try:
        return bytes(tokens)
    except ValueError:
        return bytes(min(token, 255) for token in tokens)


def _words(digest: str) -> str:
    count = 6 + _hash(digest, "length") % 8
    chosen = [WORDS[_hash(digest, f"word {place}") % len(WORDS)] for place in range(count)]
    return " ".join(chosen).capitalize() + "."


def _hash(digest: str, purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{digest} {purpose}".encode()).digest()[:8], "big")


def _unit(digest: str, purpose: str) -> float:
    return _hash(digest, purpose) / 2**64
