"""The contract of engines, kept by the fake one; and broken by planted faults, so that each check is seen to fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import Batching
from paredown.hosts import launch
from paredown.testing import candidates, engine_contract, fake_models
from paredown.testing.engine_contract import Subject

FAKE = registry.engine("fake")
SLOW = dataclasses.replace(fake_models.SENSIBLE, speeds=fake_models.fast(decode_us=2000))


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    here = tmp_path_factory.mktemp("fake")
    with launch.start(FAKE, candidates.fake(here / "model", SLOW), here / "work", timeout_s=60) as running:
        yield Subject(FAKE, running)


@pytest.mark.parametrize("check", engine_contract.CHECKS, ids=lambda check: check.__name__)
def test_the_fake_engine_keeps_the_contract(subject: Subject, check: Callable[[Subject], None]) -> None:
    check(subject)


@pytest.mark.parametrize(
    ("check", "fault"),
    [
        (engine_contract.forced_lengths_are_obeyed, {"ignores_forced_length": True}),
        (engine_contract.scoring_agrees_with_serving, {"wrong_tokens": True}),
        (engine_contract.declared_batching_is_seen, {"one_at_a_time": True}),
        (engine_contract.a_late_request_joins_only_a_continuous_batch, {"one_at_a_time": True}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_check_notices_its_fault(tmp_path: Path, check: Callable[[Subject], None], fault: dict[str, bool]) -> None:
    script = dataclasses.replace(fake_models.faulty(**fault), speeds=SLOW.speeds)
    with (
        launch.start(FAKE, candidates.fake(tmp_path / "model", script), tmp_path / "work", timeout_s=60) as running,
        engine_contract.broken(check),
    ):
        check(Subject(FAKE, running))


def test_an_engine_that_batches_breaks_a_declaration_that_it_does_not(subject: Subject) -> None:
    declared = Subject(dataclasses.replace(FAKE, batching=Batching.NONE), subject.running)
    with engine_contract.broken(engine_contract.declared_batching_is_seen):
        engine_contract.declared_batching_is_seen(declared)
