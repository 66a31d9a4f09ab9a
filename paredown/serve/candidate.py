"""Starts a candidate of a finished run as it was measured."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paredown import environments, registry
from paredown.errors import UnknownNameError, UserError
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.models import content_digest
from paredown.records.candidate import Candidate
from paredown.records.verdict import Decision
from paredown.spec.schema import default_cache
from paredown.store.run_store import RunStore

START_TIMEOUT_S = 600.0


@contextmanager
def serving(run: Path, name: str | None, port: int) -> Iterator[RunningEngine]:
    """The engine of a candidate, ready on 127.0.0.1.

    name: default is the recommended candidate. Raises UserError when there is none, when its artifact is gone, or
    when its bytes are no longer those that were judged.
    """
    candidate = chosen(run, name)
    for artifact in candidate.artifacts.values():
        if not artifact.path.is_dir():
            raise UserError(f"{artifact.path} is gone. Run the same `paredown run` again: it makes the artifact anew.")
        if content_digest.digest_of(artifact.path) != artifact.digest:
            raise UserError(f"{artifact.path} was changed since it was judged: what it would serve was never measured.")
    engine = registry.engine(candidate.engine)
    python = environments.python_of(engine.environment, default_cache())
    with (
        tempfile.TemporaryDirectory(prefix="paredown-serve-") as work,
        launch.start(engine, candidate, Path(work), timeout_s=START_TIMEOUT_S, python=python, port=port) as running,
    ):
        yield running


def chosen(run: Path, name: str | None) -> Candidate:
    """The candidate of that name, or the recommended one."""
    with RunStore(run, read_only=True) as store:
        if name is None:
            decision = store.find("decision", "final", Decision)
            if decision is None:
                raise UserError(f"{run} has no decision yet. Run the same `paredown run` again: it goes on.")
            name = decision.recommended
            if name is None:
                near = f" The closest one: --candidate {decision.closest}." if decision.closest else ""
                raise UserError(f"{run} recommends no candidate ({decision.verdict.value}).{near}")
        found = store.find("candidate", name, Candidate)
        if found is None:
            raise UnknownNameError("candidate", name, {entry.key for entry in store.entries("candidate")})
        return found
