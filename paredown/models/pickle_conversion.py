"""Worker: pickle weights to safetensors. The unpickler is restricted to tensors (`weights_only`): no code is run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.environments import child
from paredown.models.checks import pickle_files

SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.spm", "*.py", "*.tiktoken")


def convert(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Write the model of `work["source"]` into `work["out"]` with safetensors in place of its pickle files."""
    import torch
    from safetensors.torch import save_file

    source, out = Path(work["source"]), Path(work["out"])
    files = pickle_files(source)
    seen: dict[tuple[int, int], str] = {}
    for number, file in enumerate(files, start=1):
        report(number / (len(files) + 1), f"opening {file.name} as tensors only")
        tensors = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        unshared = {}
        for name, tensor in tensors.items():
            # A tied head is the same storage under a second name; safetensors stores each once.
            place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset())
            if seen.setdefault(place, name) == name:
                unshared[name] = tensor.contiguous().clone()
        name = f"model-{number:05}-of-{len(files):05}.safetensors" if len(files) > 1 else "model.safetensors"
        save_file(unshared, out / name, metadata={"format": "pt"})
        seen = {}
    for pattern in SMALL_FILES:
        for path in source.glob(pattern):
            if not path.name.endswith(".index.json"):
                shutil.copyfile(path, out / path.name)
    return {}


if __name__ == "__main__":
    sys.exit(child.run(convert))
