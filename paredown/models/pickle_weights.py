"""Pickle weights, when the user allowed them: opened once as tensors only, and kept as safetensors in the cache."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from paredown.environments import once, worker
from paredown.errors import DiskFullError, UserError
from paredown.models import content_digest

OnProgress = Callable[[float, str], None]


def converted(directory: Path, *, cache: Path, on_progress: OnProgress) -> Path:
    """The same model with safetensors, in `cache`; made once for each content of the directory.

    Raises UserError when the files hold more than tensors (that is what makes a pickle dangerous), or DiskFullError.
    """
    key = content_digest.digest_of(directory, known=cache / "digests.json")
    final = cache.resolve() / "models" / f"{directory.resolve().name}-{key[:12]}-safetensors"

    def make(half: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="paredown-pickle-") as logs:
            work = {"source": str(directory.resolve()), "out": str(half)}
            worker.run("paredown.models.pickle_conversion", work, Path(logs), on_progress=on_progress)

    try:
        return once.made_once(final, make, what=f"converting {directory}", on_progress=on_progress)
    except worker.WorkerFailed as failure:
        if failure.kind == "disk":
            raise DiskFullError(f"The disk of {cache} is full: the weights of {directory} do not fit.") from failure
        raise UserError(
            f"The pickle weights of {directory} cannot be opened as tensors only ({failure.message}). Use a version "
            "of the model with *.safetensors."
        ) from failure
