"""Runs tests on code that nobody has read: `python -I -S shut_in.py PROGRAM.json TESTS.json`, in an empty directory.

Two processes, both shut in (`isolation`). The one that this file starts as holds the tests. The other, its child, holds
the code, has never seen the tests, and answers one thing: what a call of the function gave. So nothing that the code
prints, and no way in which it ends, can pass for a success; only right values do. Values cross as JSON; what is none
(a function, an object) becomes something that equals nothing.

Standard output: one JSON object a line, `ready` with the protections that were seen to hold, then `done`.
Standard library only, nothing of paredown.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, NoReturn


def _beside(name: str) -> ModuleType:
    """A module beside this file: its directory is on no search path here, and stays off it."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(__file__), f"{name}.py"))  # noqa: PTH118, PTH120
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


values = _beside("plain_values")

LARGEST_MESSAGE_BYTES = 8 * 1024 * 1024
LONGEST_WORDS = 300
LENGTH_BYTES = 8
PR_SET_PDEATHSIG = 1


class CodeEnded(BaseException):
    """The code's process ended before it answered; no `except Exception` in a test may swallow that."""


class Unreadable(BaseException):
    """What came from the code's process is no answer: too long, or not written by `send`."""


# ── messages between the two ─────────────────────────────────────────────────────────────────────────────────────


def send(place: int, message: Any) -> None:
    raw = json.dumps(message).encode()
    data = len(raw).to_bytes(LENGTH_BYTES, "big") + raw
    while data:
        data = data[os.write(place, data) :]


def receive(place: int) -> Any:
    """The next message. Raises CodeEnded at the end, ValueError for what is too long or no JSON."""
    length = int.from_bytes(_read(place, LENGTH_BYTES), "big")
    if length > LARGEST_MESSAGE_BYTES:
        raise ValueError("a message is too long")
    return json.loads(_read(place, length))


def _read(place: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(place, min(count, 1 << 20))
        if not part:
            raise CodeEnded
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


# ── the process with the code ────────────────────────────────────────────────────────────────────────────────────


def hold_code(
    program: Mapping[str, Any], isolation: ModuleType, calls: int, answers: int, *, empty: int, parent: int
) -> NoReturn:
    """Shuts itself in for good, says what holds, loads the code, then answers calls until nobody asks."""
    _die_with(parent)
    _close_all_but(calls, answers, empty=empty)
    _try(isolation.drop_capabilities)
    if not _try(isolation.refuse_calls):
        _try(lambda: isolation.limit_processes(0))
    send(answers, isolation.observed(program["outside"]))
    if receive(calls) != "go":
        os._exit(1)
    names: dict[str, Any] = {"__name__": "solution", "__builtins__": builtins}
    try:
        exec(_first_that_compiles(program["sources"], program["name"]), names)  # noqa: S102  what it is for
        if not callable(names.get(program["name"])):
            raise NameError(f"it defines no function {program['name']}")  # noqa: TRY004, TRY301  told as any other fault
    except BaseException as error:  # noqa: BLE001  the code's own fault, whatever it is
        send(answers, {"error": _words(error)})
        os._exit(0)
    send(answers, {"value": None})
    while True:
        _answer(names, receive(calls), answers)


def _answer(names: Mapping[str, Any], call: Mapping[str, Any], answers: int) -> None:
    try:
        arguments, keywords = values.unpack(call["arguments"]), values.unpack(call["keywords"])
        value = values.pack(names[call["name"]](*arguments, **keywords), strict=False)
        raw: dict[str, Any] = {"value": value}
        after = values.pack(list(arguments), strict=False)
        if after != call["arguments"]:
            raw["arguments"] = after
        json.dumps(raw)
    except BaseException as error:  # noqa: BLE001  the test decides what an exception means
        raw = {"error": _words(error), "kind": type(error).__name__}
    send(answers, raw)


def _first_that_compiles(sources: Sequence[str], name: str) -> CodeType:
    """Of several readings of an answer the first that is Python; else the first one up to where it stops being it,
    which is where prose follows the code.

    Raises the SyntaxError of the first one.
    """
    first: Exception | None = None
    for source in sources:
        try:
            return compile(source, "solution", "exec")
        except (SyntaxError, ValueError) as error:
            first = first or error
    assert first is not None
    before = "\n".join(sources[0].split("\n")[: (getattr(first, "lineno", None) or 1) - 1])
    if name in before:
        with contextlib.suppress(SyntaxError, ValueError):
            return compile(before, "solution", "exec")
    raise first


def _words(error: BaseException) -> str:
    """Kind and message in one line; the message is the code's own, and may fail itself."""
    try:
        text = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001  a __str__ of the code's own
        text = ""
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:LONGEST_WORDS]


