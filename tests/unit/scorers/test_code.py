"""Code: off until allowed, read out of an answer, and scored only when something is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from paredown.errors import UserError
from paredown.hosts import code_sandbox
from paredown.hosts.code_sandbox import PROTECTIONS, Limits, Outcome, Program
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.scorers import code
from paredown.scorers.code import SCORER

HEAD = 'import math\n\ndef half(n):\n    return n / 2\n\ndef double(n):\n    """Twice n."""\n'
ITEM = GoldenItem(
    "i",
    "code",
    "code",
    (Message("user", f"Complete.\n{HEAD}"),),
    "    return 2 * n\n",
    arguments={"prompt": HEAD, "test": "def check(candidate):\n    assert candidate(2) == 4", "entry_point": "double"},
)
DEFAULTS = {option.name: option.default for option in SCORER.options}
ALLOWED = {**DEFAULTS, "allow": "yes"}
WHOLE = "def double(n):\n    return 2 * n"


class Sandbox:
    """In place of the real one: what comes of each program, and what was asked of it."""

    def __init__(self, answer: Outcome, own: Outcome = Outcome("passed")) -> None:  # noqa: B008
        self.answer, self.own = answer, own
        self.programs: list[Program] = []
        self.limits, self.needed = Limits(), ()

    def run(self, program: Program, limits: Limits, *, needed: tuple[str, ...]) -> Outcome:
        self.programs.append(program)
        self.limits, self.needed = limits, needed
        return self.own if ITEM.answer.strip() in program.sources[0] else self.answer


def scored(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, item: GoldenItem = ITEM, **options: object) -> Score:
    monkeypatch.setattr(code_sandbox, "run", sandbox.run)
    return code.bind({**ALLOWED, **options})(item, Answer("i", "def double(n):\n    return n"))


# ── reading an answer ──


def test_right_and_wrong_answers_are_told_apart_for_real() -> None:
    score = code.bind({**ALLOWED, "network": "allow", "files": "allow"})
    assert score(ITEM, Answer("i", f"Sure:\n```python\n{WHOLE}\n```\nThat is it.")) == Score("i", 1.0)
    wrong = score(ITEM, Answer("i", "def double(n):\n    print('passed')\n    return n"))
    assert (wrong.value, wrong.why) == (0.0, "a test failed in: assert candidate(2) == 4")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (WHOLE, f"import math\n\ndef half(n):\n    return n / 2\n\n\n{WHOLE}"),
        (f"Here:\n\n{WHOLE}", f"\n\n{WHOLE}"),
        (f"```python\n{WHOLE}\n```", f"\n\n{WHOLE}"),
        (f"```\n{WHOLE}", f"\n\n{WHOLE}"),
        (f"Use it:\n```\nprint(double(2))\n```\nIt is\n```py\n{WHOLE}\n```", f"\n\n{WHOLE}"),
        ("    return 2 * n", '"""Twice n."""\n    return 2 * n\n'),
        ("return 2 * n", '"""Twice n."""\n    return 2 * n\n'),
        ("double = lambda n: 2 * n", "\n\ndouble = lambda n: 2 * n"),
        ("```python\nreturn 2 * n\n```", '"""Twice n."""\n    return 2 * n\n'),
    ],
)
def test_the_function_or_the_rest_of_it_is_found_in_an_answer(text: str, first: str) -> None:
    (found, *_) = code.sources(HEAD, "double", text)
    assert found.endswith(first)
    names: dict[str, object] = {}
    exec(found, names)
    assert names["double"](2) == 4  # type: ignore[operator]


# ── scoring ──


def test_nothing_is_run_before_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Sandbox(Outcome("passed"))
    found = scored(monkeypatch, sandbox, allow="no")
    assert (found.value, sandbox.programs) == (None, [])
    assert "--scorer code:allow=yes" in found.why


def test_a_failure_counts_only_when_the_items_own_solution_passes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Outcome("failed", "a test failed")
    assert scored(monkeypatch, Sandbox(failed)) == Score("i", 0.0, "a test failed")
    found = scored(monkeypatch, Sandbox(failed, own=Outcome("failed", "SyntaxError")))
    assert (found.value, found.why) == (None, "the item's own solution does not pass here: SyntaxError")
    assert scored(monkeypatch, Sandbox(failed, own=failed), replace(ITEM, answer="")).value == 0.0


def test_a_broken_sandbox_is_not_the_answers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scored(monkeypatch, Sandbox(Outcome("broken", "no memory")))
    assert (found.value, found.why) == (None, "no memory")


def test_an_own_solution_is_run_once_for_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Sandbox(Outcome("failed", "a test failed"))
    monkeypatch.setattr(code_sandbox, "run", sandbox.run)
    score = code.bind(ALLOWED)
    for _ in range(3):
        score(ITEM, Answer("i", "def double(n):\n    return n"))
    assert len(sandbox.programs) == 4


@pytest.mark.parametrize(
    ("lacking", "accept"),
    [
        ("network", "--scorer code:allow=yes,network=allow"),
        ("writing, reading", "--scorer code:allow=yes,files=allow"),
        ("network, reading", "--scorer code:allow=yes,network=allow,files=allow"),
    ],
)
def test_a_machine_without_a_protection_runs_nothing_and_says_what_accepts_that(
    monkeypatch: pytest.MonkeyPatch, lacking: str, accept: str
) -> None:
    refused = Outcome("refused", lacking, missing=("unshare: not permitted",))
    found = scored(monkeypatch, Sandbox(refused, own=refused))
    assert found.value is None
    assert found.why.endswith(accept)
    assert "unshare: not permitted" in found.why
    with pytest.raises(UserError, match="runs nothing: this machine cannot promise no"):
        code.ready(ALLOWED)


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, ("network", "writing", "reading")),
        ({"network": "allow"}, ("writing", "reading")),
        ({"files": "allow"}, ("network",)),
        ({"network": "allow", "files": "allow"}, ()),
    ],
)
def test_network_and_files_must_be_closed_unless_allowed(
    monkeypatch: pytest.MonkeyPatch, options: Mapping[str, object], needed: tuple[str, ...]
) -> None:
    sandbox = Sandbox(Outcome("passed"))
    scored(monkeypatch, sandbox, **options)
    assert sandbox.needed == needed


def test_limits_reach_the_sandbox_and_wrong_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Sandbox(Outcome("passed"))
    scored(monkeypatch, sandbox, seconds=3, memory_mb=128)
    assert (sandbox.limits.cpu_s, sandbox.limits.memory_bytes) == (3, 128 * 2**20)
    assert sandbox.limits.wall_s > 3
    for options in ({"seconds": 0}, {"seconds": 601}, {"memory_mb": 63}):
        with pytest.raises(UserError, match=next(iter(options))):
            code.bind({**ALLOWED, **options})


def test_before_a_run_it_says_what_holds_and_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not scored; allow it with --scorer code:allow=yes" in code.ready(DEFAULTS)
    held = dict.fromkeys(PROTECTIONS, True) | {"network": False}
    monkeypatch.setattr(code_sandbox, "run", lambda *_, **__: Outcome("passed", held=held))
    said = code.ready(ALLOWED)
    assert "Held here: no writing outside" in said
    assert "NOT held here, as you allowed: no network." in said
    monkeypatch.setattr(code_sandbox, "run", lambda *_, **__: Outcome("broken", "no memory"))
    with pytest.raises(UserError, match="cannot run code on this machine: no memory"):
        code.ready(ALLOWED)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tset": "x"}, "'tset'; expected only"),
        ({"test": ""}, "arguments.tests"),
        ({"tests": "pass"}, "'test' and 'tests'"),
        ({"test": "def"}, "is no Python"),
        ({"entry_point": "a b"}, "arguments.entry_point"),
        ({"prompt": 3}, "arguments.prompt"),
    ],
)
def test_a_wrong_item_is_refused(changes: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        code.check(replace(ITEM, arguments={**ITEM.arguments, **changes}))
