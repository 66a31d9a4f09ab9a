"""The report as one self-contained HTML file: no network, a strict content security policy, everything escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterable
from dataclasses import replace

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from paredown.report import (
    answers,
    drawings,
    fidelity_rows,
    rows,
    slice_rows,
    target_rows,
    triangle_rows,
    units,
    why_rows,
)
from paredown.report.document import document
from paredown.report.view import CandidateView, ReportView


def render(view: ReportView) -> str:
    """The whole page. Opens from a file, loads nothing, and shows model output, prompts and names as text only."""
    css, js = assets()["report.css"], assets()["report.js"]
    ladder = rows.ladder(view)
    size_chart, kl_chart = drawings.paretos(view, ladder)
    corners = triangle_rows.triangle(view)
    judged = slice_rows.slice_rows(view.choice)
    badge = rows.badge(view)
    shown = view.worst[: answers.MOST_SHOWN]
    page = environment().get_template("page.html.j2")
    return page.render(
        view=view,
        css=Markup(css),  # noqa: S704 (a file of this package)
        js=Markup(js),  # noqa: S704 (a file of this package)
        policy=policy(css, js),
        badge=badge,
        choice=view.choice,
        title=f"{view.model.name}: {badge.words}",
        targets=target_rows.targets(view),
        corners=corners,
        triangle=drawings.optimization_triangle(corners) if corners else None,
        size_chart=size_chart,
        kl_chart=kl_chart,
        ladder=ladder,
        slices=judged,
        forest=drawings.slices(judged, view.choice.name if view.choice else ""),
        latencies=drawings.latencies(view),
        roofline=drawings.roofs(view),
        **_why(view),
        findings=why_rows.findings(view),
        findings_title=why_rows.findings_title(view),
        worst=[answers.pair(w) for w in shown],
        worst_slices=_unique(w.item.slice for w in shown),
        worst_changes=_unique("gained" if w.gained else "lost" for w in shown),
        worst_candidates=_unique(w.candidate for w in shown),
        settings={name: units.setting(value) for name, value in view.record.settings.items()},
        document=_script_json(view),
        units=units,
        rows=rows,
        slice_rows=slice_rows,
        fidelity_rows=fidelity_rows,
        why_rows=why_rows,
    )


def _why(view: ReportView) -> dict[str, object]:
    """What explains the verdict on the choice."""
    choice = view.choice
    explanation = choice.explanation if choice else None
    sensitivity = choice.sensitivity if choice else None
    return {
        "explanation": explanation,
        "fidelity": choice.fidelity if choice else None,
        "drifted": why_rows.drifted(explanation) if explanation else (),
        "sensitivity": sensitivity,
        "layer_chart": drawings.layers(why_rows.layers(sensitivity), choice.name) if choice and sensitivity else None,
    }


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _script_json(view: ReportView) -> Markup:
    """The document without what the page has itself (answers) or leaves to `--json` (why others were judged so).

    As JSON that cannot end its script nor open a comment.
    """
    told = tuple(_shortened(one, whole=one is view.choice) for one in view.candidates)
    shown = document(replace(view, worst=(), candidates=told))
    text = json.dumps(shown, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (nothing is left that HTML would read as markup)


def _shortened(one: CandidateView, *, whole: bool) -> CandidateView:
    if whole and one.explanation is not None:
        return replace(one, explanation=replace(one.explanation, flips=(), drifted=()))
    fidelity = replace(one.fidelity, parts=()) if one.fidelity is not None else None
    return replace(one, fidelity=fidelity, explanation=None, sensitivity=None)


def policy(css: str, js: str) -> str:
    """A content security policy that lets exactly this style and this script act, and nothing be fetched."""
    return (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(js)}'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def assets() -> dict[str, str]:
    """Templates, style and script of the pages, by file name."""
    folder = importlib.resources.files("paredown.report") / "assets"
    return {f.name: f.read_text("utf-8") for f in folder.iterdir() if f.name.endswith((".j2", ".css", ".js"))}


@functools.cache
def environment() -> Environment:
    """Templates that escape everything and fail on a name that is not there."""
    found = Environment(
        loader=DictLoader(assets()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    found.filters["breakable"] = _breakable
    found.filters["sentence"] = units.sentence
    return found


def _breakable(target: str) -> Markup:
    """A target with a place to break the line before its comparison."""
    return Markup("<wbr>").join(escape(units.visible(part)) for part in re.split(r"(?=[<>]=)", target))


def _finalize(value: object) -> object:
    return units.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
