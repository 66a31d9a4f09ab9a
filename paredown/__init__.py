"""paredown makes a language model faster, smaller and cheaper to run, and proves that it is still good enough.

Importing this package loads nothing heavy: the public names are resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from paredown.contracts import Engine, Loader, LoadShape, Metric, Scorer, Technique
    from paredown.errors import PareDownError, UserError

_PUBLIC = {
    "Engine": "paredown.contracts",
    "LoadShape": "paredown.contracts",
    "Loader": "paredown.contracts",
    "Metric": "paredown.contracts",
    "PareDownError": "paredown.errors",
    "Scorer": "paredown.contracts",
    "Technique": "paredown.contracts",
    "UserError": "paredown.errors",
}
__all__ = ["Engine", "LoadShape", "Loader", "Metric", "PareDownError", "Scorer", "Technique", "UserError"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'paredown' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
