import json
from dataclasses import replace

import pytest

from paredown.errors import RecordError
from paredown.records.golden import TextFidelity
from paredown.report.document import document
from paredown.report.example import view as example_view
from paredown.testing.example_run import SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_document_is_strict_json(scenario):
    view = example_view(SCENARIOS[scenario]())
    again = json.loads(json.dumps(document(view), allow_nan=False))
    assert again["decision"]["exit_status"] == view.decision.exit_status
    assert [c["name"] for c in again["candidates"]] == [c.name for c in view.candidates]


def test_unknown_is_null_with_its_reason():
    plain = document(example_view(SCENARIOS["unknown"]()))
    speed = plain["baseline"]["figures"][0]
    assert speed["value"] is None
    assert speed["missing"] == "the clock of this machine is not monotonic"


def test_samples_are_counted_and_not_copied():
    view = example_view(SCENARIOS["ship"]())
    texts = (TextFidelity("t", "s", (0.1,) * 9999, (True,) * 9999, None),)
    first = replace(view.candidates[0], fidelity=replace(view.candidates[0].fidelity, texts=texts))
    plain = document(replace(view, candidates=(first, *view.candidates[1:])))
    assert plain["baseline"]["under"][0]["samples"]["ttft"] == {"count": 60, "unit": "s", "missing": ""}
    assert plain["candidates"][0]["fidelity"]["texts"] == 1
    assert len(json.dumps(plain)) < 250_000


def test_a_figure_that_is_not_a_number_is_refused():
    view = example_view(SCENARIOS["ship"]())
    broken = replace(view.baseline.figures[0], value=float("nan"))
    with pytest.raises(RecordError):
        document(replace(view, baseline=replace(view.baseline, figures=(broken,))))
