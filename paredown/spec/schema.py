"""What the user asked: one object, whether it came from flags or from YAML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, field_validator

from paredown.records import codec

DEFAULT_TARGETS = ("decode_speed>=1.2x", "weight_bytes<=75%", "quality_drop<=2pt")
"""Asked for when the user names no target: smaller and faster at no more than a 2-point drop.

1.2x is clear of the noise of a busy machine; 75 % of the bytes takes fewer bits a weight, whatever the engine.
"""

_DURATION = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)\s*h)?\s*(?:(\d+(?:\.\d+)?)\s*m(?:in)?)?\s*(?:(\d+(?:\.\d+)?)\s*s)?\s*$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Choice(_Strict):
    """Which plug-ins may be used: all, `only` these, or all `without` those."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @field_validator("only", "without", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class FidelityLimits(_Strict):
    """Beyond these a candidate is broken, whatever its answers: mean KL in nats, top-1 agreement as a fraction."""

    max_mean_kl: float = Field(default=1.0, gt=0.0)
    min_top1: float = Field(default=0.5, ge=0.0, lt=1.0)


class LengthLimits(_Strict):
    """Tokens of all written answers together over the baseline's: outside of these, stopping early or running on.

    Half as long again, or a third shorter, is what changes a bill or an answer's content; honest 8-bit candidates of
    the built-in model stay within a few per cent.
    """

    min_ratio: float = Field(default=0.67, ge=0.0, lt=1.0)
    max_ratio: float = Field(default=1.5, gt=1.0)


class RunSpec(_Strict):
    """Everything that a run is asked for.

    traffic:  profiles; targets are checked on the first
    load:     a load shape in place of the traffic's own (`poisson:rate=4`)
    golden:   sources of golden items (`builtin`, files, data sets)
    calibration: file of texts or conversations by which techniques set their scales; audited before it is used
    targets:  as text, see `paredown.spec.targets`
    gates:    slice → largest drop in points, beside those that `quality_drop[slice]` targets set; `a+b` pools slices
    watch:    slices reported without deciding; none named = all that are not gated
    scorers:  settings of scorers by name (`judge: {url: …}`)
    budget_s: time limit of the search in seconds (`10m`, `1h30m`)
    early_stopping: a confirmation may end at one of five looks; off = every held-back prompt is asked
    twins:    a slice of which the baseline writes too few right is asked as choices; off = as it is written
    screening_fraction: share of the golden items that choose the candidate; the rest confirms it
    """

    model: str = Field(min_length=1)
    traffic: tuple[str, ...] = Field(default=("chat",), min_length=1)
    load: str | None = Field(default=None, min_length=1)
    golden: tuple[str, ...] = Field(default=("builtin",), min_length=1)
    calibration: str | None = Field(default=None, min_length=1)
    targets: tuple[str, ...] = Field(default=DEFAULT_TARGETS, min_length=1)
    gates: dict[str, float] = Field(default_factory=dict)
    watch: tuple[str, ...] = ()
    fidelity: FidelityLimits = FidelityLimits()
    lengths: LengthLimits = LengthLimits()
    scorers: dict[str, dict[str, str | int | float | bool]] = Field(default_factory=dict)
    techniques: Choice = Choice()
    engines: Choice = Choice()
    exhaust: bool = False
    budget_s: float | None = Field(default=None, alias="budget", gt=0.0)
    price_usd_per_hour: float | None = Field(default=None, alias="price_per_hour", gt=0.0)
    seed: int = Field(default=0, ge=0)
    early_stopping: bool = True
    twins: bool = True
    screening_fraction: float = Field(default=0.25, gt=0.0, lt=1.0)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    allow_pickle: bool = False
    trust_remote_code: bool = False
    output: Path | None = None
    cache: Path | None = None

    @field_validator("traffic", "golden", "targets", "watch", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("budget_s", mode="before")
    @classmethod
    def _duration(cls, value: Any) -> Any:
        return seconds(value) if isinstance(value, str) else value

    @field_validator("gates")
    @classmethod
    def _margins_can_be_shown(cls, value: dict[str, float]) -> dict[str, float]:
        for name, points in value.items():
            if not 0.0 < points < 100.0:
                raise ValueError(
                    f"the margin of {name!r} is {points:g} points; it must lie above 0, since no number of prompts "
                    "shows that nothing at all is lost, and below 100"
                )
        return value

    @property
    def targets_assumed(self) -> bool:
        """Whether the targets are the default ones, because the user named none."""
        return "targets" not in self.model_fields_set

    def decides(self) -> dict[str, Any]:
        """What the verdict depends on, as plain data: not where files lie, nor how long the search may go on."""
        asked = self.model_dump(mode="json")
        return {name: value for name, value in asked.items() if name not in _DECIDE_NOTHING}

    def digest(self) -> str:
        """SHA-256 over `decides()`; hashed before the first candidate runs."""
        return codec.digest(self.decides())


_DECIDE_NOTHING = frozenset({"output", "cache", "budget_s", "exhaust", "allow_pickle", "trust_remote_code"})


def default_cache() -> Path:
    """Where models and artifacts are kept unless asked otherwise: the user's cache directory."""
    return platformdirs.user_cache_path("paredown")


def seconds(text: str) -> float:
    """Seconds of `90s`, `10m`, `1h30m` or a bare number of seconds. Raises ValueError for anything else."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
        return float(text)
    match = _DURATION.match(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration; write for example 90s, 10m or 1h30m")
    hours, minutes, rest = (float(group or 0.0) for group in match.groups())
    return 3600.0 * hours + 60.0 * minutes + rest
