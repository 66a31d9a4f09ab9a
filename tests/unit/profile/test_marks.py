"""Marks for NVIDIA's tools are made on their devices and nowhere else."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from paredown.profile.driving import quiet
from paredown.profile.marks import nvtx


def torch_with(monkeypatch: pytest.MonkeyPatch, *, has_device: bool) -> list[str]:
    """A torch that notes the ranges; the real one takes seconds to import."""
    noted: list[str] = []
    torch = ModuleType("torch")
    ranges = SimpleNamespace(range_push=lambda name: noted.append(f"+{name}"), range_pop=lambda: noted.append("-"))
    torch.cuda = SimpleNamespace(is_available=lambda: has_device, nvtx=ranges)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    return noted


def test_a_range_lasts_as_long_as_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = torch_with(monkeypatch, has_device=True)
    with nvtx("cuda:0")("decode step 2"):
        noted.append("work")

    assert noted == ["+decode step 2", "work", "-"]


def test_a_range_ends_when_the_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = torch_with(monkeypatch, has_device=True)
    with pytest.raises(RuntimeError), nvtx("cuda")("prefill"):
        raise RuntimeError

    assert noted == ["+prefill", "-"]


def test_nothing_is_marked_on_a_cpu_or_where_torch_knows_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    torch_with(monkeypatch, has_device=False)

    assert nvtx("cuda") is quiet
    assert nvtx("cpu") is quiet


def test_without_torch_nothing_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert nvtx("cuda") is quiet
