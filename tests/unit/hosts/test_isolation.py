"""The filter of system calls, executed by hand: also the one for a machine that this test does not run on."""

from __future__ import annotations

import struct

import pytest

from paredown.hosts import isolation

ALLOWED, REFUSED, UNKNOWN, KILLED = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
X86, ARM = isolation.MACHINES["x86_64"], isolation.MACHINES["aarch64"]


def verdict(machine: tuple[int, int], number: int, first: int = 0, architecture: int | None = None) -> int:
    """What the kernel would do: struct seccomp_data is number, architecture, instruction pointer, arguments."""
    data = struct.pack("=IIQQ", number, machine[0] if architecture is None else architecture, 0, first)
    program = list(struct.iter_unpack("@HBBI", isolation._filter(*machine)))
    place, loaded = 0, 0
    while True:
        code, if_true, if_false, operand = program[place]
        place += 1
        if code == isolation.RETURN:
            return operand
        if code == isolation.LOAD:
            (loaded,) = struct.unpack_from("=I", data, operand)
            continue
        holds = {
            isolation.EQUAL: loaded == operand,
            isolation.AT_LEAST: loaded >= operand,
            isolation.ANY_BIT: bool(loaded & operand),
        }[code]
        place += if_true if holds else if_false


@pytest.mark.parametrize("machine", [X86, ARM])
def test_every_call_of_the_list_is_refused_and_ordinary_ones_are_not(machine: tuple[int, int]) -> None:
    column = machine[1]
    listed = {numbers[column] for numbers in isolation.REFUSED.values()} - {None}
    assert len(listed) > 40
    for number in range(500):
        if number in (isolation.CLONE[column], isolation.PRLIMIT[column], isolation.CLONE3):
            continue
        assert verdict(machine, number) == (REFUSED if number in listed else ALLOWED)


@pytest.mark.parametrize("machine", [X86, ARM])
def test_threads_may_be_made_and_processes_not(machine: tuple[int, int]) -> None:
    clone = isolation.CLONE[machine[1]]
    assert verdict(machine, clone, isolation.CLONE_THREAD | 0x100) == ALLOWED
    assert verdict(machine, clone, 17) == REFUSED
    assert verdict(machine, isolation.CLONE3, isolation.CLONE_THREAD) == UNKNOWN


@pytest.mark.parametrize("machine", [X86, ARM])
def test_own_limits_may_be_read_and_those_of_others_not(machine: tuple[int, int]) -> None:
    assert verdict(machine, isolation.PRLIMIT[machine[1]], 0) == ALLOWED
    assert verdict(machine, isolation.PRLIMIT[machine[1]], 4711) == REFUSED


def test_calls_in_another_notation_are_no_way_around() -> None:
    assert verdict(X86, 20, architecture=0x40000003) == KILLED
    assert verdict(X86, isolation.X32 | 41) == REFUSED
