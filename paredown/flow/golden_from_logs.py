"""A golden set from request logs: read, without near-duplicates, sampled by stratum, masked, with frozen answers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown import __version__
from paredown.contracts import RawRow
from paredown.curate import items, log_lines, selection, strata
from paredown.curate.items import Frozen
from paredown.curate.selection import Ledger, LeftOutLines, Placed
from paredown.curate.strata import Stratum
from paredown.errors import UserError
from paredown.evaluate import generation, golden, rows
from paredown.flow import record_place
from paredown.flow import subject as subjects
from paredown.flow.progress import Progress
from paredown.flow.subject import ModelAsked, Subject
from paredown.records import codec
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.report.files import replace_whole
from paredown.spec.schema import default_cache
from paredown.stats import near_duplicates

LOG, BASELINE = "log", "baseline"
BATCH, CONCURRENCY, TIMEOUT_S = 32, 8, 600.0
SIDECAR = ".provenance.json"


@dataclass(frozen=True)
class GoldenAsked:
    """What to make.

    near:    Jaccard similarity from which two prompts count as the same; 1 = only equal ones
    answers: `log`, `baseline`, or empty: the log's where every chosen request has a whole one, else the baseline's
    answer_tokens: length of a baseline answer where the request gives no limit
    phone_regions: countries whose national way of writing phone numbers is looked for
    """

    logs: tuple[str, ...]
    model: ModelAsked
    out: Path
    count: int = 400
    by: tuple[str, ...] = strata.DEFAULT
    seed: int = 0
    near: float = near_duplicates.THRESHOLD
    scorer: str = items.AUTO
    answers: str = ""
    answer_tokens: int = 256
    keep_personal_data: bool = False
    phone_regions: tuple[str, ...] = ("US",)


@dataclass(frozen=True)
class GoldenMade:
    """What was written and what became of every line; kept beside the file as its provenance.

    sources: SHA-256 of each log; digest: of the golden set, as a run's record has it
    answers, scorers: items by origin of their answer, and by scorer
    masked:  values replaced, by kind; None = personal data was kept
    """

    out: str
    paredown: str
    sources: Mapping[str, str]
    model: str
    model_digest: str
    seed: int
    by: tuple[str, ...]
    near: float
    lines: int
    left_out: tuple[LeftOutLines, ...]
    strata: tuple[Stratum, ...]
    answers: Mapping[str, int]
    scorers: Mapping[str, int]
    masked: Mapping[str, int] | None
    digest: str


def build(asked: GoldenAsked, cache: Path | None, progress: Progress) -> GoldenMade:
    """Write the golden set and its provenance. Raises UserError for what cannot be made, EngineError of the model."""
    _check(asked)
    ledger = Ledger()
    contents = {source: log_lines.content_of(source) for source in dict.fromkeys(asked.logs)}
    with progress.stage("Reading the logs") as stage:
        read = selection.read(contents, ledger)
        ledger.refuse_nothing(read, "can be used")
        stage.update(0.2, f"{len(read):,} requests: looking for near-duplicates")
        unlike = selection.unlike(selection.thin(read, asked.seed, ledger), asked.near, ledger)
    with record_place.opened(None) as store:
        place = (cache or default_cache()).resolve()
        subject = subjects.of_model(asked.model, store.directory, place, progress)
        with progress.stage(f"Sampling from {len(unlike):,} requests"):
            placed = _placed(unlike, subject, asked, ledger)
            chosen: Sequence[Placed] = selection.sample(placed, asked.count, asked.seed)
        counts: Mapping[str, int] | None = None
        if not asked.keep_personal_data:
            with progress.stage("Masking personal data"):
                clean = selection.masked(chosen, asked.phone_regions)
                chosen, counts = clean.requests, clean.counts
        frozen = _frozen(chosen, subject, asked, ledger, progress)
    salt = hashlib.sha256(b"\0".join([b"cluster", *contents.values()])).digest()
    written = _rows(frozen, asked, salt, ledger)
    ledger.refuse_nothing(written, "has an answer that can be kept")
    return _write(asked, written, contents, subject, ledger, placed, counts)


def _check(asked: GoldenAsked) -> None:
    """Refuse before anything is read or loaded. Raises UserError."""
    strata.check(asked.by)
    for path in (asked.out, _sidecar(asked.out)):
        if path.exists():
            raise UserError(f"{path} exists already. Give another --out, or remove it first.")
    if asked.out.suffix not in (".jsonl", ".ndjson"):
        raise UserError(f"--out is {str(asked.out)!r}; expected a name that ends in .jsonl, so that --golden reads it.")
    if not asked.out.resolve().parent.is_dir():
        raise UserError(f"The directory of --out {asked.out} does not exist. Make it, or give another.")


def _sidecar(out: Path) -> Path:
    return out.with_name(out.name + SIDECAR)


def _count(subject: Subject) -> Callable[[Sequence[Message]], int]:
    def count(messages: Sequence[Message]) -> int:
        return len(subject.tokens.encode_conversation([message.plain for message in messages]))

    return count


def _placed(unlike: Sequence[Any], subject: Subject, asked: GoldenAsked, ledger: Ledger) -> list[Placed]:
    placed = selection.place(unlike, _count(subject), subject.tokens.context_length, asked.by, ledger)
    ledger.refuse_nothing(placed, "fits the model")
    return placed


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _frozen(
    chosen: Sequence[Placed], subject: Subject, asked: GoldenAsked, ledger: Ledger, progress: Progress
) -> list[Frozen]:
    has_whole = [bool(one.exchange.answer.strip()) and not one.exchange.cut for one in chosen]
    if asked.answers == LOG or (not asked.answers and all(has_whole)):
        found = [_logged(one, subject) for one, whole in zip(chosen, has_whole, strict=True) if whole]
        for one, whole in zip(chosen, has_whole, strict=True):
            if not whole:
                ledger.leave_out("without a whole answer in the log", one.exchange.where)
    else:
        if not asked.answers and any(has_whole):
            logged = f"{sum(has_whole)} of {len(chosen)} chosen requests have a whole answer in the log"
            progress.note(f"{logged}: the baseline answers all of them (--answers log keeps to those).")
        found = _answered(chosen, subject, asked, ledger, progress)
    return [one for one in found if _fits(one, subject, ledger)]


def _logged(one: Placed, subject: Subject) -> Frozen:
    return Frozen(one.exchange, one.stratum, one.exchange.answer, LOG, _length(one.exchange.answer, subject))


def _length(answer: str, subject: Subject) -> int:
    """Tokens of an answer, a few of the template included."""
    return _count(subject)([Message("user", answer)])


def _fits(one: Frozen, subject: Subject, ledger: Ledger) -> bool:
    """Whether prompt and answer fit the context, so that the answer can be scored."""
    context = subject.tokens.context_length
    fits = context is None or _count(subject)(one.exchange.messages) + one.tokens <= context
    if not fits:
        ledger.leave_out(f"longer than the context of {context} tokens with its answer", one.exchange.where)
    return fits


def _answered(
    chosen: Sequence[Placed], subject: Subject, asked: GoldenAsked, ledger: Ledger, progress: Progress
) -> list[Frozen]:
    """The baseline's own greedy answers. Raises EngineError when the engine ends."""
    found: list[Frozen] = []
    title = f"Answers of {subject.name} on {subject.engine.name}"
    done = 0

    def count(_: RequestEvents) -> None:
        nonlocal done
        done += 1
        stage.update(done / len(chosen), f"{done} of {len(chosen)} prompts")

    with progress.stage(title, estimate_s=len(chosen) * 1.0) as stage, subject.start() as running:
        for start in range(0, len(chosen), BATCH):
            batch = chosen[start : start + BATCH]
            requests = [
                TrafficRequest(str(place), one.exchange.messages, _room(one, subject, asked))
                for place, one in enumerate(batch)
            ]
            events = generation.greedy(running, requests, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S, on_done=count)
            for one, answer in zip(batch, events, strict=True):
                found += _kept(one, answer, ledger)
    return found


