"""Strata: what a request belongs to, and how many of each are taken."""

from __future__ import annotations

import pytest

from paredown.curate import strata
from paredown.curate.log_lines import Exchange
from paredown.errors import UnknownNameError
from paredown.records.traffic import Message


def asking(text: str, **more: object) -> Exchange:
    return Exchange("log:1", (Message("user", text),), **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many of the apples are left in the basket?", "en"),
        ("Wie viele von den Äpfeln sind noch in dem Korb und wie viele nicht?", "de"),
        ("Combien de pommes est-ce que vous avez dans le panier pour les enfants?", "fr"),
        ("¿Cuál es el nombre de la calle por la que pasa el tren?", "es"),
        ("東京でお寿司を食べたいのですが、どこがいいですか", "ja"),
        ("今天天气怎么样", "zh"),
        ("오늘 날씨는 어때요", "ko"),
        ("Сколько яблок осталось в корзине?", "cyrillic"),
        ("Tufaha ngapi zimebaki kwenye kikapu?", "latin"),
        ("2 + 2 =", "none"),
        ("", "none"),
    ],
)
def test_the_language_is_told_by_script_or_frequent_words_or_not_at_all(text: str, expected: str) -> None:
    assert strata.language(text) == expected


def test_the_name_holds_what_was_asked_for_in_that_order() -> None:
    request = asking("Give me this as JSON:\n```\nx\n```", has_tools=True)
    assert strata.name(request, 300, ("length", "tools", "json", "code")) == "medium.tools.json.code"
    assert strata.name(request, 300, ("json",)) == "json"
    assert strata.name(asking("Hi"), 300, ("json", "code", "tools", "system")) == "other"
    assert strata.name(asking("Hi", wants_json=True), 5_000, ("length", "json")) == "very_long.json"


@pytest.mark.parametrize(
    ("tokens", "expected"), [(256, "short"), (257, "medium"), (4_096, "long"), (4_097, "very_long")]
)
def test_lengths_have_limits(tokens: int, expected: str) -> None:
    assert strata.name(asking("Hi"), tokens, ("length",)) == expected


def test_the_system_message_decides_no_language() -> None:
    both = Exchange("log:1", (Message("system", "You are the help of the shop."), Message("user", "今天天气怎么样")))
    assert strata.name(both, 1, ("language", "system")) == "zh.system"


@pytest.mark.parametrize("text", ["import os\nimport sys\n", "if (x) {\n  y();\n}"])
def test_code_without_a_fence_is_code(text: str) -> None:
    assert strata.name(asking(text), 1, ("code",)) == "code"


def test_small_strata_get_their_least_and_the_rest_is_in_proportion() -> None:
    given = strata.allocate({"large": 8_000, "middle": 2_000, "small": 40, "tiny": 3}, 400)
    assert given["tiny"] == 3
    assert given["small"] == 10
    assert sum(given.values()) == 400
    assert abs(given["large"] / given["middle"] - 4.0) < 0.1


def test_there_is_never_more_taken_than_there_is() -> None:
    assert strata.allocate({"a": 5, "b": 2}, 400) == {"a": 5, "b": 2}
    assert strata.allocate({"a": 50, "b": 20, "c": 30}, 2) == {"a": 1, "b": 0, "c": 1}


def test_conversations_are_drawn_once_before_any_is_drawn_twice() -> None:
    members = [asking(f"Question {place}", group=f"c{place % 5}") for place in range(50)]
    assert len({one.group for one in strata.draw(members, 5, seed=1)}) == 5


def test_the_draw_depends_on_the_seed_and_not_on_the_order_of_the_log() -> None:
    members = [asking(f"Question {place}") for place in range(50)]
    assert set(strata.draw(members, 10, seed=1)) == set(strata.draw(members[::-1], 10, seed=1))
    assert set(strata.draw(members, 10, seed=1)) != set(strata.draw(members, 10, seed=2))


def test_an_unknown_dimension_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'length'"):
        strata.check(["lenght"])
