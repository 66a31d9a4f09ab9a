"""The answer is code, and its tests pass. Off until it is allowed: `--scorer code:allow=yes` runs what a model wrote.

`arguments.tests` (or `test`): Python that calls the function by its name, or defines `check(candidate)`.
`arguments.entry_point`: name of the function. `arguments.prompt`: the head of the function that was to be completed,
which may also define what the tests use. `answer`: a solution that passes, or empty.

Value: 1 when all tests pass, else 0 (pass@1 with one greedy answer, arXiv 2107.03374). Where they fail, the item's own
solution is run as well: if that fails here too (another version of Python, a machine too slow for the limit), nothing
is known of the answer and it is not scored.

Code and tests run in two processes of their own (hosts/shut_in.py), so that only right values pass, not printed text or
an early end with status 0. Both are limited in processor time, memory, disk and processes, and see neither the network
nor the user's files. What holds is looked at from inside before any code is loaded; where it does not hold, nothing is
run, unless that is allowed.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Mapping

from paredown.contracts import Option, Scorer, ScoringLevel
from paredown.contracts.scorer import ScoreAnswer
from paredown.errors import UserError
from paredown.hosts import code_sandbox
from paredown.hosts.code_sandbox import PROTECTIONS, Limits, Outcome, Program
from paredown.records.figure import Options
from paredown.records.golden import Answer, GoldenItem, Score

TO_TYPE = "--scorer code:allow=yes"
AT_ONCE = 4
# So many times the limit on processor time, and a start of two interpreters on a busy machine.
WALL_FACTOR, WALL_START_S = 2.0, 15.0
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
STARTS = re.compile(r"^(?:from|import|def|async def|class|@)\b|^@", re.MULTILINE)

OPTIONS = (
    Option("allow", "no", "run the code that a model wrote", choices=("no", "yes"), changes_numbers=True),
    Option("seconds", 5, "processor time for one answer", changes_numbers=True),
    Option("memory_mb", 1024, "memory for one answer", changes_numbers=True),
    Option("network", "refuse", "run it although it can reach the network", ("refuse", "allow"), changes_numbers=True),
    Option("files", "refuse", "run it although it can reach your files", ("refuse", "allow"), changes_numbers=True),
)
# What each option leaves open, when it is allowed.
DOORS = {"network": ("network",), "files": ("writing", "reading")}


def bind(options: Options) -> ScoreAnswer:
    """The function that scores. Raises UserError for limits that cannot be."""
    limits, needed = _limits(options), _needed(options)
    if options["allow"] != "yes":
        return score
    known: dict[str, Outcome] = {}
    return functools.partial(_score, limits, needed, known)


def score(item: GoldenItem, answer: Answer) -> Score:
    """Before it is allowed: not scored, and what to type."""
    return Score(item.id, None, answer.failure or f"no code is run unless you allow it: {TO_TYPE}")


def _limits(options: Options) -> Limits:
    seconds, memory = options["seconds"], options["memory_mb"]
    if not isinstance(seconds, int) or not 1 <= seconds <= 600:
        raise UserError(f"The scorer code has seconds={seconds}; give a whole number from 1 to 600.")
    if not isinstance(memory, int) or memory < 64:
        raise UserError(f"The scorer code has memory_mb={memory}; Python itself needs 64.")
    return Limits(seconds, WALL_FACTOR * seconds + WALL_START_S, memory * 1024 * 1024)


def _needed(options: Options) -> tuple[str, ...]:
    """Protections without which nothing is run."""
    return tuple(name for option, names in DOORS.items() if options[option] != "allow" for name in names)


def _score(
    limits: Limits, needed: tuple[str, ...], known: dict[str, Outcome], item: GoldenItem, answer: Answer
) -> Score:
    """known: what came of the items' own solutions, by item"""
    if answer.failure:
        return Score(item.id, None, answer.failure)
    if not answer.text.strip():
        return Score(item.id, 0.0, "the answer is empty")
    found = code_sandbox.run(_program(item, answer.text), limits, needed=needed)
    if found.status == "passed":
        return Score(item.id, 1.0)
    if found.status == "refused":
        return Score(item.id, None, _refusal(found))
    if item.answer.strip():
        own = known.get(item.id) or code_sandbox.run(_program(item, item.answer), limits, needed=needed)
        known[item.id] = own
        if own.status != "passed":
            return Score(item.id, None, f"the item's own solution does not pass here: {own.why}")
    if found.status != "failed":
        return Score(item.id, None, found.why)
    return Score(item.id, 0.0, found.why)


