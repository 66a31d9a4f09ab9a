"""Why a candidate was judged so, as every form of the report shows it; what comes from outside stays text."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from paredown.records.audit import Finding, Severity
from paredown.records.explanation import BlockLoss, Choice, DriftedText, Explanation, Group, Sensitivity
from paredown.report import explain_terminal, fidelity_rows, html, markdown, why_rows
from paredown.report.document import document
from paredown.report.example import view as example_view
from paredown.report.units import NBSP
from paredown.report.view import ReportView
from paredown.testing import example_run

HOSTILE = "<script>alert(1)</script>\x1b[31m[bold]| `x`"


@pytest.fixture(scope="module")
def ship() -> ReportView:
    return example_view(example_run.ship())


def plain(text: str) -> str:
    return " ".join(text.replace(NBSP, " ").split())


def explained(view: ReportView, **changes: object) -> ReportView:
    """The view with something else explained of its choice."""
    candidates = tuple(replace(c, **changes) if c is view.choice else c for c in view.candidates)  # type: ignore[arg-type]
    return replace(view, candidates=candidates)


def terminal(view: ReportView, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    assert view.choice is not None
    explain_terminal.show(view.choice, view, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_suffers_is_named_and_that_it_is_only_a_pointer() -> None:
    ru = Group("language", "ru", 60, 25, 0, 0.4, 0.3, 0.5, 1e-6)
    en = Group("language", "en", 60, 1, 1, 0.0, -0.03, 0.03, 1.0)
    sentence = why_rows.groups_sentence(Explanation("c", 120, (), (), (ru, en)))
    assert sentence.startswith("Suffers most: language ru (lost 25 of 60). 2 groups were looked at")
    assert "never a verdict" in sentence
    calm = why_rows.groups_sentence(Explanation("c", 120, (), (), (en,)))
    assert calm.startswith("No slice, language, length or other tag stands out.")


def test_a_gain_however_large_is_not_suffering() -> None:
    gained = Group("language", "ru", 60, 0, 25, -0.4, -0.5, -0.3, 1e-6)
    assert not gained.suffers


def test_the_five_worst_blocks_are_named_and_embedding_and_head_stand_apart() -> None:
    blocks = [BlockLoss(f"block {i}", float(i), 1000, 0.1) for i in range(8)]
    found = Sensitivity("c", (BlockLoss("embedding", 2.0, 10, 0.1), *blocks, BlockLoss("head", 10.0, 10, 0.1)), 39.0)
    shown = why_rows.shown_layers(found)
    assert [row.name for row in shown] == ["block 7", "block 6", "block 5", "block 4", "block 3", "embedding", "head"]
    assert shown[0].share == f"{100 * 7 / 40:.0f}{NBSP}%"
    assert why_rows.layers_sentence(found).startswith(
        f"Block 7, block 6, block 5, block 4, block 3 carry {100 * 25 / 40:.0f}{NBSP}% of the loss."
    )


def test_layers_that_were_not_measured_say_why() -> None:
    assert why_rows.layers_sentence(Sensitivity("c", missing="its weights are elsewhere")) == (
        "Not measured: its weights are elsewhere."
    )


def test_weights_that_are_the_same_lose_nothing_and_it_says_where_the_loss_is() -> None:
    same = Sensitivity("c", (BlockLoss("block 0", 0.0, 0, 0.0), BlockLoss("block 1", 0.0, 0, 0.0)), 0.0)
    assert "comes from how its engine computes" in why_rows.layers_sentence(same)


def test_a_text_names_both_tokens_with_the_probability_of_each_side() -> None:
    text = DriftedText(
        "t", "s", 20, 0.5, 3.0, 0.9, 4, "the", " cat", " sat", Choice(1, " cat", 0.9, 0.2), Choice(2, "", None, 0.0004)
    )
    (shown,) = why_rows.drifted(Explanation("c", 1, (), (text,), ()))
    assert plain(shown.headline) == (
        "mean KL 0.50 nats, same first choice at 90 % of 20 tokens, token 5: “ cat” → “⟨end⟩”"
    )
    assert plain(shown.baseline) == "“ cat” (baseline 90 %, candidate 20 %)"
    assert plain(shown.candidate) == "“⟨end⟩” (candidate under 0.1 %)"


def test_fidelity_is_shown_both_ways_with_error_bound_and_noise_floor(ship: ReportView) -> None:
    assert ship.choice is not None
    assert ship.choice.fidelity is not None
    rows = {row.name: plain(f"{row.value} | {row.note}") for row in fidelity_rows.figures(ship.choice.fidelity)}
    assert rows["KL(baseline ‖ candidate), mean"] == (
        "0.0066 nats | 6,144 positions, lower bound from the baseline's top 64"
    )
    assert rows["KL(candidate ‖ baseline), mean"].startswith("0.0073 nats")
    assert rows["Perplexity, × baseline"] == (
        "1.002× [1.002, 1.003] | log-perplexity +0.0022 ± 0.00033 nats per token, on 12 texts that no model wrote, "
        "paired"
    )
    assert rows["Missed by the bound"].startswith("0.00013 ± 0.000017 nats")
    assert "another batch size and order" in rows["Baseline against itself"]


def test_a_figure_that_was_not_measured_has_no_row(ship: ReportView) -> None:
    assert ship.choice is not None
    assert ship.choice.fidelity is not None
    bare = replace(
        ship.choice.fidelity, mean_reverse_kl=None, truncation=None, floor=None, perplexity_ratio=None, answers=0
    )
    assert [row.name for row in fidelity_rows.figures(bare)] == [
        "KL(baseline ‖ candidate), mean",
        "KL at its worst",
        "Same first choice",
        "Same 10 likeliest tokens",
    ]


def test_parts_stand_worst_first_and_positions_in_their_order(ship: ReportView) -> None:
    assert ship.choice is not None
    assert ship.choice.fidelity is not None
    assert [row.name for row in fidelity_rows.parts(ship.choice.fidelity, "text")] == ["hi", "ru", "de", "en"]
    assert next(row.name for row in fidelity_rows.parts(ship.choice.fidelity, "positions")) == "0–255"


def test_prompts_saved_and_the_error_budget_are_said(ship: ReportView) -> None:
    assert ship.choice is not None
    assert plain(why_rows.looks_text(ship.choice.verdict)) == (
        "168 of 480 held-back prompts were asked (65 % saved), in 2 of 5 looks. At the second look every gate was "
        "below its margin."
    )
    assert why_rows.alpha_text(ship.alpha) == (
        "1 confirmation was made and spent 0.04 of the error budget of 0.05; another one would be tested at 0.008."
    )
    for text in (html.render(ship), markdown.render(ship), terminal(ship, 200)):
        assert "168 of 480 held-back prompts" in plain(text)
        assert "error budget of 0.05" in plain(text)


def test_findings_stand_in_the_report_the_gravest_first(ship: ReportView) -> None:
    refused = Finding("damaged", "Nothing to stand on.", Severity.REFUSE)
    view = replace(ship, findings=(*ship.findings, refused))
    assert [word for word, _ in why_rows.findings(view)] == ["refused", "warning", "warning", "note"]
    assert why_rows.findings_title(view).startswith("1 refused and 2 warnings and 1 note about prompts")
    assert "Nothing to stand on." in html.render(view)
    assert "Nothing to stand on." in markdown.render(view)
    assert document(view)["audit"][3]["severity"] == "refuse"  # type: ignore[index]


def test_everything_from_outside_stays_text_in_every_form(ship: ReportView) -> None:
    assert ship.choice is not None
    text = DriftedText(
        HOSTILE, HOSTILE, 9, 0.5, 1.0, 0.9, 2, HOSTILE, HOSTILE, HOSTILE, Choice(1, HOSTILE, 0.9, 0.2),
        Choice(2, HOSTILE, 0.1, 0.7), HOSTILE,
    )  # fmt: skip
    explanation = Explanation(
        HOSTILE, 9, (), (text,), (Group(HOSTILE, HOSTILE, 9, 9, 0, 1.0, 0.7, 1.0, 0.001),), {"judge": HOSTILE}
    )
    layers = Sensitivity("c", (BlockLoss(HOSTILE, 1.0, 9, 0.1), BlockLoss("block 1", 1.0, 9, 0.1)), 1.0)
    view = explained(ship, explanation=explanation, sensitivity=replace(layers, not_read=(HOSTILE,)))
    view = replace(view, findings=(Finding(HOSTILE, HOSTILE, items=(HOSTILE,), slice=HOSTILE),))
    page = html.render(view)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    written = markdown.render(view)
    outside_code = re.sub(r"^(`{3,})text\n.*?\n\1$|(`+)(?!`).*?(?<!`)\2(?!`)", "", written, flags=re.M | re.S)
    assert "<script" not in outside_code
    shown = terminal(view)
    assert "\x1b[31m" not in shown
    assert "[bold]" in shown


def test_the_terminal_fits_eighty_columns(ship: ReportView) -> None:
    assert max(len(line) for line in terminal(ship).splitlines()) <= 80


def test_a_candidate_that_ended_early_says_so_and_names_no_figure() -> None:
    view = example_view(example_run.crashed())
    early = next(c for c in view.candidates if c.verdict.stage == "apply")
    chosen = replace(view, decision=replace(view.decision, recommended=None, closest=early.name))
    page = plain(html.render(chosen))
    assert "It ended at apply, before any prompt was answered." in page
    assert "Not measured (ended at apply)" in page or "Not measured (it ended at apply)." in page


def test_the_command_that_looks_at_layers_is_named_where_nobody_has(ship: ReportView) -> None:
    view = explained(ship, sensitivity=None)
    assert "paredown explain runs/example" in html.render(view)
    assert "paredown explain runs/example" in markdown.render(view)
