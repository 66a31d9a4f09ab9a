"""Puts together what can be known of the host without running anything on it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import socket
from collections.abc import Mapping

from paredown.machine import accelerators, cgroup, cpu, energy
from paredown.records.machine import Machine

PACKAGES = (
    "paredown",
    "accelerate",
    "h11",
    "bitsandbytes",
    "compressed-tensors",
    "gguf",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-genai",
    "openvino",
    "openvino-genai",
    "openvino-tokenizers",
    "safetensors",
    "tokenizers",
    "torch",
    "transformers",
)


def describe() -> Machine:
    """The host of a run. Packages are read from their metadata and not imported."""
    processor = cpu.read()
    return Machine(
        hostname_digest=hashlib.sha256(socket.gethostname().encode()).hexdigest()[:16],
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor.name,
        logical_cores=os.cpu_count() or 1,
        usable_cores=cpu.usable_cores(),
        instruction_sets=processor.instruction_sets,
        memory_bytes=_memory_bytes(),
        accelerators=accelerators.read(),
        versions=_versions(),
        energy_counter=energy.name(energy.find()),
        last_level_cache_bytes=cpu.last_level_cache_bytes(),
    )


def _memory_bytes() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = cgroup.memory_limit_bytes()
    return physical if limit is None else min(physical, limit)


def _versions() -> Mapping[str, str]:
    versions = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "libc": "-".join(platform.libc_ver()),
    }
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
