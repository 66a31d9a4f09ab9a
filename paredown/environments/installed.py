"""Whether what a plug-in needs is installed, found without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util

from paredown.contracts import Needs


def missing(needs: Needs) -> str | None:
    """The reason why a plug-in cannot run in this Python, with the install line; None when nothing is missing."""
    absent = [name for name in needs.packages if importlib.util.find_spec(name) is None]
    if not absent:
        return None
    extra = f"pip install 'paredown[{needs.extra}]'" if needs.extra else f"pip install {' '.join(absent)}"
    return f"{', '.join(absent)} is not installed; run: {extra}"


def version(distribution: str) -> str | None:
    """Installed version of a distribution, None when it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
