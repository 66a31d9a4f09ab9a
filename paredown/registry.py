"""Name → plug-in: own modules by file name, others by entry point (`paredown.techniques`, `paredown.engines` …)."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import sys
from typing import TYPE_CHECKING, Any, cast

from paredown.errors import PareDownError, UnknownNameError

if TYPE_CHECKING:
    from paredown.contracts import Engine, Loader, LoadShape, Metric, Scorer, Technique

KINDS = {
    "techniques": "TECHNIQUE",
    "engines": "ENGINE",
    "metrics": "METRIC",
    "scorers": "SCORER",
    "loadshapes": "LOADSHAPE",
    "loaders": "LOADER",
}


class PlugInError(PareDownError):
    """A plug-in cannot be used as written: says which file or entry point and why."""


def names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a kind (`techniques`, `engines` …), sorted. Imports none of them."""
    return tuple(sorted({*_own(kind), *_entry_points(kind)}))


def load(kind: str, name: str) -> Any:
    """The plug-in constant of that name. Raises UnknownNameError, or PlugInError when its file is not right."""
    return _load(kind, name, tuple(sys.path))


@functools.cache
def _load(kind: str, name: str, search_path: tuple[str, ...]) -> Any:
    """Looked for once on each search path: reading the metadata of every installed package takes milliseconds."""
    del search_path
    own, outside = _own(kind), _entry_points(kind)
    if name in own and name in outside:
        raise PlugInError(f"Two {kind} are named {name!r}: paredown's own and {outside[name].value!r}. Rename one.")
    if name in own:
        module = importlib.import_module(f"paredown.{kind}.{name}")
        where, plug_in = module.__name__, getattr(module, KINDS[kind], None)
    elif name in outside:
        where, plug_in = outside[name].value, outside[name].load()
    else:
        raise UnknownNameError(kind.removesuffix("s"), name, names(kind))
    if plug_in is None:
        raise PlugInError(f"{where} has no constant {KINDS[kind]}.")
    if plug_in.name != name:
        raise PlugInError(f"{where} declares the name {plug_in.name!r} but is registered as {name!r}.")
    return plug_in


def _own(kind: str) -> set[str]:
    package = importlib.import_module(f"paredown.{kind}")
    return {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}


def _entry_points(kind: str) -> dict[str, importlib.metadata.EntryPoint]:
    return _scanned(kind, tuple(sys.path))


@functools.cache
def _scanned(kind: str, search_path: tuple[str, ...]) -> dict[str, importlib.metadata.EntryPoint]:
    del search_path
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for entry in importlib.metadata.entry_points(group=f"paredown.{kind}"):
        if entry.name in found and found[entry.name].value != entry.value:
            raise PlugInError(f"Two entry points in paredown.{kind} are named {entry.name!r}.")
        found[entry.name] = entry
    return found


def technique(name: str) -> Technique:
    return cast("Technique", load("techniques", name))


def engine(name: str) -> Engine:
    return cast("Engine", load("engines", name))


def metric(name: str) -> Metric:
    return cast("Metric", load("metrics", name))


def scorer(name: str) -> Scorer:
    return cast("Scorer", load("scorers", name))


def load_shape(name: str) -> LoadShape:
    return cast("LoadShape", load("loadshapes", name))


def loader(name: str) -> Loader:
    return cast("Loader", load("loaders", name))


def techniques() -> tuple[Technique, ...]:
    """Every technique, in ladder order, then by name."""
    return tuple(sorted((technique(n) for n in names("techniques")), key=lambda t: (t.rung, t.name)))


def engines() -> tuple[Engine, ...]:
    return tuple(engine(n) for n in names("engines"))


def metrics() -> tuple[Metric, ...]:
    return tuple(metric(n) for n in names("metrics"))
