"""The audit by itself: what is weak about prompts, calibration data and tokenizer, before a run depends on them."""

from __future__ import annotations

from paredown.evaluate import golden
from paredown.flow import audit, prepare, quality, single
from paredown.flow.audit import Audited
from paredown.flow.prepare import Requested
from paredown.flow.progress import Progress
from paredown.records.audit import Audit
from paredown.spec.schema import RunSpec, default_cache
from paredown.stats import sequential


def run(spec: RunSpec, progress: Progress, *, answers: bool = False) -> Audit:
    """All findings on the request, as `paredown run` would make them; nothing is kept.

    answers: also ask the baseline every prompt, which shows slices at chance and answers that are cut
    Raises UserError for what cannot be done at all.
    """
    requested = prepare.check(spec, (spec.cache or default_cache()).resolve(), progress)
    found = audit.look(audited(spec, requested))
    return Audit((*found, *_of_answers(spec, requested, progress).findings)) if answers else Audit(found)


def audited(spec: RunSpec, requested: Requested) -> Audited:
    """What there is to be looked at, with the prompts split as a first run splits them."""
    split = golden.split(requested.golden, spec.seed, spec.screening_fraction)
    return Audited(
        facts=requested.facts,
        tokens=requested.tokens,
        margins=requested.margins,
        screening=split.screening.items,
        judged=split.confirmation.items,
        traffics=tuple(one for workload in requested.workloads for one in workload.traffics),
        calibration=requested.calibration,
        looks=sequential.LOOKS if spec.early_stopping else 1,
    )


def _of_answers(spec: RunSpec, requested: Requested, progress: Progress) -> Audit:
    with single.opened(spec, None, progress) as context:
        prepared = prepare.prepare(context, requested)
        items, candidate = prepared.golden.items, prepared.baseline
        with progress.stage(f"Baseline: {len(items)} golden prompts") as stage, context.starter(candidate)() as running:
            made = quality.evaluate(context, running, candidate, "all", items, stage)
        return audit.after_baseline(context.store, items, [made])
