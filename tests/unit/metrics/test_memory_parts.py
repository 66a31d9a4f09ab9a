from __future__ import annotations

import pytest

from paredown import registry
from paredown.contracts import Evidence
from paredown.records.events import Block, Memory, Trial
from paredown.records.figure import Figure

NOTE = "weights: growth; KV cache: own count; activations: not separated from the KV cache"
MEMORY = Memory(10, 100, 5, weights_bytes=7, kv_cache_bytes=3000, kv_bytes_per_token=1.5, note=NOTE)


def figure(name: str, *memories: Memory | None) -> Figure:
    blocks = tuple(Block(i, (), None, memory, None, fresh_process=True) for i, memory in enumerate(memories))
    found = registry.metric(name).compute(Evidence(Trial("c", "t", 1, blocks)))
    assert isinstance(found, Figure)
    return found


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("weights_memory", 7.0, "growth"),
        ("kv_cache_memory", 3000.0, "own count"),
        ("kv_bytes_per_token", 1.5, "own count"),
    ],
)
def test_each_part_comes_with_what_its_note_says(name: str, value: float, note: str) -> None:
    found = figure(name, MEMORY, None)

    assert (found.value, found.unit, found.count, found.note) == (value, "B", 1, note)


def test_activations_that_were_not_separated_are_missing_with_the_reason() -> None:
    found = figure("activations_memory", MEMORY)

    assert (found.value, found.missing) == (None, "not separated from the KV cache")


@pytest.mark.parametrize("name", ["weights_memory", "kv_cache_memory", "kv_bytes_per_token", "activations_memory"])
def test_memory_that_nobody_sampled_has_no_parts(name: str) -> None:
    assert figure(name, None).missing == "not separated, because no memory was sampled"
