"""The built-in model for tests of real engines and techniques: made once, kept in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paredown.models import artifact, describe, source
from paredown.records.artifact import Artifact, ModelFacts
from paredown.spec.schema import default_cache


@pytest.fixture(scope="session")
def cache() -> Path:
    """PAREDOWN_TEST_CACHE, else the cache that `paredown run` uses as well."""
    return Path(os.environ.get("PAREDOWN_TEST_CACHE") or default_cache()).resolve()


@pytest.fixture(scope="session")
def demo(cache: Path) -> Path:
    return source.resolve("demo", cache=cache)


@pytest.fixture(scope="session")
def demo_facts(demo: Path) -> ModelFacts:
    return describe.facts(demo)


@pytest.fixture(scope="session")
def demo_artifact(demo: Path, demo_facts: ModelFacts) -> Artifact:
    return artifact.describe(demo, format="hf", parameters=demo_facts.parameters)
