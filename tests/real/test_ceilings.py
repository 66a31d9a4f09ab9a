"""The ceilings of this machine, really measured."""

from __future__ import annotations

import pytest

from paredown.profile import ceilings
from paredown.profile.ceilings import MB

pytestmark = pytest.mark.real


def test_bandwidth_and_rates_are_measured_within_what_a_machine_can_do() -> None:
    found = ceilings.measure(working_sets=(16 * MB, 128 * MB))

    assert "float32" not in found.missing
    assert all("no hardware for it" in why for why in found.missing.values())
    assert [point.working_set_bytes for point in found.bandwidth] == [16 * MB, 128 * MB]
    assert all(1e9 < point.bytes_per_second < 1e13 for point in found.bandwidth)
    assert {rate.dtype for rate in found.matrix} | set(found.missing) == {"float32", "float16", "bfloat16", "int8"}
    assert all(1e9 < rate.operations_per_second < 1e16 for rate in found.matrix)
