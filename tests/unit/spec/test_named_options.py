"""What may be typed behind a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.spec import named_options


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("chat", "chat", {}),
        ("a/b.csv:limit=3", "a/b.csv", {"limit": "3"}),
        ("a.csv:limit=3, invalid = clip", "a.csv", {"limit": "3", "invalid": "clip"}),
        ("sweep:rates=1,2,4,seed=3", "sweep", {"rates": "1,2,4", "seed": "3"}),
        ("C:\\logs\\a.csv:limit=3", "C:\\logs\\a.csv", {"limit": "3"}),
        ("http://host:1/a", "http://host:1/a", {}),
        ("chat:limit", "chat:limit", {}),
        ("chat:limit=", "chat", {"limit": ""}),
    ],
)
def test_options_begin_behind_the_first_colon_that_a_key_follows(text: str, name: str, options: object) -> None:
    assert named_options.parse(text) == named_options.Asked(name, options)  # type: ignore[arg-type]


def test_a_file_whose_name_looks_like_options_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log:limit=3").write_text("x")

    assert named_options.parse("log:limit=3").options == {}


def test_an_option_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="gives limit twice"):
        named_options.parse("chat:limit=1,limit=2")
