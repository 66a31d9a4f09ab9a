"""GPUs as the driver describes them, by its own command-line tool."""

from __future__ import annotations

import shutil
import subprocess

from paredown.records.machine import Accelerator

QUERY = ("name", "memory.total", "driver_version", "compute_cap")


def read() -> tuple[Accelerator, ...]:
    """NVIDIA GPUs; empty where there is no driver or it does not answer."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        answer = subprocess.run(
            [tool, f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return parse(answer.stdout)


def parse(text: str) -> tuple[Accelerator, ...]:
    """One line a GPU: name, memory in MiB, driver, compute capability."""
    found = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == len(QUERY) and fields[1].isdigit():
            found.append(Accelerator(fields[0], int(fields[1]) << 20, fields[2], fields[3]))
    return tuple(found)
