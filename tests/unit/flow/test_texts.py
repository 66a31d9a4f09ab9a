"""Texts that stand by themselves go through a whole run: scored by perplexity, judged, reported, verified."""

from __future__ import annotations

import json

import pytest

from paredown.flow.verify import verify

pytestmark = pytest.mark.slow


def test_a_run_judges_texts_and_reference_answers_by_perplexity_and_verifies(world) -> None:
    rows: list[dict[str, object]] = [
        {"text": f"Once upon a time there were {n} kings, and then it rained for {n} days.", "slice": "prose"}
        for n in range(30)
    ]
    rows += [
        {"prompt": f"Question number {n}?", "answer": f"It is {n}.", "scorer": "perplexity", "slice": "replies"}
        for n in range(1000, 1020)
    ]
    source = world.directory / "texts.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    only = {"only": ["fake_lossless"]}
    finished = world.run("texts", golden=[str(world.prompts), str(source)], techniques=only, exhaust=True)
    (candidate,) = finished.decision.candidates
    judged = {one.slice: one for one in candidate.slices}
    for name in ("prose", "replies"):
        assert judged[name].counts.not_scored == 0
        assert 0.0 < (judged[name].baseline_score or 0.0) < 1.0
        assert judged[name].drop == 0.0
    assert verify(world.directory / "texts").candidates == 1
