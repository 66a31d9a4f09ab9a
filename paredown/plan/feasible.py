"""Whether a technique or an engine can work on this machine with this model; if not, why not, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paredown.contracts import Engine, Environment, Needs, PlanFacts, Technique

_BYTES = {
    "float64": 8,
    "float32": 4,
    "fp32": 4,
    "float16": 2,
    "fp16": 2,
    "bfloat16": 2,
    "bf16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
}


@dataclass(frozen=True)
class Host:
    """The facts, the device that candidates run on, and how to ask for packages and environments."""

    facts: PlanFacts
    device: str
    installed: Callable[[Needs], str | None]
    environment: Callable[[Environment], str | None]


def technique(wanted: Technique, host: Host) -> str | None:
    """The first reason against it, None when there is none. One without `apply` makes nothing and needs no memory."""
    reason = _hardware(wanted.needs, host)
    if reason is None and wanted.apply is not None:
        reason = _memory(wanted.needs, host)
    return reason or _packages(wanted.needs, wanted.environment, host)


def engine(wanted: Engine, host: Host) -> str | None:
    """The first reason against it, None when there is none."""
    return _hardware(wanted.needs, host) or _packages(wanted.needs, wanted.environment, host)


def _hardware(needs: Needs, host: Host) -> str | None:
    accelerators = host.facts.machine.accelerators
    there = f"{len(accelerators)} ({accelerators[0].name})" if accelerators else "none"
    if len(accelerators) < needs.accelerators:
        return f"It needs {needs.accelerators} accelerators; here: {there}."
    if needs.min_compute_capability:
        best = max((_capability(a.compute_capability) for a in accelerators), default=0.0)
        if best < needs.min_compute_capability:
            found = f"the best here has {best:g}" if best else "this is a CPU" if not accelerators else "unknown here"
            return f"It needs compute capability {needs.min_compute_capability:g}; {found}."
    if host.device not in needs.devices:
        return f"It runs on {' or '.join(needs.devices)}; this run uses {host.device}."
    return None


def _capability(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _memory(needs: Needs, host: Host) -> str | None:
    """Working memory as a multiple of the checkpoint; a data type of unknown width refuses nothing."""
    model, memory = host.facts.model, host.facts.machine.memory_bytes
    width = _BYTES.get(model.dtype.removeprefix("torch."))
    if width is None:
        return None
    needed = needs.memory_factor * width * model.parameters
    if needed <= memory:
        return None
    return (
        f"It needs about {needed / 1e9:.1f} GB of memory ({needs.memory_factor:g} × the checkpoint); "
        f"this machine has {memory / 1e9:.1f} GB."
    )


def _packages(needs: Needs, environment: Environment | None, host: Host) -> str | None:
    """Packages in an environment of their own need not be installed here: that environment must be makeable."""
    if environment is None:
        return host.installed(needs)
    reason = host.environment(environment)
    return f"Its environment {environment.name} cannot be made: {reason}" if reason else None
