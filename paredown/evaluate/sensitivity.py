"""Which layers carry the loss of a candidate: the texts that are asked, and the worker that measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from paredown.environments import worker
from paredown.evaluate.worker_sensitivity import SensitivityText, SensitivityWork
from paredown.models import dense
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate
from paredown.records.codec import from_plain, to_plain
from paredown.records.explanation import Sensitivity
from paredown.records.golden import FidelityText

OnProgress = Callable[[float, str], None]
MODULE = "paredown.evaluate.worker_sensitivity"
MOST_TOKENS = 320
POSITIONS_EACH = 32
TIMEOUT_S = 3600.0


def why_not(source: Artifact, candidate: Candidate) -> str:
    """Why the layers of this candidate cannot be looked at one by one, or nothing."""
    artifact = candidate.artifacts.get("main")
    if artifact is None:
        return "it is somebody else's server: its weights are not here"
    if artifact.digest == source.digest:
        return "its weights are the baseline's: it changes only how they are run"
    if source.format != "hf":
        return (
            f"the baseline has the format {source.format!r}: single layers can be exchanged in a Hugging Face "
            "checkpoint only"
        )
    if artifact.format not in dense.names():
        return (
            f"the weights of the format {artifact.format!r} cannot be read back (those of "
            f"{', '.join(dense.names())} can)"
        )
    gone = next((path for path in (source.path, artifact.path) if not path.is_dir()), None)
    return f"{gone} is no longer there; the same `paredown run` makes it again" if gone else ""


def choose(texts: Sequence[FidelityText], most_tokens: int = MOST_TOKENS) -> tuple[SensitivityText, ...]:
    """The texts with most compared positions for what has to be read, until about `most_tokens` tokens are read."""

    def cost(text: FidelityText) -> tuple[float, str]:
        read = min(len(text.token_ids), text.start + POSITIONS_EACH)
        return read / max(1, read - text.start), text.id

    chosen: list[SensitivityText] = []
    left = most_tokens
    for text in sorted(texts, key=cost):
        ids = text.token_ids[: text.start + POSITIONS_EACH]
        if len(ids) <= text.start or text.start < 1 or (len(ids) > left and chosen):
            continue
        chosen.append(SensitivityText(ids, text.start))
        left -= len(ids)
    return tuple(chosen)


def measure(
    source: Artifact,
    candidate: Candidate,
    texts: Sequence[FidelityText],
    directory: Path,
    *,
    on_progress: OnProgress,
    python: Path,
    device: str = "cpu",
    threads: int = 0,
) -> Sensitivity:
    """The loss of every part; where it cannot be had, `missing` says why. `directory`: for the worker's log."""
    asked = choose(texts)
    reason = why_not(source, candidate) or ("" if asked else "there is no text to compare on")
    if reason:
        return Sensitivity(candidate.name, missing=reason)
    work = SensitivityWork(
        candidate=candidate.name,
        source=str(source.path.resolve()),
        artifact=str(candidate.main.path.resolve()),
        format=candidate.main.format,
        texts=asked,
        device=device,
        threads=threads,
    )
    directory.mkdir(parents=True, exist_ok=True)
    try:
        plain = worker.run(
            MODULE, to_plain(work), directory, on_progress=on_progress, python=python, timeout_s=TIMEOUT_S
        )
    except worker.WorkerFailed as failure:
        return Sensitivity(candidate.name, missing=_said(failure, directory))
    found: Sensitivity = from_plain(Sensitivity, dict(plain))
    return found


def _said(failure: worker.WorkerFailed, directory: Path) -> str:
    message = failure.message.rstrip(".")
    if failure.kind == "memory":
        return f"there is not enough memory for the model in 32 bits ({message})"
    if failure.kind == "user":
        return message
    return f"its process failed ({message}); the log is {directory / 'worker.log'}"
