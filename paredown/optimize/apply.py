"""Make an artifact by one step of one technique, once: the cache's key is everything that decides its content."""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.metadata
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paredown import environments
from paredown.contracts import Applied, Technique
from paredown.environments import once, worker
from paredown.errors import DiskFullError, RecordError, TechniqueError, TechniqueOutOfMemory, UserError
from paredown.models import artifact as artifacts
from paredown.models import content_digest
from paredown.records.artifact import Artifact
from paredown.records.candidate import Step
from paredown.records.codec import digest, dumps, from_plain, loads, to_plain

OnProgress = Callable[[float, str], None]
RECORD = "artifact.json"
MODEL = "model"


@dataclass(frozen=True)
class _Job:
    """One step with everything that decides what it makes, and where that is kept."""

    technique: Technique
    step: Step
    sources: Mapping[str, Artifact]
    calibration: Path | None
    devices: tuple[str, ...]
    seed: int
    key: str
    cache: Path

    @property
    def final(self) -> Path:
        return self.cache / "artifacts" / f"{self.technique.name}-{self.key[:16]}"

    @property
    def checkpoints(self) -> Path:
        return self.cache / "checkpoints" / f"{self.technique.name}-{self.key[:16]}"


def make(
    technique: Technique,
    step: Step,
    sources: Mapping[str, Artifact],
    *,
    cache: Path,
    parameters: int,
    on_progress: OnProgress,
    python: Path | None = None,
    timeout_s: float | None = None,
    calibration: Path | None = None,
    devices: Sequence[str] = ("cpu",),
    seed: int = 0,
) -> Artifact:
    """The artifact of `step`; made now in a worker process, or taken from the cache when the same was made before.

    sources:    artifacts by role; `step.source` is among them
    parameters: of the source model
    python:     interpreter of the technique's environment; made when it has one and this is None
    A kill at any moment leaves no half-made artifact; checkpoints of the technique survive it for the next attempt.
    Raises TechniqueError (TechniqueOutOfMemory) with the tail of the worker's log, DiskFullError, UserError.
    """
    if technique.apply is None:
        raise TechniqueError(f"{technique.name} only sets options of the engine: there is no artifact to make.")
    if step.source not in sources:
        raise TechniqueError(f"{technique.name} reads the artifact {step.source!r}, given are {sorted(sources)}.")
    if technique.needs.calibration and calibration is None:
        raise UserError(f"{technique.name} needs calibration text, and none was given.")
    # `main` is what the technique calls the artifact that it changes, whatever its role in the candidate.
    sources = {**sources, "main": sources[step.source]}
    cache = cache.resolve()
    key = content_key(technique, step, sources, calibration, seed)
    job = _Job(technique, step, sources, calibration, tuple(devices), seed, key, cache)
    if job.final.is_dir() and not _is_whole(job.final):
        on_progress(0.0, f"{job.final.name} was changed since it was made: making it again")
        shutil.rmtree(job.final)
    if not job.final.is_dir() and python is None and technique.environment is not None:
        python = environments.ensure(technique.environment, cache, on_progress)

    def fill(half: Path) -> None:
        _fill(job, half, parameters, on_progress, python, timeout_s)

    try:
        once.made_once(job.final, fill, what=f"making {technique.name}", on_progress=on_progress)
    except worker.WorkerFailed as failure:
        raise _error(technique.name, cache, failure) from failure
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(technique.name, cache) from error
        raise
    shutil.rmtree(job.checkpoints, ignore_errors=True)
    made = loads(Artifact, (job.final / RECORD).read_text(encoding="utf-8"))
    return replace(made, path=job.final / MODEL)


def content_key(
    technique: Technique, step: Step, sources: Mapping[str, Artifact], calibration: Path | None, seed: int
) -> str:
    """Digest of all that decides the artifact's content: sources, technique, options, package versions, calibration."""
    return digest(
        {
            "sources": {role: source.digest for role, source in sources.items()},
            "technique": technique.name,
            "version": technique.version,
            "options": step.options,
            "packages": package_versions(technique),
            "calibration": _file_digest(calibration) if calibration else None,
            "seed": seed,
        }
    )