def _refusal(found: Outcome) -> str:
    lacking = found.why.split(", ")
    accept = [option for option, names in DOORS.items() if set(names) & set(lacking)]
    said = ", ".join(PROTECTIONS[name] for name in lacking)
    reason = f" ({'; '.join(dict.fromkeys(found.missing))})" if found.missing else ""
    return (
        f"this machine cannot promise {said}{reason}; run paredown in a container that has nothing to lose, and accept "
        f"it with {TO_TYPE},{','.join(f'{option}=allow' for option in accept)}"
    )


# ── from an answer to a program ──────────────────────────────────────────────────────────────────────────────────


def _program(item: GoldenItem, text: str) -> Program:
    head, name = str(item.arguments.get("prompt", "")), str(item.arguments["entry_point"])
    return Program(sources(head, name, text), name, head, str(_tests(item.arguments)))


def _tests(arguments: Mapping[str, object]) -> object:
    return arguments.get("tests", arguments.get("test"))


def sources(head: str, name: str, text: str) -> tuple[str, ...]:
    """Readings of an answer, the likeliest first: the whole function, behind what stands before it in the head; or the
    rest of the function, behind the head.
    """
    defined = re.compile(
        rf"^(?:async )?def {re.escape(name)}\b|^class {re.escape(name)}\b|^{re.escape(name)}\s*=", re.M
    )
    blocks = [match[1] for match in FENCE.finditer(text)]
    block = next((block for block in blocks if defined.search(block)), blocks[0] if blocks else text)
    if defined.search(block):
        start = STARTS.search(block)
        whole = block if blocks or start is None else block[start.start() :]
        place = defined.search(head)
        before = head[: place.start()] if place is not None else ""
        return (f"{before}\n{whole}", whole)
    body = block.strip("\n")
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    return tuple(f"{head.rstrip()}\n{one}\n" for one in ((body, indented) if body[:1].isspace() else (indented, body)))


# ── before and after ─────────────────────────────────────────────────────────────────────────────────────────────

_TRIAL = Program(("def successor(number):\n    return number + 1",), "successor", "", "assert successor(1) == 2")


def ready(options: Options) -> str:
    """What holds on this machine, seen by running a harmless function. Raises UserError when nothing can be run."""
    limits = _limits(options)
    if options["allow"] != "yes":
        return f"Scorer code: no code is run, so its prompts are not scored; allow it with {TO_TYPE}."
    found = code_sandbox.run(_TRIAL, limits, needed=_needed(options))
    if found.status == "refused":
        raise UserError(f"The scorer code runs nothing: {_refusal(found)}.")
    if found.status != "passed":
        raise UserError(f"The scorer code cannot run code on this machine: {found.why}.")
    held = found.held or {}
    holds = [said for name, said in PROTECTIONS.items() if held.get(name)]
    lacks = [said for name, said in PROTECTIONS.items() if not held.get(name)]
    also = f" NOT held here, as you allowed: {', '.join(lacks)}." if lacks else ""
    return (
        f"Scorer code: code that a model wrote is run, {limits.cpu_s} s and {options['memory_mb']} MB each. Held here: "
        f"{', '.join(holds) or 'nothing'}.{also}"
    )


def chance(_: GoldenItem) -> float | None:
    """0: a text drawn at random is not a program that passes."""
    return 0.0


def check(item: GoldenItem) -> None:
    unknown = sorted(set(item.arguments) - {"tests", "test", "entry_point", "prompt"})
    if unknown:
        raise ValueError(f"field 'arguments' has {unknown[0]!r}; expected only tests, entry_point, prompt")
    if "tests" in item.arguments and "test" in item.arguments:
        raise ValueError("field 'arguments' has 'test' and 'tests'; expected one of them")
    tests, name = _tests(item.arguments), item.arguments.get("entry_point")
    if not isinstance(tests, str) or not tests.strip():
        raise ValueError(f"field 'arguments.tests' is {tests!r}; expected Python that calls the function")
    if not isinstance(name, str) or IDENTIFIER.fullmatch(name) is None:
        raise ValueError(f"field 'arguments.entry_point' is {name!r}; expected the name of the function")
    head = item.arguments.get("prompt", "")
    if not isinstance(head, str):
        raise ValueError(f"field 'arguments.prompt' is {head!r}; expected a text")  # noqa: TRY004 check() raises ValueError
    try:
        compile(tests, "tests", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"field 'arguments.tests' is no Python: {error}; expected Python") from error


SCORER = Scorer(
    name="code",
    summary="the answer is code whose tests pass, run in a sandbox (off until `--scorer code:allow=yes`)",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    deterministic=False,
    pure=False,
    options=OPTIONS,
    bind=bind,
    ready=ready,
    at_once=AT_ONCE,
    needs_answer=False,
)
