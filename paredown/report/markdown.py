"""The report as GitHub-flavoured Markdown: the same content in fewer words. Names, prompts and answers are escaped."""

from __future__ import annotations

from paredown.report import answers, rows, slice_rows, target_rows, triangle_rows, units, why_markdown
from paredown.report.markdown_text import code, escape, fence, table
from paredown.report.view import Measured, ReportView

MOST_ANSWERS = 5


def render(view: ReportView) -> str:
    """The whole document, ending with a newline."""
    parts = [
        *_decision(view),
        *_targets(view),
        *_triangle(view),
        *_ladder(view),
        *_slices(view),
        *why_markdown.why(view),
        *_latency(view),
        *_bottleneck(view),
        *_worst(view),
        *_skipped(view),
        *_record(view),
    ]
    return "\n\n".join(parts).replace(units.NBSP, " ") + "\n"


def _spaced(value: str, spread: str) -> str:
    return escape(f"{value} ({spread})" if spread else value)


def _decision(view: ReportView) -> list[str]:
    badge = rows.badge(view)
    choice = view.choice
    name = escape(choice.name) if choice else "no candidate"
    closest = "closest is " if choice and not view.decision.recommended else ""
    parts = [f"# {badge.words}: {closest}{name} for {escape(view.model.name)}", escape(view.decision.paragraph)]
    if view.model.caution:
        parts.append(f"> **Caution.** {escape(view.model.caution)}")
    parts += [escape(note) for note in (*view.notes, *view.asked.notes)]
    steps = [f"- Exit status {view.decision.exit_status}: {badge.meaning}"]
    if view.decision.artifact:
        steps.insert(0, f"- Artifact: {code(view.decision.artifact)}")
    if view.decision.serve_command:
        steps.insert(1, f"- Serve it: {code(view.decision.serve_command)}")
    return [*parts, "\n".join(steps)]


STATES = {"met": "✓ met", "missed": "✗ missed", "unknown": "? not measured"}


def _targets(view: ReportView) -> list[str]:
    found = target_rows.targets(view)
    if not found:
        return ["## Targets", "No targets were given."]
    lines = [
        (code(t.asked), _spaced(t.got, t.spread), escape(t.baseline), STATES[t.state], escape(t.reason)) for t in found
    ]
    return ["## Targets", table(("Asked", "Got", "Baseline", "Met", "How"), lines)]


def _triangle(view: ReportView) -> list[str]:
    corners = triangle_rows.triangle(view)
    if corners is None:
        return []
    lines = [(c.name, escape(c.headline), escape(c.baseline), escape(c.choice), escape(c.detail)) for c in corners]
    return ["## Speed, cost, quality", table(("", "Choice", "Baseline", "Choice, measured", ""), lines)]


def _ladder(view: ReportView) -> list[str]:
    head = (
        "#",
        "Candidate",
        "Rung",
        "Verdict",
        "Decode speed",
        "Weights",
        "KL",
        "Top-1",
        "Drop",
        "Predicted → measured",
        "Bits alone",
    )
    lines = []
    for row in rows.ladder(view):
        name = f"**{escape(row.name)}**" if row.chosen else escape(row.name)
        why = f" at {escape(row.stage)}: {escape(row.why)}" if row.why else ""
        lines.append(
            (
                row.number, name, row.rung, f"{row.verdict}{why}", _spaced(row.speed.text, row.speed_spread),
                _spaced(row.weights.percent, row.weights_text if row.weights.value is not None else ""),
                _spaced(row.kl_text, row.positions), escape(row.top1_text), _spaced(row.drop_text, row.drop_limits),
                escape("; ".join(row.predicted)), escape(row.same_engine),
            )
        )  # fmt: skip
    return ["## The ladder", table(head, lines)] if lines else ["## The ladder", "No candidate was planned."]


def _slices(view: ReportView) -> list[str]:
    judged = slice_rows.slice_rows(view.choice)
    if not judged:
        return ["## Slices", "No slice was judged.", *why_markdown.findings(view)]
    lines = []
    for row in judged:
        role = f"gate, {100 * row.margin:g} pt" if row.gated else "watched"
        limits = units.interval_text(row.low, row.high, "pt") if row.drop is not None else ""
        reason = "; ".join(filter(None, [row.reason, slice_rows.more_prompts_text(row)]))
        drop = _spaced(slice_rows.drop_text(row), f"{100 * row.level:g} % {limits}" if limits else "")
        lines.append(
            (
                escape(row.slice),
                role,
                str(row.counts.n),
                drop,
                f"{row.counts.lost} / {row.counts.gained}",
                row.verdict.value,
                escape(reason),
            )
        )
    head = ("Slice", "Role", "Prompts", "Drop and one-sided limits", "Lost / gained", "Verdict", "Why")
    return [
        f"## Slices of {escape(view.choice.name if view.choice else 'nothing')}",
        *why_markdown.spent(view),
        table(head, lines),
        *why_markdown.findings(view),
    ]


