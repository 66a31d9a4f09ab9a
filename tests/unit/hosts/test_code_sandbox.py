"""Code that nobody has read: what it cannot do, and that nothing but right values passes its tests."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from paredown.hosts import code_sandbox, isolation
from paredown.hosts.code_sandbox import PROTECTIONS, Limits, Outcome, Program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")

LIMITS = Limits(cpu_s=2, wall_s=20.0, memory_bytes=256 * 1024 * 1024)
TESTS = "def check(candidate):\n    assert candidate(1) == 2\n"


def run(
    code: str, tests: str = TESTS, limits: Limits = LIMITS, head: str = "", needed: tuple[str, ...] = ()
) -> Outcome:
    return code_sandbox.run(Program((code,), "f", head, tests), limits, needed=needed)


@pytest.fixture(scope="module")
def held() -> Mapping[str, bool]:
    found = run("def f(x): return x + 1").held
    assert found is not None
    return found


def offers(name: str) -> bool:
    """Whether this machine has what the protection is made of, so that it must hold."""
    if name in ("reading", "writing"):
        return ctypes.CDLL(None).syscall(isolation.CREATE_RULESET, None, 0, isolation.RULESET_VERSION) > 0
    return platform.machine() in isolation.MACHINES and Path("/proc/sys/kernel/seccomp").exists()


def need(held: Mapping[str, bool], name: str) -> None:
    if not held[name] and not offers(name):
        pytest.skip(f"this machine does not promise {PROTECTIONS[name]}")
    assert held[name]


def test_right_code_passes_and_every_protection_is_looked_at() -> None:
    found = run("print('hello')\ndef f(x): return x + 1")
    assert (found.status, found.why) == ("passed", "")
    assert {name for name, holds in (found.held or {}).items() if holds} >= set(filter(offers, PROTECTIONS))


@pytest.mark.parametrize(
    "code",
    [
        "import os\ndef f(x):\n    print('passed')\n    os._exit(0)",
        pytest.param("import os\nprint('passed')\nos._exit(0)", marks=pytest.mark.slow),
        pytest.param(
            "class Equal:\n    def __eq__(self, other): return True\ndef f(x): return Equal()", marks=pytest.mark.slow
        ),
    ],
)
def test_an_early_end_with_status_0_printed_text_and_objects_that_equal_everything_do_not_pass(code: str) -> None:
    assert run(code).status == "failed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys\ndef f(x): sys.exit(0)", "SystemExit: 0"),
        ("import sys\nsys.exit(0)", "cannot be loaded: SystemExit: 0"),
        ("def f(x): return x", "a test failed in: assert candidate(1) == 2"),
        ("def f(x): raise ValueError('no')", "ValueError: no in: assert candidate(1) == 2"),
        ("def f(x) return 2", "cannot be loaded: SyntaxError"),
        ("def g(x): return 2", "it defines no function f"),
        ("def f(x): return f(x)", "RecursionError"),
        ("import ctypes\nctypes.string_at(0)", "ended by SIGSEGV"),
        ("def f(x):\n    while True: pass", "the code took more than 2 s of processor time"),
        ("def f(x):\n    a = []\n    while True: a.append(bytearray(10**7))", "MemoryError"),
        ("def f(x): return 'x' * (9 * 1024 * 1024)", "too long"),
        ("import threading, time\ndef f(x):\n    while True: threading.Thread(target=time.sleep, args=(9,)).start()",
         "can't start new thread"),
        ("def f(x):\n    with open('big', 'wb') as file:\n        while True: file.write(b'x' * 10**6)",
         "File too large"),
        ("import os\nfor place in range(3, 60):\n    try: os.write(place, b'passed')\n    except OSError: pass",
         "gave no readable answer"),
        ("import os\ndef f(x):\n    os.closerange(0, 100)\n    return 2", "(exit status 3) in place of an answer"),
    ],
)  # fmt: skip
def test_what_fails_says_how_in_one_sentence(code: str, why: str) -> None:
    found = run(code)
    assert found.status == "failed"
    assert why in found.why
    assert "\n" not in found.why


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protection", "body"),
    [
        ("processes", "while True: os.fork()"),
        ("processes", "subprocess.run(['true'])"),
        ("processes", "os.execv('/bin/true', ['true'])"),
        ("signals", "os.kill(os.getppid(), 9)"),
        ("signals", "os.killpg(0, 9)"),
        ("processes", "os.setsid()"),
        ("network", "socket.create_connection(('127.0.0.1', PORT))"),
        ("network", "socket.socket(socket.AF_UNIX)"),
        ("network", "assert ctypes.CDLL(None, use_errno=True).syscall(41, 2, 1, 0) >= 0"),
        ("network", "assert ctypes.CDLL(None, use_errno=True).shmget(7, 4096, 0o1600) >= 0"),
        ("reading", "open('OUTSIDE').read()"),
        ("reading", "os.listdir('/proc')"),
        ("writing", "open('OUTSIDE', 'a')"),
        ("writing", "os.unlink('OUTSIDE')"),
        ("writing", "os.chmod('OUTSIDE', 0)"),
        ("writing", "os.rename('OUTSIDE', 'here')"),
    ],
)
def test_what_the_code_must_not_do_fails_inside_and_leaves_no_trace(
    held: Mapping[str, bool], tmp_path: Path, protection: str, body: str
) -> None:
    need(held, protection)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        body = body.replace("OUTSIDE", str(outside)).replace("PORT", str(port))
        found = run(
            "import ctypes, os, socket, subprocess\n"
            f"def f(x):\n    try:\n        {body}\n    except (OSError, AssertionError): return 2\n    return 'done'"
        )
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (found.status, found.why) == ("passed", "")
    assert (outside.read_text(), outside.stat().st_mode & 0o777) == ("mine", 0o644)


@pytest.mark.slow
def test_a_program_that_sleeps_is_ended_with_everything_that_it_started() -> None:
    began = time.monotonic()
    found = run("import time\ndef f(x):\n    time.sleep(100)", limits=Limits(cpu_s=2, wall_s=1.5))
    assert (found.status, found.why) == ("failed", "the code did not end within 1.5 s")
    assert time.monotonic() - began < 15


def _started_from(directory: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str(directory).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def _until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


@pytest.mark.slow
def test_nothing_goes_on_when_paredown_is_killed(tmp_path: Path) -> None:
    code = "import time\ntime.sleep(300)\ndef f(x): return 2"
    program = f"Program(({code!r},), 'f', '', 'f(1)')"
    starting = f"from paredown.hosts.code_sandbox import *\nrun({program}, Limits(wall_s=300), needed=())"
    with subprocess.Popen([sys.executable, "-c", starting], env={**os.environ, "TMPDIR": str(tmp_path)}) as parent:
        try:
            assert _until(lambda: len(_started_from(tmp_path)) == 2)
        finally:
            parent.kill()
    assert _until(lambda: not _started_from(tmp_path))


@pytest.mark.slow
def test_many_files_fill_a_small_disk_of_their_own() -> None:
    found = run("def f(x):\n    for i in range(10**6):\n        open(str(i), 'wb').write(b'x' * 10**6)")
    assert found.status == "failed"
    assert "No space left" in found.why or found.why.startswith("the code took")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("def f(x): raise ValueError('no')",
         "try:\n    f(1)\nexcept ValueError as error:\n    assert str(error) == 'no'"),
        ("def f(*a, **k): return a, k", "assert f(1, [2], c={3: (4, {5})}) == ((1, [2]), {'c': {3: (4, {5})}})"),
        ("def f(x): return b'x', 1j, [1.5, float('inf')], None, frozenset()",
         "assert f(0) == (b'x', 1j, [1.5, float('inf')], None, frozenset())"),
        ("def f(x): return 10**6000", "assert f(0) == 10**6000"),
        ("def f(a, b, c):\n    a.sort()\n    b[1] = [2]\n    c.add(3)",
         "a, b, c = [2, 1], {}, set()\nassert f(a, b, c) is None\nassert (a, b, c) == ([1, 2], {1: [2]}, {3})"),
        ("def f(x): return x + 1\n\nThis adds one, isn't it?", TESTS),
        ("def f(x): return x + 1", f"{TESTS}    assert helper(1) == candidate(1)"),
    ],
)  # fmt: skip
def test_values_exceptions_and_what_the_head_defines_reach_the_tests(code: str, tests: str) -> None:
    head = 'def helper(x):\n    return x + 1\n\ndef f(x):\n    """Add one."""\n'
    assert run(code, tests, head=head) == Outcome("passed", "", run(code, tests, head=head).held, ())


@pytest.mark.slow
def test_a_test_that_swallows_everything_does_not_hide_that_the_code_ended() -> None:
    tests = "try:\n    f(1)\nexcept BaseException:\n    pass"
    assert run("import os\ndef f(x): os._exit(0)", tests).status == "failed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ("f(lambda: 1)", "a test passes a function to the function"),
        ("import os\nos._exit(0)", "the sandbox failed: its process ended with 0"),
        ("while True: pass", "the sandbox failed"),
    ],
)
def test_what_is_the_fault_of_the_tests_is_not_the_codes(tests: str, why: str) -> None:
    found = run("def f(x): return x", tests, limits=Limits(cpu_s=1))
    assert found.status == "broken"
    assert why in found.why


@pytest.mark.slow
def test_the_code_never_sees_the_tests() -> None:
    looking = (
        "import gc, os, sys\n"
        "def f(x):\n"
        "    seen = [o for o in gc.get_objects() if isinstance(o, (dict, str)) and 'se' + 'cret' in repr(o)[:10000]]\n"
        "    return len([o for o in seen if 'marker' in repr(o)])"
    )
    assert run(looking, "marker = 'secret'\nassert f(1) == 0").status == "passed"


def test_without_a_protection_that_is_needed_the_code_is_not_even_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the sandbox on a machine without Landlock and namespaces."""
    here = Path(code_sandbox.__file__)
    for name in ("shut_in.py", "plain_values.py"):
        (tmp_path / name).write_text(here.with_name(name).read_text())
    text = here.with_name("isolation.py").read_text()
    for step in ("leave_network() -> None:", "writable: str) -> None:"):
        assert step in text
        text = text.replace(step, f"{step}\n    raise OSError('not on this machine')")
    (tmp_path / "isolation.py").write_text(text)
    monkeypatch.setattr(code_sandbox, "__file__", str(tmp_path / "code_sandbox.py"))
    mark = tmp_path / "loaded"
    found = run(f"open({str(mark)!r}, 'w')\ndef f(x): return 2", needed=("writing", "network"))
    assert (found.status, found.why) == ("refused", "writing")
    assert "not on this machine" in found.missing
    assert not mark.exists()


@pytest.mark.slow
def test_nothing_of_the_user_reaches_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    found = run(
        "import os\ndef f(x): return [dict(os.environ), os.listdir('.')]", "assert f(1)[0].get('SECRET') is None"
    )
    assert found.status == "passed"
    assert os.environ["SECRET"] == "x"
