"""Quantize a model with GPTQ on given token ids and write what it became as a dense checkpoint: a child process of
bench_calibration.py, run by the Python of an environment that has gptqmodel.

    PYTHON benchmarks/calibration_gptq.py ORDERS.json

ORDERS: {"model": DIR, "out": DIR, "rows": [[token ids] …], "bits": 4, "group_size": 64}. The weights of each quantized
layer are read off by sending the identity matrix through it, so that whatever its kernel stores, what it computes is
what is written; the other tensors are copied.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")
BATCH = 4


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    model, out = Path(orders["model"]), Path(orders["out"])
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        packed = Path(work) / "packed"
        started = time.monotonic()
        quantize(model, packed, orders)
        quantized_s = time.monotonic() - started
        changed = write_dense(model, packed, out)
    print(json.dumps({"layers": changed, "quantize_s": round(quantized_s, 1)}))


def quantize(model: Path, packed: Path, orders: dict[str, Any]) -> None:
    import torch
    from gptqmodel import GPTQModel, QuantizeConfig

    torch.manual_seed(0)
    rows = [{"input_ids": row, "attention_mask": [1] * len(row)} for row in orders["rows"]]
    config = QuantizeConfig(bits=orders["bits"], group_size=orders["group_size"])
    loaded = GPTQModel.load(str(model), config)
    loaded.quantize(rows, batch_size=BATCH)
    loaded.save(str(packed))


def write_dense(model: Path, packed: Path, out: Path) -> int:
    """The source checkpoint with the weights of every quantized layer replaced; returns how many there are."""
    import torch
    from gptqmodel import GPTQModel
    from safetensors.torch import load_file, save_file

    loaded = GPTQModel.load(str(packed), device="cpu")
    tensors: dict[str, Any] = {}
    for file in sorted(model.glob("*.safetensors")):
        tensors.update(load_file(str(file)))
    changed = 0
    for name, layer in loaded.model.named_modules():
        if not hasattr(layer, "qweight") and not hasattr(layer, "in_features_padded"):
            continue
        key = f"{name}.weight"
        if key not in tensors:
            raise SystemExit(f"the quantized layer {name} has no weight in {model}")
        before = tensors[key]
        with torch.inference_mode():
            rows = torch.eye(before.shape[1], dtype=torch.bfloat16)
            dense = layer(rows).T - (layer.bias[:, None] if getattr(layer, "bias", None) is not None else 0)
        if dense.shape != before.shape:
            raise SystemExit(f"{name}: {tuple(dense.shape)} came out for {tuple(before.shape)}")
        tensors[key] = dense.to(before.dtype).contiguous()
        changed += 1
    if not changed:
        raise SystemExit("no layer of the saved model is quantized")
    shutil.copytree(model, out, ignore=shutil.ignore_patterns("*.safetensors", "*.safetensors.index.json"))
    save_file(tensors, str(out / "model.safetensors"), metadata={"format": "pt"})
    return changed


if __name__ == "__main__":
    main()
