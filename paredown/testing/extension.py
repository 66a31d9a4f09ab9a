"""An installed package that declares plug-ins by entry points, made in a directory: how a test adds plug-ins."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

Declared = Mapping[str, Mapping[str, str]]
"""Kind → name → `module:CONSTANT`, for example {"techniques": {"mine": "my_module:TECHNIQUE"}}."""


def declare(directory: Path, declared: Declared, name: str = "paredown-test-plug-ins") -> Path:
    """Write the package's metadata into `directory`, which must be on sys.path (and PYTHONPATH for workers)."""
    information = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    sections = [
        f"[paredown.{kind}]\n" + "\n".join(f"{plug_in} = {where}" for plug_in, where in plug_ins.items())
        for kind, plug_ins in declared.items()
    ]
    (information / "entry_points.txt").write_text("\n\n".join(sections) + "\n")
    importlib.invalidate_caches()
    return directory