def package_versions(technique: Technique) -> Mapping[str, str]:
    """Versions of what the technique runs on: its environment's pins, else the installed packages that it needs."""
    if technique.environment is not None:
        return {"requirements": " ".join(technique.environment.requirements)}
    found = {}
    for package in technique.needs.packages:
        for distribution in _distributions().get(package, ()):
            found[distribution] = importlib.metadata.version(distribution)
    return found


@functools.cache
def _distributions() -> Mapping[str, Sequence[str]]:
    # It reads the file lists of everything that is installed: a third of a second.
    return importlib.metadata.packages_distributions()


def _is_whole(final: Path) -> bool:
    """Whether the record is there and every byte that it counts (sizes only; `verify` reads the contents)."""
    try:
        made = loads(Artifact, (final / RECORD).read_text(encoding="utf-8"))
    except (OSError, RecordError):
        return False
    return sum(file.stat().st_size for file in content_digest.files(final / MODEL)) == made.disk_bytes


def _fill(
    job: _Job, half: Path, parameters: int, on_progress: OnProgress, python: Path | None, timeout_s: float | None
) -> None:
    """Let the worker write into `half`, then read there what it made."""
    out = half / MODEL
    out.mkdir()
    job.checkpoints.mkdir(parents=True, exist_ok=True)
    result = worker.run(
        "paredown.optimize.worker",
        _work(job, out),
        half,
        on_progress=on_progress,
        python=python,
        timeout_s=timeout_s,
    )
    applied: Applied = from_plain(Applied, dict(result))
    if not any(out.iterdir()):
        raise TechniqueError(f"{job.technique.name} ended without an error but wrote nothing.", _log(half))
    on_progress(1.0, "reading what was made")
    made = _describe(job, out, parameters, applied)
    for name in ("worker.json", "source"):
        _remove(half / name)
    (half / RECORD).write_text(dumps(made), encoding="utf-8")


def _describe(job: _Job, out: Path, parameters: int, applied: Applied) -> Artifact:
    try:
        made = artifacts.describe(
            out,
            format=job.technique.produces,
            parameters=parameters,
            technique=job.technique.name,
            options=job.step.options,
            layers_left=applied.layers_left,
            notes=applied.notes,
        )
        claimed = artifacts.claimed_bits(job.technique.rung)
        if claimed is None or not job.technique.changes_weights:
            return made
        wider = artifacts.higher_precision(out, job.technique.produces, claimed)
    except UserError as error:
        raise TechniqueError(f"{job.technique.name} made files that cannot be read: {error}") from error
    return replace(made, layers_left=artifacts.merged_layers_left(applied.layers_left, wider))


def _work(job: _Job, out: Path) -> dict[str, Any]:
    return {
        "technique": job.technique.name,
        "sources": {role: _plain(source) for role, source in job.sources.items()},
        "out": str(out),
        "options": dict(job.step.options),
        "checkpoints": str(job.checkpoints),
        "calibration": str(job.calibration.resolve()) if job.calibration else None,
        "devices": list(job.devices),
        "seed": job.seed,
    }


def _plain(source: Artifact) -> Any:
    return to_plain(replace(source, path=source.path.resolve()))


def _error(name: str, cache: Path, failure: worker.WorkerFailed) -> Exception:
    if failure.kind == "disk":
        return _disk_full(name, cache)
    if failure.kind == "user":
        return UserError(failure.message)
    if failure.kind == "memory":
        return TechniqueOutOfMemory(f"{name} ran out of memory: {failure.message}.", failure.detail)
    return TechniqueError(f"{name} failed: {failure.message}.", failure.detail)


def _disk_full(name: str, cache: Path) -> DiskFullError:
    free = shutil.disk_usage(cache).free
    return DiskFullError(
        f"The disk of {cache} is full: {name} could not write its artifact ({free / 1e6:,.0f} MB are free again now). "
        "Free more or give another cache directory, then run the same command again: what was measured is kept."
    )


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _log(half: Path) -> str:
    log = half / "worker.log"
    return log.read_text(encoding="utf-8", errors="replace")[-4000:] if log.is_file() else ""


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