def _close_all_but(*kept: int, empty: int) -> None:
    """What it prints goes nowhere."""
    for place in (0, 1, 2):
        os.dup2(empty, place)
    low = 3
    for place in sorted(kept):
        os.closerange(low, place)
        low = place + 1
    os.closerange(low, 1024)


# ── the process with the tests ───────────────────────────────────────────────────────────────────────────────────


class Code:
    """The other process, as the tests see it: a function that is called."""

    def __init__(self, child: int, calls: int, answers: int, name: str) -> None:
        self._child, self._calls, self._answers, self._name = child, calls, answers, name
        self.ended = False

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        packed = values.pack(list(arguments), strict=True), values.pack(keywords, strict=True)
        try:
            send(self._calls, {"name": self._name, "arguments": packed[0], "keywords": packed[1]})
            answer = receive(self._answers)
            value, after = values.unpack(answer.get("value")), values.unpack(answer.get("arguments", ["list"]))
        except (CodeEnded, BrokenPipeError):
            self.ended = True
            raise CodeEnded from None
        except Exception as error:  # noqa: BLE001  the code may have written anything there
            raise Unreadable(str(error)) from None
        if "error" in answer:
            raise _raised(str(answer["error"]), str(answer.get("kind")))
        for own, changed in zip(arguments, after, strict=False):
            _change(own, changed)
        return value

    def how_it_ended(self, cpu_s: int) -> str:
        _, status = os.waitpid(self._child, 0)
        if not os.WIFSIGNALED(status):
            return f"the code ended its process (exit status {os.waitstatus_to_exitcode(status)}) in place of an answer"
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return f"the code took more than {cpu_s} s of processor time"
        return f"the code's process was ended by {signal.Signals(number).name}"


def _change(own: Any, changed: Any) -> None:
    """What the code did to an argument in place, done to the tests' own."""
    if isinstance(own, list) and isinstance(changed, list):
        own[:] = changed
    elif isinstance(own, dict | set) and type(own) is type(changed):
        own.clear()
        own.update(changed)


def _raised(words: str, name: str) -> Exception:
    """The exception that the code raised, of the same kind where Python has it."""
    kind: Any = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):
            found: Exception = kind(words.partition(": ")[2])
            return found
    return RuntimeError(words)


def judge(tests: Mapping[str, str], code: Code, cpu_s: int) -> dict[str, str]:
    """`passed`, `failed` (the code's fault) or `broken` (nothing is known of the code), and why."""
    names: dict[str, Any] = {"__name__": "tests"}
    with contextlib.suppress(SyntaxError, ValueError):
        # The head of the function alone is whole when it has a docstring; it may define what the tests use.
        exec(compile(tests["head"], "head", "exec"), names)  # noqa: S102  as the tests below
    names[tests["name"]] = code
    try:
        exec(compile(tests["tests"], "tests", "exec"), names)  # noqa: S102  the user's own tests, shut in as well
        if callable(names.get("check")):
            names["check"](code)
    except values.CannotCross as error:
        return {"status": "broken", "why": f"a test passes a {error} to the function, which is no plain value"}
    except CodeEnded:
        pass
    except AssertionError as error:
        return {"status": "failed", "why": f"a test failed{_of_line(error, tests['tests'])}"}
    except BaseException as error:  # noqa: BLE001  raised by the code, or by a test over what the code gave
        return {"status": "failed", "why": f"{_words(error)}{_of_line(error, tests['tests'])}"}
    if code.ended:  # a test may swallow even that
        return {"status": "failed", "why": code.how_it_ended(cpu_s)}
    return {"status": "passed", "why": ""}


