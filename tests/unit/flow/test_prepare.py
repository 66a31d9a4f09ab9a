"""What is refused before anything is measured."""

from __future__ import annotations

import pytest

from paredown.errors import UserError
from paredown.flow import prepare


def test_two_traffics_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="Two traffics are named 'chat'"):
        prepare.read_workloads(["chat", "chat:limit=3"], None, load=None, seed=0)


def test_a_load_of_several_steps_is_one_workload_with_a_traffic_for_each() -> None:
    (workload,) = prepare.read_workloads(["chat"], None, load="sweep:rates=1,2", seed=0)

    assert workload.source == "chat"
    assert [traffic.options["rate"] for traffic in workload.traffics] == [1.0, 2.0]
