"""Where a traffic comes from: a name that is built in, or a file, known by what it holds."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from paredown.errors import UnknownNameError, UserError
from paredown.traffic import request_lines, trace_files, yaml_file
from paredown.traffic.rows import Draft

_FORMS = "a .yaml file, JSONL of OpenAI requests or of a server's log, or a trace (CSV or JSONL)"


def builtin_names() -> tuple[str, ...]:
    """Names of the traffics that come with paredown."""
    return tuple(sorted(path.name.removesuffix(".yaml") for path in _builtin().iterdir() if path.name[-5:] == ".yaml"))


def draft(source: str) -> Draft:
    """What the built-in traffic or file of that name holds.

    Raises UserError (file, line, field) for what cannot be read, UnknownNameError for a name that is neither a
    built-in traffic nor a file.
    """
    if source in builtin_names():
        return yaml_file.draft((_builtin() / f"{source}.yaml").read_text(encoding="utf-8"), source)
    path = Path(source)
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise UserError(f"The traffic file {source} does not exist. Built-in: {', '.join(builtin_names())}.")
        raise UnknownNameError("traffic", source, builtin_names())
    content = _content(path)
    if path.suffix in {".yaml", ".yml"}:
        trace = yaml_file.trace_of(content, source)
        return yaml_file.draft(content, source, _lines(path.parent / trace) if trace else None)
    return _lines(path)


def _builtin() -> Any:
    return resources.files("paredown.builtin") / "traffic"


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"The trace {path} does not exist.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Give a file that can.") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text: {error}. Convert it, with its own encoding behind -f: iconv -f latin1 -t UTF-8 "
            f"{path.name} > utf8-{path.name}"
        ) from error


def _lines(path: Path) -> Draft:
    """A trace, log or list of requests."""
    content, source = _content(path), str(path)
    first = next((line for line in content.split("\n") if line.strip()), "")
    if not first:
        raise UserError(f"{source} holds no request.")
    if path.suffix == ".csv" or trace_files.AZURE.prompt in first.split(","):
        return Draft(path.stem, f"requests of the trace {path.name}", trace_files.azure(content, source), "replay")
    if path.suffix in {".jsonl", ".json"} or _is_object(first):
        found = tuple(request_lines.rows(content, source))
        timed = any(getattr(row, "at_s", None) is not None for row in found)
        return Draft(path.stem, f"requests of {path.name}", found, "replay" if timed else "single_stream")
    raise UserError(f"A traffic is {_FORMS}; {source} is neither, it begins with {first.strip()[:40]!r}.")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
