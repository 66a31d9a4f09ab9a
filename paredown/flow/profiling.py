"""`profile`: where prefill and decode of one model stand on this machine, operator by operator."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from paredown.errors import UserError
from paredown.flow import measuring
from paredown.flow.progress import Progress
from paredown.flow.subject import ModelAsked, ServerAsked, Subject
from paredown.profile import ceilings
from paredown.profile import run as profiles
from paredown.records.machine import Ceilings
from paredown.records.measurement import Measurement
from paredown.store.run_store import RunStore


@dataclass(frozen=True)
class ProfileAsked:
    """batches: requests decoded together; prompt_tokens: lengths of the prompts that are prefilled."""

    batches: tuple[int, ...]
    prompt_tokens: tuple[int, ...]


def asked(batches: str, prompt_tokens: str) -> ProfileAsked:
    """From lists such as `1,2,4`. Raises UserError."""
    return ProfileAsked(_numbers("--batch", batches), _numbers("--prompt-tokens", prompt_tokens))


def default_directory(subject: ModelAsked | ServerAsked) -> Path:
    """`paredown-runs/profile-NAME`: a profile always leaves its traces somewhere."""
    named = subject.model if isinstance(subject, ModelAsked) else subject.url
    return Path("paredown-runs") / f"profile-{re.sub(r'[^A-Za-z0-9._-]+', '-', named).strip('-')}"


def profile(
    subject: Subject, wanted: ProfileAsked, store: RunStore, directory: Path, progress: Progress, command: str
) -> Measurement:
    """Raises UserError for a server: its steps cannot be seen from outside."""
    if subject.facts is None or subject.artifact is None:
        raise UserError(
            "A profile needs the model's files and its engine's process; of a server only latencies can be seen. Use "
            "`paredown measure --endpoint`, or give the MODEL directory."
        )
    with progress.stage("Ceilings of this machine", estimate_s=10):
        measured = store.once("ceilings", "host", Ceilings, ceilings.measure)
    with progress.stage(f"Profiling {subject.name} on {subject.engine.name}") as stage:
        found = profiles.profile(
            subject.engine,
            subject.candidate,
            subject.facts,
            measured,
            python=subject.python,
            device=subject.device,
            out=directory / "traces",
            batches=wanted.batches,
            prompt_tokens=wanted.prompt_tokens,
            on_progress=stage.update,
        )
    whole = replace(measuring.begun(subject, command), profile=found)
    store.put("measurement", "profile", whole, bulk=True)
    return whole


def _numbers(flag: str, text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise UserError(f"{flag} is {text!r}; give whole numbers from 1 on, separated by commas, such as 1,2,4.")
    return numbers
