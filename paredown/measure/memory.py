"""Memory of the engine's process tree: sampled PSS, the kernel's high-water marks, and the parts that it is made of.

PSS (proportional set size, proc(5)) counts a page shared by two processes half to each, so that the sum over the
tree counts every page once; RSS would count it twice.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.records.events import KV_CACHE_NOTE, WEIGHTS_NOTE, Memory
from paredown.stats.memory_figures import ACTIVATIONS_NOTE

PROC = Path("/proc")
# Reading PSS makes the kernel walk the page tables of the engine: the pause keeps that below 2 % of one core.
PAUSE_PER_COST = 50
FIRST_SAMPLE_S = 0.01


@dataclass(frozen=True)
class KvPart:
    """The KV cache at its largest, and what one position of it takes; None = not separated. `note`: of what, or why."""

    total_bytes: int | None
    bytes_per_token: float | None
    note: str


@dataclass(frozen=True)
class MemorySample:
    """PSS of each process at one moment. `data_bytes`: without mapped shared libraries, where that was asked for."""

    at_ns: int
    pss_bytes: Mapping[int, int]
    data_bytes: Mapping[int, int] | None = None

    def total(self, processes: Iterable[int]) -> int:
        return sum(self.pss_bytes.get(process, 0) for process in processes)


class MemorySampler:
    """Samples every process that descends from this one and was not there before, in a thread, while it is open.

    It is opened before the engine is started, so that the growth while loading is seen.
    """

    def __init__(
        self,
        *,
        period_s: float = 0.1,
        proc: Path = PROC,
        root_process: int | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._period_s, self._proc, self._now_ns = period_s, proc, now_ns
        self._root = os.getpid() if root_process is None else root_process
        self._strangers = frozenset(descendants(self._root, proc))
        self._samples: list[MemorySample] = []
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory-sampler", daemon=True)

    def __enter__(self) -> MemorySampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Sample no more: looking for a process that never comes takes a fifth of a core from what is measured."""
        self._stopped.set()
        self._thread.join()

    def sample(self, *, without_libraries: bool = False) -> MemorySample | None:
        """One sample now; None when there is no engine process to be seen."""
        with self._lock:
            processes = [p for p in descendants(self._root, self._proc) if p not in self._strangers]
            first = not self._samples
            pss = {p: b for p in processes if (b := pss_bytes(p, self._proc)) is not None}
            if not pss:
                return None
            data = None
            if first or without_libraries:
                data = {p: pss[p] - library_bytes(p, self._proc) for p in pss}
            taken = MemorySample(self._now_ns(), pss, data)
            self._samples.append(taken)
            return taken

    def samples(self) -> tuple[MemorySample, ...]:
        with self._lock:
            return tuple(self._samples)

    def _run(self) -> None:
        # The first sample has to come before the engine has loaded anything.
        while self.sample() is None and not self._stopped.wait(FIRST_SAMPLE_S):
            pass
        while not self._stopped.is_set():
            begun = time.thread_time()
            self.sample()
            cost_s = time.thread_time() - begun
            self._stopped.wait(max(self._period_s, PAUSE_PER_COST * cost_s))


def summarize(
    samples: Sequence[MemorySample],
    processes: Iterable[int],
    *,
    loaded: MemorySample | None,
    high_water_bytes: int | None,
    kv: KvPart,
) -> Memory | None:
    """The record of one process tree; None when it was never seen.

    loaded: the sample taken after the first short answer, when every page of the weights has been touched
    """
    tree = frozenset(processes)
    seen = [sample for sample in samples if sample.total(tree) > 0]
    if not seen:
        return None
    first, notes = seen[0], []
    weights = None
    if loaded is None or loaded.data_bytes is None or first.data_bytes is None or loaded is first:
        notes.append(f"{WEIGHTS_NOTE}not separated, because the process was not seen before it had loaded them")
    else:
        weights = _sum(loaded.data_bytes, tree) - _sum(first.data_bytes, tree)
        notes.append(f"{WEIGHTS_NOTE}growth while loading without mapped libraries, but with what these allocated")
    not_separated = "not separated, " if kv.total_bytes is None else ""
    notes.append(f"{KV_CACHE_NOTE}{not_separated}{kv.note}")
    activations = _activations(seen, tree, loaded, kv)
    notes.append(f"{ACTIVATIONS_NOTE}{activations.note}")
    span_ns = seen[-1].at_ns - first.at_ns
    return Memory(
        peak_bytes=max(sample.total(tree) for sample in seen),
        sample_period_ms=round(span_ns / max(1, len(seen) - 1) / 1e6),
        samples=len(seen),
        before_load_bytes=first.total(tree),
        after_load_bytes=loaded.total(tree) if loaded else None,
        high_water_bytes=high_water_bytes,
        weights_bytes=weights,
        kv_cache_bytes=kv.total_bytes,
        note="; ".join(notes),
        kv_bytes_per_token=kv.bytes_per_token,
        activations_bytes=activations.bytes,
    )


