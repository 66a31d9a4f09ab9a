"""The worker process of one step: loads the technique by name and lets it act.

At import the standard library, contracts, records and registry only: it runs in the technique's own environment.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown import registry
from paredown.contracts import Applied, ApplyContext
from paredown.environments import child
from paredown.errors import TechniqueError
from paredown.records.artifact import Artifact
from paredown.records.codec import from_plain, to_plain


def act(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Apply the technique of `work`; the plain form of what it says of its artifact."""
    technique = registry.technique(work["technique"])
    if technique.apply is None:
        raise TechniqueError(f"{technique.name} only sets options of the engine: it makes no artifact.")
    context = ApplyContext(
        sources=from_plain(Mapping[str, Artifact], work["sources"]),
        out=Path(work["out"]),
        options=work["options"],
        checkpoints=Path(work["checkpoints"]),
        report=report,
        calibration=Path(work["calibration"]) if work["calibration"] else None,
        devices=tuple(work["devices"]),
        seed=work["seed"],
    )
    applied = technique.apply(context)
    if not isinstance(applied, Applied):
        raise TechniqueError(f"{technique.name} returned {type(applied).__name__} instead of Applied.")
    plain: Mapping[str, Any] = to_plain(applied)
    return plain


if __name__ == "__main__":
    sys.exit(child.run(act))