def _room(one: Placed, subject: Subject, asked: GoldenAsked) -> int:
    """Tokens that the answer may have: the request's own limit, within the context and `answer_tokens`."""
    context = subject.tokens.context_length
    wanted = min(one.exchange.max_tokens or asked.answer_tokens, asked.answer_tokens)
    return wanted if context is None else max(1, min(wanted, context - one.tokens - 1))


def _kept(one: Placed, answer: RequestEvents, ledger: Ledger) -> list[Frozen]:
    if answer.failure and answer.failure != "no_tokens":
        ledger.leave_out(f"not answered by the baseline ({answer.failure})", one.exchange.where)
        return []
    if not answer.text.strip():
        ledger.leave_out("answered by the baseline with nothing", one.exchange.where)
        return []
    cut = answer.finish_reason == "length"
    return [Frozen(one.exchange, one.stratum, answer.text, BASELINE, answer.output_tokens, cut)]


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────


def _rows(frozen: Sequence[Frozen], asked: GoldenAsked, salt: bytes, ledger: Ledger) -> list[dict[str, Any]]:
    """Rows that `--golden` takes; each was read as it will be read."""
    found: dict[str, dict[str, Any]] = {}
    for one in frozen:
        row = items.row(one, scorer=asked.scorer, salt=salt)
        if row["id"] in found:
            ledger.leave_out("the same as an earlier one once personal data is masked", one.exchange.where)
            continue
        try:
            rows.parse(RawRow(row, one.exchange.where))
        except UserError as error:
            ledger.leave_out(f"no golden item: {str(error).removeprefix(one.exchange.where)}", one.exchange.where)
            continue
        found[row["id"]] = row
    return list(found.values())


def _write(
    asked: GoldenAsked,
    written: Sequence[Mapping[str, Any]],
    contents: Mapping[str, bytes],
    subject: Subject,
    ledger: Ledger,
    placed: Sequence[Placed],
    masked: Mapping[str, int] | None,
) -> GoldenMade:
    replace_whole(asked.out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written))
    taken = Counter(str(row["slice"]) for row in written)
    sizes = Counter(one.stratum for one in placed)
    made = GoldenMade(
        out=str(asked.out),
        paredown=__version__,
        sources={source: hashlib.sha256(content).hexdigest() for source, content in contents.items()},
        model=subject.name,
        model_digest=subject.artifact.digest if subject.artifact else "",
        seed=asked.seed,
        by=asked.by,
        near=asked.near,
        lines=ledger.lines,
        left_out=ledger.left_out(),
        strata=tuple(Stratum(name, sizes[name], taken[name]) for name in sorted(sizes)),
        answers=Counter(str(row["tags"]["answer"]) for row in written),
        scorers=Counter(str(row["scorer"]) for row in written),
        masked=masked,
        digest=golden.load([str(asked.out)]).digest,
    )
    replace_whole(_sidecar(asked.out), json.dumps(codec.to_plain(made), indent=2, ensure_ascii=False) + "\n")
    return made
