"""What every engine declares, read without opening anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paredown import registry
from paredown.contracts import Batching, Engine, ServedBy
from paredown.errors import UserError
from paredown.models import formats
from paredown.records.machine import Machine

MACHINE = Machine("x", "Linux", "p", 4, 3, (), 2**34, (), {})
ENGINES = registry.engines()
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


@every_engine
def test_an_engine_has_the_function_that_serves_it(engine: Engine) -> None:
    assert (engine.open is not None) == (engine.served_by is ServedBy.HOST)
    assert (engine.command is not None) == (engine.served_by is ServedBy.OWN)


@every_engine
def test_the_batch_limit_fits_the_declared_batching(engine: Engine) -> None:
    assert (engine.max_batch == 1) == (engine.batching is Batching.NONE)


@every_engine
def test_an_engine_opens_known_formats_or_is_an_endpoint(engine: Engine) -> None:
    assert bool(engine.opens) == (engine.served_by is not ServedBy.REMOTE)
    for name in engine.opens:
        formats.load(name)


@every_engine
def test_every_option_is_written_out_with_a_value_that_is_allowed(engine: Engine) -> None:
    resolved = engine.resolve(None, MACHINE, {})
    assert set(resolved) == {option.name for option in engine.options}
    for option in engine.options:
        assert not option.choices or resolved[option.name] in option.choices
        assert option.help


@every_engine
def test_resolving_what_is_resolved_changes_nothing(engine: Engine) -> None:
    resolved = engine.resolve(None, MACHINE, {})
    assert engine.resolve(None, MACHINE, resolved) == resolved


@every_engine
def test_an_option_that_is_not_known_is_named(engine: Engine) -> None:
    with pytest.raises(UserError, match="wobble"):
        engine.resolve(None, MACHINE, {"wobble": 1})


@every_engine
def test_default_threads_are_the_usable_cores(engine: Engine) -> None:
    resolved = engine.resolve(None, MACHINE, {})
    if "threads" in resolved:
        assert resolved["threads"] == MACHINE.usable_cores


@every_engine
def test_a_package_that_an_engine_needs_is_named_with_its_extra(engine: Engine) -> None:
    if engine.needs.packages and engine.environment is None:
        assert engine.needs.extra


def test_each_format_has_one_reference_engine_at_most() -> None:
    for name in {name for engine in ENGINES for name in engine.opens}:
        assert sum(engine.baseline for engine in ENGINES if name in engine.opens) <= 1


def test_declared_facts_are_read_without_any_heavy_library() -> None:
    code = (
        "import sys; from paredown import registry; registry.engines()\n"
        "heavy = {'torch', 'transformers', 'onnxruntime_genai', 'openvino', 'openvino_genai', 'numpy', 'tokenizers'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