def _of_line(error: BaseException, tests: str) -> str:
    """The line of the tests that raised it, as the rest of a sentence."""
    lines, found, trace = tests.split("\n"), "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "tests" and trace.tb_lineno <= len(lines):
            found = " ".join(lines[trace.tb_lineno - 1].split())
        trace = trace.tb_next
    return f" in: {found[:LONGEST_WORDS]}" if found else ""


def main(program_file: str, tests_file: str) -> None:
    """Shuts itself in, starts the other process, and says what came of it."""
    messages, empty, own = os.dup(1), os.open("/dev/null", os.O_RDWR), os.getpid()
    os.dup2(empty, 1)

    def say(**message: Any) -> None:
        os.write(messages, json.dumps(message).encode() + b"\n")

    # Both files are open before the code's process is there, and gone from the disk.
    program = json.loads(_take(program_file))
    tests = os.open(tests_file, os.O_RDONLY)
    os.unlink(tests_file)  # noqa: PTH108  pathlib is not needed for this in a bare interpreter
    isolation = _beside("isolation")
    sys.set_int_max_str_digits(0)
    missing = _shut_in(program, isolation)
    _die_with(program["parent"])
    calls, answers = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            hold_code(program, isolation, calls[0], answers[1], empty=empty, parent=own)
        finally:
            os._exit(3)
    os.close(calls[0])
    os.close(answers[1])
    try:
        held = receive(answers[0])
        say(event="ready", held=held, missing=missing)
        open_doors = [name for name in program["needed"] if not held[name]]
        if open_doors:
            say(event="done", status="refused", why=", ".join(open_doors))
            return
        _try(isolation.drop_capabilities)
        _try(isolation.refuse_calls)
        code = Code(child, calls[1], answers[0], program["name"])
        text = b"".join(iter(lambda: os.read(tests, 1 << 20), b""))
        say(event="done", **_loaded_and_judged(json.loads(text), code, calls[1], answers[0], program["cpu_s"]))
    except (CodeEnded, ValueError, OSError) as error:
        say(event="done", status="broken", why=_words(error))


def _loaded_and_judged(tests: Mapping[str, str], code: Code, calls: int, answers: int, cpu_s: int) -> dict[str, str]:
    send(calls, "go")
    try:
        loaded = receive(answers)
        wrong = loaded.get("error", "")
    except CodeEnded:
        return {"status": "failed", "why": code.how_it_ended(cpu_s)}
    except Exception as error:  # noqa: BLE001  the code may have written anything there
        wrong = f"its process gave no readable answer ({_words(error)})"
    if wrong:
        return {"status": "failed", "why": f"the code cannot be loaded: {wrong}"}
    return judge(tests, code, cpu_s)


def _shut_in(program: Mapping[str, Any], isolation: ModuleType) -> list[str]:
    """What both processes are held by; what this machine refuses is named, and looked at again from inside."""
    here = os.getcwd()  # noqa: PTH109  see above
    missing: list[str] = []
    isolation.limit(program["cpu_s"], program["memory_bytes"], program["file_bytes"])

    def own_namespaces() -> None:
        # Only then: as root, and in the machine's own namespace, the disk would be mounted for everybody.
        isolation.leave_network()
        isolation.small_disk(here, program["disk_bytes"])

    for step in (
        own_namespaces,
        isolation.no_new_privileges,
        lambda: isolation.restrict_files(program["readable"], here),
        isolation.hide_memory,
    ):
        try:
            step()
        except OSError as error:
            missing.append(str(error))
        os.chdir(here)
    return missing


def _try(step: Callable[[], None]) -> bool:
    """Whether it could be done; what holds in the end is observed."""
    try:
        step()
    except OSError:
        return False
    return True


def _take(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123  see above
        data = file.read()
    os.unlink(path)  # noqa: PTH108  see above
    return data


def _die_with(parent: int) -> None:
    """SIGKILL when the parent ends (Linux), and the end at once when it is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