def _latency(view: ReportView) -> list[str]:
    served: list[Measured] = [view.baseline, *([view.choice.measured] if view.choice else [])]
    lines = [
        (escape(under.traffic), escape(m.name), code(f.name), _spaced(units.figure_text(f), units.spread_text(f)))
        for m in served
        for under in m.under
        for f in under.figures
    ]
    void = [
        f"{escape(m.name)} under {escape(u.traffic)} is void: {escape(u.void)}"
        for m in served
        for u in m.under
        if u.void
    ]
    body = [table(("Traffic", "Of", "Figure", "Value"), lines)] if lines else ["Not measured under any traffic."]
    return ["## Figures under traffic", *void, *body]


def _bottleneck(view: ReportView) -> list[str]:
    served = [view.baseline, *([view.choice.measured] if view.choice else [])]
    lines = [
        f"- {escape(m.name)}, {escape(p.phase)}: **{p.bound.value}**, {units.percent(p.fraction, 0)} of the ceiling. "
        f"{escape(p.sentence)}"
        for m in served
        for p in m.placements
    ]
    return ["## Where the time goes", "\n".join(lines) or "Not measured."]


def _worst(view: ReportView) -> list[str]:
    if not view.worst:
        return ["## Answers that changed", "None has another score than the baseline's, or none was judged."]
    parts = ["## Answers that changed"]
    if len(view.worst) > MOST_ANSWERS:
        parts.append(f"{MOST_ANSWERS} of {len(view.worst)}; all are in the record.")
    for pair in map(answers.pair, view.worst[:MOST_ANSWERS]):
        parts += [
            f"### {escape(pair.id)} ({escape(pair.slice)}), {pair.change}",
            fence(pair.prompt),
            f"Expected: {code(pair.expected)}",
        ]
        if pair.choices:
            lines = [(code(c.text), c.baseline, c.candidate) for c in pair.choices]
            head = ("Choice (nats)", f"Baseline: {escape(pair.baseline_score)}", f"Candidate: {escape(pair.score)}")
            parts.append(table(head, lines))
        else:
            parts += [f"Baseline, {escape(pair.baseline_score)}:", fence(_whole(pair.baseline))]
            parts += [f"{escape(pair.candidate)}, {escape(pair.score)}:", fence(_whole(pair.answer))]
    return parts


def _whole(part: answers.Marked) -> str:
    cut = f" … ({part.cut} more characters in the record)" if part.cut else ""
    return f"{part.same}{part.different}{part.rest}{cut}"


def _skipped(view: ReportView) -> list[str]:
    if not view.decision.left_out:
        return ["## Skipped, and why", "The plan left nothing out."]
    lines = [(escape(left.name), rows.RUNGS[left.rung], escape(left.reason)) for left in view.decision.left_out]
    return ["## Skipped, and why", table(("Left out", "Rung", "Reason"), lines)]


def _record(view: ReportView) -> list[str]:
    record, machine = view.record, view.machine
    facts = {
        "run": record.run_id,
        "root digest": record.root_digest,
        "directory": record.path,
        "started": record.started,
        "finished": record.finished,
        "command": view.asked.command or "not recorded",
        "processor": f"{machine.processor}, {machine.usable_cores} of {machine.logical_cores} cores usable",
        "memory": units.binary_size(machine.memory_bytes),
        "system": machine.system,
        "seed": str(view.asked.seed),
        **{f"version of {name}": version for name, version in sorted(record.versions.items())},
        **{name: units.setting(value) for name, value in sorted(record.settings.items())},
        **{f"digest of {name}": value for name, value in sorted(record.digests.items())},
    }
    noise = [
        (code(f.metric), _spaced(units.figure_text(f), units.spread_text(f)), escape(f.note)) for f in view.noise_floor
    ]
    floor = [table(("Noise floor (baseline against itself)", "Value", "How"), noise)] if noise else []
    check = code(f"paredown verify {record.path} --digest {record.root_digest}")
    return [
        "## The record",
        f"Check it: {check}",
        table(("", ""), [(escape(k), escape(v)) for k, v in facts.items()]),
        *floor,
    ]
