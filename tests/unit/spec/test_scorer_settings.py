"""Settings of scorers: what may be typed, what YAML may hold, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import Option, Scorer
from paredown.errors import UnknownNameError, UserError
from paredown.spec import load, scorer_settings

OPTIONS = (
    Option("url", "", "where"),
    Option("allow", "no", "whether", choices=("no", "yes")),
    Option("count", 2, "how many"),
    Option("seconds", 1.5, "how long"),
    Option("loud", False, "whether it shouts"),
)


@pytest.fixture(autouse=True)
def two_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = registry.scorer("number")
    known = {"number": bare, "asker": replace(bare, name="asker", options=OPTIONS)}

    def found(name: str) -> Scorer:
        if name not in known:
            raise UnknownNameError("scorer", name, known)
        return known[name]

    monkeypatch.setattr(registry, "scorer", found)


def asked(*texts: str) -> dict[str, dict[str, object]]:
    return load.from_flags("demo", None, {"scorer": texts}).scorers  # type: ignore[return-value]


def test_a_value_may_be_a_url_with_a_port_and_a_query() -> None:
    assert asked("asker:url=https://h:8000/v1?a=b,count=3")["asker"] == {"url": "https://h:8000/v1?a=b", "count": 3}


def test_values_have_the_types_that_the_scorer_declares() -> None:
    given = asked("asker:count=3,seconds=2,loud=yes", "asker:allow=yes")
    assert given == {"asker": {"count": 3, "seconds": 2.0, "loud": True, "allow": "yes"}}
    assert isinstance(given["asker"]["seconds"], float)


def test_yes_in_yaml_is_yes_and_the_command_line_wins_setting_by_setting(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("model: demo\nscorers:\n  asker: {allow: yes, count: 5, url: 'http://h'}\n")
    spec = load.from_flags(None, tmp_path / "spec.yaml", {"scorer": ("asker:count=7",)})
    assert spec.scorers == {"asker": {"allow": "yes", "count": 7, "url": "http://h"}}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("askr:count=1",), "Unknown scorer 'askr'. Did you mean 'asker'?"),
        (("asker:cuont=1",), "Unknown setting of the scorer asker: 'cuont'. Did you mean 'count'?"),
        (("asker:count=1.5",), "The scorer asker has count=1.5; give a whole number."),
        (("asker:count=many",), "give a whole number"),
        (("asker:seconds=nan",), "give a number"),
        (("asker:allow=perhaps",), "The scorer asker has allow=perhaps; give no or yes."),
        (("asker:loud=2",), "give yes or no"),
        (("number:count=1",), "The scorer number has no settings. Leave count out."),
        (("asker",), "--scorer 'asker' sets nothing"),
        (("asker:count=1,count=2",), "gives count twice"),
        (("asker:count=1", "asker:count=2"), "is given count twice"),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_says_what_to_give(texts: tuple[str, ...], says: str) -> None:
    with pytest.raises(UserError) as caught:
        asked(*texts)
    assert says in str(caught.value)


def test_a_number_where_yaml_needs_a_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("model: demo\nscorers: {asker: {url: 3}}\n")
    with pytest.raises(UserError, match="has url=3; give a text"):
        load.read(tmp_path / "spec.yaml", {})


def test_settings_are_part_of_what_the_verdict_depends_on() -> None:
    one, other = (load.from_flags("demo", None, {"scorer": (text,)}) for text in ("asker:count=1", "asker:count=2"))
    assert one.digest() != other.digest()


def test_types_are_checked_whatever_the_order_of_the_choices() -> None:
    assert scorer_settings.checked({"asker": {"allow": False}}) == {"asker": {"allow": "no"}}
