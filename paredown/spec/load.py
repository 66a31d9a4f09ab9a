"""A spec from YAML, from flags, or from both (flags win). Every mistake is one sentence that names the setting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from paredown import registry
from paredown.errors import UnknownNameError, UserError
from paredown.spec import scorer_settings
from paredown.spec.schema import RunSpec

COMMAND_LINE = "The command line"


def read(path: Path | None, flags: Mapping[str, object]) -> RunSpec:
    """The spec of a YAML file (or none) with `flags` over it; a flag that is None was not given.

    Nested settings (`techniques`, `engines`, `fidelity`, `gates`) are merged key by key, and so is each scorer of
    `scorers`. Raises UserError.
    """
    settings = dict(_yaml(path)) if path is not None else {}
    for name, value in flags.items():
        if value is None:
            continue
        settings[name] = _over(settings.get(name), value, depth=2 if name == "scorers" else 1)
    return from_mapping(settings, str(path) if path is not None else COMMAND_LINE)


def _over(below: object, value: object, depth: int) -> object:
    """`value` in place of `below`, where both are mappings key by key, so many levels down."""
    if depth and isinstance(below, Mapping) and isinstance(value, Mapping):
        return {**below, **{key: _over(below.get(key), inner, depth - 1) for key, inner in value.items()}}
    return value


def from_flags(model: str | None, path: Path | None, flags: Mapping[str, object]) -> RunSpec:
    """The spec of a command line: flags as click gives them, where None or an empty tuple was not given.

    `techniques` are the only ones to try; `without` names techniques or engines; `cache_dir` is the cache.
    `scorer` are settings as they were typed. Raises UserError.
    """
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = {_FLAGS.get(name, name): value for name, value in given.items() if name not in _READ_HERE}
    choices: dict[str, dict[str, object]] = {}
    if "scorer" in given:
        choices["scorers"] = {**scorer_settings.from_texts(_names(given["scorer"]))}
    if "techniques" in given:
        choices["techniques"] = {"only": given["techniques"]}
    for name in _names(given.get("without", ())):
        kind = _kind(name)
        choices.setdefault(kind, {}).setdefault("without", [])
        excluded = choices[kind]["without"]
        assert isinstance(excluded, list)
        excluded.append(name)
    return read(path, {**settings, **choices, "model": model})


_FLAGS = {"cache_dir": "cache"}
_READ_HERE = ("techniques", "without", "scorer")


def _names(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, tuple | list) else ()


def _kind(name: str) -> str:
    """`techniques` or `engines`, whichever has a plug-in of that name."""
    known = {kind: registry.names(kind) for kind in ("techniques", "engines")}
    for kind, names in known.items():
        if name in names:
            return kind
    raise UnknownNameError("technique or engine", name, [*known["techniques"], *known["engines"]])


def from_mapping(settings: Mapping[str, object], where: str) -> RunSpec:
    """The spec that `settings` describe. Raises UserError, or UnknownNameError for a setting that is not known."""
    try:
        spec = RunSpec.model_validate(dict(settings))
        return spec.model_copy(update={"scorers": scorer_settings.checked(spec.scorers)}) if spec.scorers else spec
    except ValidationError as error:
        details = error.errors(include_url=False)
        # An unknown word explains a missing one ("modle: demo"), so it is told first.
        first = next((d for d in details if d["type"] == "extra_forbidden"), details[0])
        raise _explained(first, where) from error


def _yaml(path: Path) -> Mapping[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"The spec {str(path)!r} cannot be read: {error.strerror}. Give the path of a file.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The spec {str(path)!r} is not UTF-8 text. Save it as UTF-8.") from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark is not None else ""
        raise UserError(f"{path}{line} is not YAML: {getattr(error, 'problem', None) or error}.") from error
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UserError(f"{path} must hold settings such as 'model: demo', one a line.")
    return found


def _explained(detail: ErrorDetails, where: str) -> UserError:
    *above, name = [str(part) for part in detail["loc"]] or [""]
    if detail["type"] == "extra_forbidden":
        inside = f" of {'.'.join(above)}" if above else ""
        return UnknownNameError(f"setting{inside}", name, _settings(above))
    setting = ".".join([*above, name])
    if detail["type"] == "missing":
        example = "paredown run demo" if where == COMMAND_LINE else f"{setting}: demo"
        return UserError(f"{where}: {setting!r} is missing. Add it, for example {example!r}.")
    message = str(detail["msg"]).removeprefix("Value error, ")
    return UserError(f"{where}: {setting!r} is {_short(detail['input'])}, but {message[:1].lower()}{message[1:]}.")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _settings(above: list[str]) -> tuple[str, ...]:
    """Names of the settings at this depth, as a user writes them."""
    model: Any = RunSpec
    for part in above:
        model = model.model_fields[part].annotation
    assert issubclass(model, BaseModel)
    return tuple(field.alias or name for name, field in model.model_fields.items())
