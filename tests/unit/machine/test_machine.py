"""What the host says of itself, from files that were written by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paredown.machine import accelerators, cgroup, cpu, describe, energy
from paredown.records.codec import dumps, loads
from paredown.records.machine import Machine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_machine_can_be_described_and_recorded() -> None:
    machine = describe()

    assert 1 <= machine.usable_cores <= machine.logical_cores
    assert machine.memory_bytes > 1 << 28
    assert machine.processor
    assert "python" in machine.versions
    assert loads(Machine, dumps(machine)) == machine


def test_describing_imports_no_heavy_library() -> None:
    code = (
        "import sys; from paredown.machine import describe; describe(); "
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'numpy', 'openvino', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_smallest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    write(tmp_path / "membership", "0::/a/b\n")
    write(tmp_path / "root/a/b/memory.max", "max\n")
    write(tmp_path / "root/a/memory.max", "4096\n")
    write(tmp_path / "root/a/b/cpu.max", "150000 100000\n")
    write(tmp_path / "root/a/cpu.max", "400000 100000\n")
    write(tmp_path / "root/cpu.max", "max 100000\n")

    assert cgroup.memory_limit_bytes(tmp_path / "root", tmp_path / "membership") == 4096
    assert cgroup.cpu_quota_cores(tmp_path / "root", tmp_path / "membership") == 1.5


def test_the_older_control_groups_are_read_too(tmp_path: Path) -> None:
    write(tmp_path / "membership", "5:memory:/x\n4:cpu,cpuacct:/x\n")
    write(tmp_path / "root/memory/x/memory.limit_in_bytes", "8192\n")
    write(tmp_path / "root/memory/memory.limit_in_bytes", "9223372036854771712\n")
    write(tmp_path / "root/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n")
    write(tmp_path / "root/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n")
    write(tmp_path / "root/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
    write(tmp_path / "root/cpu,cpuacct/cpu.cfs_period_us", "100000\n")

    assert cgroup.memory_limit_bytes(tmp_path / "root", tmp_path / "membership") == 8192
    assert cgroup.cpu_quota_cores(tmp_path / "root", tmp_path / "membership") == 0.5


def test_no_control_group_is_no_limit(tmp_path: Path) -> None:
    assert cgroup.memory_limit_bytes(tmp_path, tmp_path / "membership") is None
    assert cgroup.cpu_quota_cores(tmp_path, tmp_path / "membership") is None


def test_instruction_sets_are_those_that_decide_on_kernels(tmp_path: Path) -> None:
    write(
        tmp_path / "cpuinfo",
        "model name\t: Some CPU\ncpu family\t: 25\nmodel\t: 17\nflags\t\t: fpu avx2 avx512_vnni ht\n\nmodel name: x",
    )
    found = cpu.read(tmp_path / "cpuinfo")

    assert found.name == "Some CPU (family 25, model 17)"
    assert found.instruction_sets == ("avx2", "avx512_vnni")


def test_the_last_level_cache_is_the_largest(tmp_path: Path) -> None:
    write(tmp_path / "index0/size", "48K\n")
    write(tmp_path / "index3/size", "32M\n")

    assert cpu.last_level_cache_bytes(tmp_path) == 32 << 20
    assert cpu.last_level_cache_bytes(tmp_path / "none") is None


def test_the_drivers_answer_is_parsed_line_by_line() -> None:
    found = accelerators.parse("NVIDIA H100 PCIe, 81559, 550.54, 9.0\nNo devices were found\n")

    assert [(a.name, a.memory_bytes, a.compute_capability) for a in found] == [("NVIDIA H100 PCIe", 81559 << 20, "9.0")]


def test_package_counters_are_found_and_their_parts_left_out(tmp_path: Path) -> None:
    for name, domain in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")):
        write(tmp_path / name / "name", domain)
        write(tmp_path / name / "energy_uj", "2500000")
        write(tmp_path / name / "max_energy_range_uj", "10000000")
    (found,) = energy.find(tmp_path)

    assert (energy.name([found]), found.read_joules()) == ("RAPL package-0", 2.5)


def test_a_counter_that_wrapped_is_unwrapped(tmp_path: Path) -> None:
    counter = energy.RaplCounter(tmp_path, "x", 10.0)

    assert energy.used_joules(counter, 9.0, 1.0) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="backwards"):
        energy.used_joules(energy.NvmlCounter(0, "y"), 9.0, 1.0)


@pytest.mark.parametrize(
    ("controllers", "place", "text"),
    [
        ("", "a/b", "nr_periods 9\nnr_throttled 4\nthrottled_usec 2500\n"),
        ("cpu,cpuacct", "cpu/a/b", "nr_periods 9\nnr_throttled 4\nthrottled_time 2500000\n"),
    ],
)
def test_how_long_a_quota_held_back_is_read_from_both_versions_of_control_groups(tmp_path, controllers, place, text):
    directory = tmp_path / "root" / place
    directory.mkdir(parents=True)
    (directory / "cpu.stat").write_text(text)
    (directory.parent / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n")
    (tmp_path / "membership").write_text(f"{0 if not controllers else 3}:{controllers}:/a/b\n")
    assert cgroup.cpu_throttled(tmp_path / "root", tmp_path / "membership") == cgroup.Throttled(4, 2500)


def test_where_no_quota_is_counted_nothing_is_known_of_it(tmp_path):
    (tmp_path / "cpu.stat").write_text("usage_usec 5\nuser_usec 3\n")
    (tmp_path / "membership").write_text("0::/\n")
    assert cgroup.cpu_throttled(tmp_path, tmp_path / "membership") is None
