"""The contract of engines, kept by every real one whose packages are installed, on the built-in model.

A new engine is picked up from the registry; its artifact is made by the first technique of the ladder that produces
a format which it opens.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts, ServedBy, Technique
from paredown.hosts import launch
from paredown.machine import describe as describe_machine
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Proposal, Rung
from paredown.records.machine import Machine
from paredown.testing import engine_contract
from paredown.testing.engine_contract import Subject

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1800)]

SERVED = [
    (engine, format_name)
    for engine in registry.engines()
    if engine.name != "fake" and engine.served_by is ServedBy.HOST
    for format_name in engine.opens
]

NOT_MADE_BY = {
    # Served and scored answers of LLM.int8 differ by more than ties: 181 of 190 served tokens were the likeliest ones
    # when scored, where NF4 on the same engine keeps the contract. A fact about that technique, so not tested here.
    "bitsandbytes_int8",
}


@pytest.fixture(scope="session")
def machine() -> Machine:
    return describe_machine()


@pytest.fixture(scope="module", params=SERVED, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def subject(
    request: pytest.FixtureRequest,
    machine: Machine,
    demo_artifact: Artifact,
    demo_facts: ModelFacts,
    cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Subject]:
    engine, format_name = request.param
    missing = [package for package in engine.needs.packages if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{engine.name} needs {', '.join(missing)}, which is not installed")
    made = (
        demo_artifact
        if format_name == "hf"
        else convert(format_name, PlanFacts(demo_facts, machine), demo_artifact, cache)
    )
    candidate = Candidate(
        "model under test", Rung.BASELINE, engine.name, engine.resolve(made, machine, {}), {"main": made}
    )
    work_dir = tmp_path_factory.mktemp(engine.name)
    with launch.start(engine, candidate, work_dir, timeout_s=300) as running:
        yield Subject(engine, running)


def convert(format_name: str, facts: PlanFacts, source: Artifact, cache: Path) -> Artifact:
    """The demo model in another format, by the first technique that offers it."""
    for technique in registry.techniques():
        if technique.produces != format_name or technique.apply is None or technique.name in NOT_MADE_BY:
            continue
        for proposal in technique.propose(facts):
            if isinstance(proposal, Proposal):
                return applied(technique, proposal, source, cache)
    return pytest.skip(f"no technique makes the format {format_name} of the built-in model here")


def applied(technique: Technique, proposal: Proposal, source: Artifact, cache: Path) -> Artifact:
    (step,) = proposal.steps
    return apply.make(
        technique,
        step,
        {"main": source},
        cache=cache,
        parameters=source.parameters,
        on_progress=lambda done, doing: None,
    )


@pytest.mark.parametrize("check", engine_contract.CHECKS, ids=lambda check: check.__name__)
def test_the_engine_keeps_the_contract(subject: Subject, check: Callable[[Subject], None]) -> None:
    if check not in engine_contract.checks_for(subject.engine):
        pytest.skip(f"{subject.engine.name} declares scoring level {subject.engine.scoring.name}")
    check(subject)
