"""Chat templates that refuse, drop or change what the golden items say, or that render the same thing differently."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from paredown.errors import UserError
from paredown.evaluate.audit import wording
from paredown.evaluate.audit.encoding import Encoded, is_conversation
from paredown.hosts.chat_template import Conversation, Render
from paredown.records.audit import Finding, Severity

RenderAt = Callable[[dt.datetime], Render]
DATES = (dt.datetime(2001, 2, 3, 4, 5, tzinfo=dt.UTC), dt.datetime(2032, 11, 29, 18, 47, tzinfo=dt.UTC))
TIMES_RENDERED = 8


def find(encoded: Sequence[Encoded], render_at: RenderAt) -> tuple[Finding, ...]:
    """render_at: the model's template at a given time"""
    talks = [one for one in encoded if is_conversation(one.item)]
    return (*_refused(talks), *_dropped(talks), *_changing([one for one in talks if not one.refused], render_at))


def _refused(encoded: Sequence[Encoded]) -> list[Finding]:
    refused = [one for one in encoded if one.refused]
    if not refused:
        return []
    ids = tuple(one.item.id for one in refused)
    only_system = all(_has_system(one) for one in refused) and not all(_has_system(one) for one in encoded)
    what = (
        "The template has no system role: put the instruction into the user's message."
        if only_system
        else "Fix the template, or the roles of these items."
    )
    sentence = (
        f"The chat template refuses {wording.count(len(ids), 'item')} ({wording.some(ids)}), which will not be scored: "
        f"{refused[0].refused} {what}"
    )
    everything = len(refused) == len(encoded)
    return [Finding("template refuses", sentence, Severity.REFUSE if everything else Severity.WARN, items=ids)]


def _has_system(one: Encoded) -> bool:
    return any(message.role == "system" for message in one.item.messages)


def _dropped(encoded: Sequence[Encoded]) -> list[Finding]:
    """Messages that do not stand in the rendered prompt, by role."""
    dropped: dict[str, list[str]] = {}
    for one in encoded:
        roles = {m.role for m in one.item.messages if m.content.strip() not in one.text} if not one.refused else set()
        for role in roles:
            dropped.setdefault(role, []).append(one.item.id)
    found = []
    for role, ids in sorted(dropped.items()):
        instead = " Put the instruction into the user's message." if role == "system" else ""
        sentence = (
            f"The chat template leaves out or changes what the role {role!r} says in {wording.count(len(ids), 'item')} "
            f"({wording.some(ids)}): the model is asked something else than is written there.{instead}"
        )
        found.append(Finding("template drops", sentence, items=tuple(ids)))
    return found


def _changing(encoded: Sequence[Encoded], render_at: RenderAt) -> list[Finding]:
    """The first item is rendered at two dates, and several times at one."""
    if not encoded:
        return []
    messages = [message.plain for message in encoded[0].item.messages]
    try:
        early, late = (_rendered(render_at(date), messages) for date in DATES)
        render = render_at(DATES[0])
        differing = {_rendered(render, messages) for _ in range(TIMES_RENDERED)}
    except UserError:
        return []
    if len(differing) > 1:
        sentence = (
            "The chat template renders the same conversation differently each time, so that no two answers are to the "
            "same prompt. Take the random part out of the template."
        )
        return [Finding("template is random", sentence)]
    if early != late:
        sentence = (
            "The chat template writes today's date into the prompt: answers of another day are to another prompt, and "
            "a prefix cache is lost each day. Give the date in a system message, or take it out of the template."
        )
        return [Finding("template has the date", sentence)]
    return []


def _rendered(render: Render, messages: Conversation) -> str:
    return render(messages, add_generation_prompt=True)
