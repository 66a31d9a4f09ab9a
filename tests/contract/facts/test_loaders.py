"""What every loader must keep, whichever it is."""

from __future__ import annotations

import pytest

from paredown import registry
from paredown.contracts import Loader

SOURCES = {
    "builtin": ("builtin", "builtin:reasoning"),
    "jsonl": ("my.jsonl", "a b.ndjson"),
    "csv_table": ("my.csv", "my.tsv"),
    "huggingface": ("hf:owner/name:test",),
    "gsm8k": ("gsm8k:test.jsonl",),
    "mgsm": ("mgsm:mgsm_de.tsv", "mgsm:de:my.tsv"),
    "humaneval": ("humaneval:HumanEval.jsonl.gz", "humaneval:HumanEval.jsonl"),
    "xstest": ("xstest:xstest_prompts.csv",),
    "bfcl": ("bfcl:irrelevance.jsonl", "bfcl:simple.jsonl:answers.jsonl"),
    "needle": ("needle", "needle:lengths=512,seed=1"),
    "mt_bench": ("mt_bench:question.jsonl",),
    "lm_eval": ("lm_eval:arc_easy", "lm_eval:my_task:include_path=tasks,limit=5"),
}


@pytest.fixture(params=registry.names("loaders"))
def loader(request: pytest.FixtureRequest) -> Loader:
    return registry.loader(request.param)


def test_every_own_loader_has_a_source_here() -> None:
    assert set(registry.names("loaders")) == set(SOURCES)


def test_each_source_is_claimed_by_its_loader_alone(loader: Loader) -> None:
    for name, sources in SOURCES.items():
        assert all(loader.claims(source) == (name == loader.name) for source in sources)


@pytest.mark.parametrize("source", ["", ":", "my.parquet", "no such thing", "\x00"])
def test_strange_sources_are_claimed_by_none(loader: Loader, source: str) -> None:
    assert not loader.claims(source)


def test_facts_are_declared(loader: Loader) -> None:
    assert loader.summary
    assert bool(loader.needs.packages) == bool(loader.needs.extra)
