"""What plug-ins of several kinds declare: packages, devices, options, an environment of their own."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.figure import Scalar


@dataclass(frozen=True)
class Environment:
    """A Python environment of its own, made on first use, for packages that cannot live beside the others.

    requirements: pinned, as pip takes them; remove: packages that they pull in and that break it
    """

    name: str
    requirements: tuple[str, ...]
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """A setting with its default. `changes_numbers`: whether answers can depend on it (part of the quality key)."""

    name: str
    default: Scalar
    help: str
    choices: tuple[Scalar, ...] = ()
    changes_numbers: bool = False


@dataclass(frozen=True)
class Needs:
    """What must be there. `packages` are import names; the install line names `extra`."""

    packages: tuple[str, ...] = ()
    extra: str = ""
    devices: tuple[str, ...] = ("cpu", "cuda")
    min_compute_capability: float = 0.0
    calibration: bool = False
    accelerators: int = 0
    memory_factor: float = 2.0
