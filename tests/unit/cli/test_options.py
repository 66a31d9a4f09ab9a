"""Settings of scorers reach the request from every verb that scores."""

from __future__ import annotations

import importlib

import click
import pytest

from paredown.cli.options import given_spec


@pytest.mark.parametrize("verb", ["run", "evaluate", "compare"])
def test_every_verb_that_scores_takes_settings_of_scorers(verb: str) -> None:
    command = importlib.import_module(f"paredown.cli.{verb}").command
    assert isinstance(command, click.Command)
    (option,) = [one for one in command.params if one.name == "scorer"]
    assert isinstance(option, click.Option)
    assert option.multiple


def test_settings_become_part_of_the_request() -> None:
    spec = given_spec("demo", {"scorer": ("code:allow=yes,seconds=3", "judge:url=https://h/v1"), "seed": 1})
    assert spec.scorers == {"code": {"allow": "yes", "seconds": 3}, "judge": {"url": "https://h/v1"}}
