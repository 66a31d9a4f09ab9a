"""What only a machine with an NVIDIA GPU can show."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from paredown import machine
from paredown.machine import energy

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs an NVIDIA GPU: there is no nvidia-smi here"),
]


def test_the_machine_lists_the_gpus_that_the_driver_lists() -> None:
    shown = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout
    assert len(machine.describe().accelerators) == len(shown.strip().splitlines())


def test_the_energy_counter_of_the_gpu_only_grows() -> None:
    counters = energy.find()
    before = [counter.read_joules() for counter in counters]
    time.sleep(0.2)
    after = [counter.read_joules() for counter in counters]
    assert counters
    assert all(b > a for a, b in zip(before, after, strict=True))
