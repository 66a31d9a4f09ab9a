"""Techniques for the fake engine: each rewrites fake.json, in a worker process, as a real one writes a model.

They are declared to the registry only by tests (`extension.declare(directory, DECLARED)`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from paredown.contracts import Applied, ApplyContext, LeftOut, PlanFacts, Proposal, Rung, Technique
from paredown.records.candidate import Prediction, Step
from paredown.testing import fake_models
from paredown.testing.fake_language import FakeScript, read_script

Change = Callable[[FakeScript], FakeScript]


def _slower_or_faster(script: FakeScript, factor: float) -> FakeScript:
    speeds = script.speeds
    changed = dataclasses.replace(speeds, decode_ns_per_step=round(speeds.decode_ns_per_step * factor))
    return dataclasses.replace(script, speeds=changed)


def _smaller(script: FakeScript, divisor: float) -> FakeScript:
    return dataclasses.replace(script, weight_bytes=round(script.weight_bytes / divisor))


def lossless(script: FakeScript) -> FakeScript:
    """The same answers, a little faster."""
    return _slower_or_faster(script, 0.8)


def eight_bit(script: FakeScript) -> FakeScript:
    """Half the bytes, three times as fast, the same answers."""
    return _smaller(_slower_or_faster(script, 1 / 3), 2.0)


def eight_bit_slow(script: FakeScript) -> FakeScript:
    """Half the bytes, slower than `eight_bit`."""
    return _smaller(_slower_or_faster(script, 0.7), 2.0)


def four_bit(script: FakeScript) -> FakeScript:
    """A quarter of the bytes, faster still, and a third of the answers wrong."""
    worse = {name: share * 0.67 for name, share in script.right_fraction.items()}
    return dataclasses.replace(_smaller(_slower_or_faster(script, 1 / 5), 4.0), right_fraction=worse)


def nothing(script: FakeScript) -> FakeScript:
    """Claims four bits and changes only a seed."""
    return dataclasses.replace(script, seed=script.seed + 1)


def crash(script: FakeScript) -> FakeScript:
    """Its engine dies while it answers."""
    faults = dataclasses.replace(script.faults, die_after_tokens=3)
    return dataclasses.replace(_smaller(script, 2.0), faults=faults)


def out_of_memory(script: FakeScript) -> FakeScript:
    """Its engine does not load."""
    faults = dataclasses.replace(script.faults, oom_on_load=True)
    return dataclasses.replace(_smaller(script, 2.0), faults=faults)


def _technique(name: str, rung: Rung, change: Change) -> Technique:
    def propose(facts: PlanFacts) -> Sequence[Proposal | LeftOut]:
        del facts
        predicted = Prediction(decode_speed_ratio=2.0)
        return [Proposal(name, rung, (Step(name),), "fake", "a script for tests", prediction=predicted)]

    def apply(context: ApplyContext) -> Applied:
        source = context.sources["main"].path
        context.report(0.5, "rewriting the script")
        changed = change(read_script(source))
        target = context.out / "made"
        fake_models.variant(source, target, **{f.name: getattr(changed, f.name) for f in dataclasses.fields(changed)})
        for file in target.iterdir():
            file.replace(context.out / file.name)
        target.rmdir()
        return Applied(notes=(change.__doc__ or "",))

    return Technique(
        name=name,
        summary=change.__doc__ or "",
        trade_off="For tests.",
        rung=rung,
        consumes=("fake",),
        produces="fake",
        propose=propose,
        apply=apply,
        changes_weights=rung is not Rung.LOSSLESS,
    )


LOSSLESS = _technique("fake_lossless", Rung.LOSSLESS, lossless)
EIGHT_BIT = _technique("fake_8bit", Rung.EIGHT_BIT, eight_bit)
EIGHT_BIT_SLOW = _technique("fake_8bit_slow", Rung.EIGHT_BIT, eight_bit_slow)
FOUR_BIT = _technique("fake_4bit", Rung.FOUR_BIT, four_bit)
NOTHING = _technique("fake_nothing", Rung.FOUR_BIT, nothing)
CRASH = _technique("fake_crash", Rung.EIGHT_BIT, crash)
OUT_OF_MEMORY = _technique("fake_oom", Rung.EIGHT_BIT, out_of_memory)

CONSTANTS = {
    "fake_lossless": "LOSSLESS",
    "fake_8bit": "EIGHT_BIT",
    "fake_8bit_slow": "EIGHT_BIT_SLOW",
    "fake_4bit": "FOUR_BIT",
    "fake_nothing": "NOTHING",
    "fake_crash": "CRASH",
    "fake_oom": "OUT_OF_MEMORY",
}
DECLARED = {"techniques": {name: f"{__name__}:{constant}" for name, constant in CONSTANTS.items()}}
