"""From what the user typed to a checked model directory: `demo`, a directory, or a hub id."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

from paredown.errors import UserError
from paredown.models import checks, demo, hub, pickle_weights, safetensors_header

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
OnProgress = Callable[[float, str], None]


def _silent(fraction: float, what: str) -> None:
    """Nobody watches."""


def resolve(
    name: str,
    *,
    cache: Path,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    on_progress: OnProgress = _silent,
) -> Path:
    """The directory of the source model, complete and checked.

    name:         `demo` (the built-in model, made once in `cache`, about 20 s), an existing directory (used in place),
                  or `owner/name` on the hub (downloaded into the hub's own cache)
    allow_pickle: pickle weights are opened once, tensors only, and written as safetensors into `cache`
    Raises UserError: one sentence that says what is wrong and what to type instead.
    """
    directory = _locate(name, cache=cache, allow_pickle=allow_pickle, on_progress=on_progress)
    checks.check_directory(directory)
    checks.check_code(directory, trust_remote_code=trust_remote_code)
    if allow_pickle and not safetensors_header.files(directory) and checks.pickle_files(directory):
        directory = pickle_weights.converted(directory, cache=cache, on_progress=on_progress)
    checks.check_source(directory, trust_remote_code=trust_remote_code)
    return directory


def _locate(name: str, *, cache: Path, allow_pickle: bool, on_progress: OnProgress) -> Path:
    if name == demo.NAME:
        return demo.prepared(cache=cache, on_progress=on_progress)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        raise UserError(f"{name!r} is a file. Give the directory of the model that it belongs to: {path.parent}.")
    if HUB_ID.fullmatch(name) and not name.startswith("."):
        return hub.downloaded(name, allow_pickle=allow_pickle, on_progress=on_progress, near=_near(path))
    raise UserError(
        f"Unknown model {name!r}: it is neither 'demo' nor an existing directory nor a hub id (owner/name)."
        f"{_near(path)}"
    )


def _near(path: Path) -> str:
    """A hint at a directory with a similar name, empty when there is none."""
    parent = path.parent
    if not parent.is_dir():
        return ""
    names = [entry.name for entry in parent.iterdir() if entry.is_dir()]
    if len(path.parts) == 1:
        names.append(demo.NAME)
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    if not close:
        return ""
    return f" Did you mean {str(parent / close[0])!r}?"
