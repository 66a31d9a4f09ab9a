"""The request as it stands in the record, and what follows from it alone. Read by the run, `report` and `verify`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from paredown import registry
from paredown.errors import RecordError, UserError
from paredown.evaluate import golden
from paredown.evaluate.golden import GoldenSet
from paredown.flow import twinning
from paredown.flow.context import Prepared
from paredown.records import codec
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate
from paredown.records.machine import Ceilings, Machine
from paredown.records.traffic import Workload
from paredown.records.verdict import Margin, Target
from paredown.spec import margins
from paredown.spec import targets as target_texts
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore

BASELINE = "baseline"
CHANGEABLE = frozenset({"golden"})
"""Settings that a later command in the same directory may change: prompts are added under the same error budget."""


@dataclass(frozen=True)
class Asked:
    """The spec as text, its digest, the version of paredown that wrote it, and where the run was made.

    directory: part of the decision (its serve command), which therefore reads the same wherever the record is moved
    """

    settings: str
    digest: str
    paredown: str
    directory: str = ""


@dataclass(frozen=True)
class ItemIds:
    """Ids of golden items that were used together."""

    ids: tuple[str, ...]


def remember(store: RunStore, spec: RunSpec, version: str) -> None:
    """Hash the request into the record. Raises UserError when the directory belongs to another request."""
    now = Asked(json.dumps(spec.decides(), sort_keys=True), spec.digest(), version, str(store.directory))
    before = store.find("spec", "run", Asked)
    if before is not None and before.digest != now.digest:
        changed = _changed(json.loads(before.settings), spec.decides())
        if not changed <= CHANGEABLE:
            raise UserError(
                f"{store.directory} holds a run with another request (different: {', '.join(sorted(changed))}). "
                "Repeat the same request, or choose another directory with --run-dir."
            )
    if before is None or before.digest != now.digest:
        store.put("spec", "run", now)


def spec_of(store: RunStore) -> RunSpec:
    """The newest request in the record."""
    asked = store.get("spec", "run", Asked)
    settings = {name: value for name, value in json.loads(asked.settings).items() if value is not None}
    return RunSpec.model_validate(_aliased(settings))


def screened_before(store: RunStore) -> frozenset[str]:
    """Items that chose candidates in an earlier run here: they never confirm, whatever was added since."""
    lists = [codec.loads(ItemIds, store.body(entry)).ids for entry in store.entries("screened")]
    return frozenset(item for ids in lists for item in ids)


def targets_of(spec: RunSpec) -> tuple[Target, ...]:
    return target_texts.parse_all(spec.targets, {metric.name: metric for metric in registry.metrics()})


def margins_of(spec: RunSpec, targets: tuple[Target, ...], slices: tuple[str, ...]) -> tuple[Margin, ...]:
    return margins.gates(targets, spec.gates, spec.watch, slices).margins


def reload(store: RunStore) -> Prepared:
    """What the run knew before it measured anything, from the record alone: no model or network is touched."""
    spec = spec_of(store)
    newest = list(store.entries("golden"))
    if not newest:
        raise RecordError(f"The record in {store.directory} ends before the golden set was read.")
    golden_set = store.get("golden", newest[-1].key, GoldenSet)
    split = golden.split(golden_set, spec.seed, spec.screening_fraction, screened=screened_before(store))
    artifact = store.get("artifact", BASELINE, Artifact)
    targets = targets_of(spec)
    prepared = Prepared(
        facts=store.get("model", "source", ModelFacts),
        artifact=artifact,
        machine=store.get("machine", "host", Machine),
        ceilings=store.get("ceilings", "host", Ceilings),
        targets=targets,
        margins=margins_of(spec, targets, golden_set.slices),
        golden=golden_set,
        screening=split.screening.items,
        confirmation=split.confirmation.items,
        traffics=tuple(one for name in spec.traffic for one in store.get("traffic", name, Workload).traffics),
        baseline=store.get("candidate", BASELINE, Candidate),
        scorers=spec.scorers,
    )
    return twinning.from_record(store, prepared) or prepared


def _changed(before: dict[str, object], now: dict[str, object]) -> set[str]:
    return {name for name in {*before, *now} if before.get(name) != now.get(name)}


def _aliased(settings: dict[str, object]) -> dict[str, object]:
    """Field names as a user writes them, which is how the schema takes them."""
    aliases = {name: field.alias for name, field in RunSpec.model_fields.items() if field.alias}
    return {aliases.get(name, name): value for name, value in settings.items()}
