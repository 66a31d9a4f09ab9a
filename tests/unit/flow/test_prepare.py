"""What is refused before anything is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown import registry
from paredown.contracts import Option
from paredown.errors import UserError
from paredown.flow import prepare
from paredown.flow.progress import Silent


def test_two_traffics_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="Two traffics are named 'chat'"):
        prepare.read_workloads(["chat", "chat:limit=3"], None, load=None, seed=0)


def test_a_load_of_several_steps_is_one_workload_with_a_traffic_for_each() -> None:
    (workload,) = prepare.read_workloads(["chat"], None, load="sweep:rates=1,2", seed=0)

    assert workload.source == "chat"
    assert [traffic.options["rate"] for traffic in workload.traffics] == [1.0, 2.0]


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """`exact_match` with a setting that must be given, and what it was asked before the run."""
    asked: list[dict[str, object]] = []

    def bind(options):
        if not options["url"]:
            raise UserError("The scorer exact_match needs a url.")
        return registry.scorer("number").score

    def ready(options):
        asked.append(dict(options))
        return "Scorer exact_match: it is there."

    plain = registry.scorer
    own = replace(plain("exact_match"), options=(Option("url", "", "where"),), bind=bind, ready=ready)
    monkeypatch.setattr(registry, "scorer", lambda name: own if name == "exact_match" else plain(name))
    return asked


def test_a_setting_that_the_scorer_refuses_stops_the_run_before_the_model_is_looked_for(world, asking) -> None:
    with pytest.raises(UserError, match="needs a url"):
        prepare.check(world.spec(model="no/such/model"), world.directory, Silent())
    assert asking == []


def test_a_scorer_is_asked_once_before_the_run_and_says_what_it_found(world, asking) -> None:
    progress = Silent()
    prepare.check(world.spec(scorers={"exact_match": {"url": "http://h"}}), world.directory, progress)
    assert asking == [{"url": "http://h"}]
    assert "Scorer exact_match: it is there." in progress.notes


def test_settings_of_a_scorer_that_no_prompt_uses_are_named(world) -> None:
    progress = Silent()
    prepare.check(world.spec(scorers={"judge": {"model": "m"}}), world.directory, progress)
    assert "No golden prompt is scored by judge: its settings change nothing (used: exact_match, likelihood)." in (
        progress.notes
    )