@dataclass(frozen=True)
class _Activations:
    bytes: int | None
    note: str


def _activations(
    seen: Sequence[MemorySample], tree: frozenset[int], loaded: MemorySample | None, kv: KvPart
) -> _Activations:
    """What was held at the peak of the work beyond the loaded model and the KV cache."""
    if loaded is None:
        return _Activations(None, "not separated, because no sample was taken after loading")
    if kv.total_bytes is None:
        return _Activations(None, "not separated from the KV cache")
    working = max((sample.total(tree) for sample in seen if sample.at_ns >= loaded.at_ns), default=0)
    beyond = working - loaded.total(tree) - kv.total_bytes
    if beyond < 0:
        return _Activations(None, "not separated, because the KV cache lies in memory that was held before")
    return _Activations(beyond, "peak of the work less the loaded model (a short answer's included) and the KV cache")


def growth_bytes(samples: Sequence[MemorySample], processes: Iterable[int], start_ns: int, end_ns: int) -> int | None:
    """Growth of the tree's PSS between two moments, by least squares over the samples in between.

    None when it cannot be told: fewer than four samples, no growth, or memory that does not follow time (r² < 0.8).
    """
    tree = frozenset(processes)
    points = [(s.at_ns - start_ns, s.total(tree)) for s in samples if start_ns <= s.at_ns <= end_ns]
    if len(points) < 4:
        return None
    mean_t, mean_b = sum(t for t, _ in points) / len(points), sum(b for _, b in points) / len(points)
    spread_t = sum((t - mean_t) ** 2 for t, _ in points)
    spread_b = sum((b - mean_b) ** 2 for _, b in points)
    together = sum((t - mean_t) * (b - mean_b) for t, b in points)
    if spread_b == 0 or together <= 0 or together**2 < 0.8 * spread_t * spread_b:
        return None
    return round(together / spread_t * (end_ns - start_ns))


def descendants(process: int, proc: Path = PROC) -> tuple[int, ...]:
    """Process ids of all children, theirs, and so on."""
    # Reading the parent of every process works everywhere; task/*/children is a kernel option that many lack.
    children: dict[int, list[int]] = {}
    for status in proc.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    found, waiting = [], [process]
    while waiting:
        ids = children.get(waiting.pop(), [])
        found += ids
        waiting += ids
    return tuple(found)


def pss_bytes(process: int, proc: Path = PROC) -> int | None:
    """Proportional set size; None when the process has ended or may not be read."""
    return _field_bytes(proc / str(process) / "smaps_rollup", "Pss:")


def high_water_bytes(processes: Iterable[int], proc: Path = PROC) -> int | None:
    """Sum of the kernel's marks of the largest resident size (VmHWM); None when none can be read."""
    marks = [_field_bytes(proc / str(process) / "status", "VmHWM:") for process in processes]
    known = [mark for mark in marks if mark is not None]
    return sum(known) if known else None


def library_bytes(process: int, proc: Path = PROC) -> int:
    """PSS of mapped shared libraries: program code, neither weights nor cache."""
    total, in_library = 0, False
    try:
        with (proc / str(process) / "smaps").open() as lines:
            for line in lines:
                words = line.split()
                if words[0] == "Pss:" and in_library:
                    total += int(words[1]) * 1024
                elif not words[0].endswith(":"):
                    in_library = len(words) > 5 and (words[5].endswith(".so") or ".so." in words[5])
    except OSError:
        return 0
    return total


def _field_bytes(path: Path, name: str) -> int | None:
    try:
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None


def _sum(sizes: Mapping[int, int], processes: Iterable[int]) -> int:
    return sum(sizes.get(process, 0) for process in processes)
