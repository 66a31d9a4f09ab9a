"""Rows that were settled → requests: texts as they are, prompts made to measure where there is only a length."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from paredown.errors import UserError
from paredown.records.traffic import Message, TrafficRequest
from paredown.traffic import synthetic
from paredown.traffic.asked import Reading
from paredown.traffic.rows import Row
from paredown.traffic.settling import Ledger, beyond
from paredown.traffic.tokens import Tokens

# Making and checking takes about two seconds of CPU time for a million tokens.
MOST_PROMPT_TOKENS = 50_000_000
# A prompt has no more tokens than bytes, and the chat template adds some.
_TEMPLATE_TOKENS = 512


def requests(
    rows: Sequence[Row], tokens: Tokens | None, reading: Reading, ledger: Ledger, *, name: str, seed: int
) -> tuple[TrafficRequest, ...]:
    """One request for each row, in order, with ids of their own. Rows have lengths that fit.

    Raises UserError when prompts have to be made and there is no tokenizer, or when they are too many.
    """
    made = iter(_made([row for row in rows if not row.messages], tokens, reading, seed))
    found = []
    seen: set[str] = set()
    for index, row in enumerate(rows):
        request = next(made) if not row.messages else TrafficRequest("", row.messages, 1)
        identifier = _own_id(row, f"{name}-{index}", seen, ledger)
        if identifier:
            assert row.output_tokens is not None, "lengths were settled before"
            found.append(replace(request, id=identifier, output_tokens=row.output_tokens, at_s=row.at_s))
    return tuple(found)


def _made(rows: Sequence[Row], tokens: Tokens | None, reading: Reading, seed: int) -> tuple[TrafficRequest, ...]:
    if not rows:
        return ()
    tokenizer = needed(tokens, rows[0])
    lengths = [row.prompt_tokens or 0 for row in rows]
    if sum(lengths) > MOST_PROMPT_TOKENS:
        fits = sum(total <= MOST_PROMPT_TOKENS for total in itertools.accumulate(lengths))
        raise UserError(
            f"{len(rows):,} prompts with {sum(lengths):,} tokens in all would have to be made, more than "
            f"{MOST_PROMPT_TOKENS:,}. Take fewer: limit={max(fits, 1)}, or a part: until_s=600."
        )
    return synthetic.make(
        tokenizer,
        lengths,
        output_tokens=1,
        seed=seed,
        shared=[row.blocks for row in rows],
        block_tokens=max(1, round(reading.block_tokens * reading.length_scale)),
    )


def needed(tokens: Tokens | None, row: Row) -> Tokens:
    """The tokenizer. Raises UserError when there is none."""
    if tokens is None:
        raise UserError(
            f"{row.where} holds the length of a prompt and not its text, and prompts of exactly that length can only "
            "be made with the model's own tokenizer. Give the model's directory or name with --tokenizer."
        )
    return tokens


def _own_id(row: Row, otherwise: str, seen: set[str], ledger: Ledger) -> str:
    """An id that no other request has, empty when the request is to be left out."""
    identifier = row.id or otherwise
    if identifier in seen:
        says = f"{row.where}: two requests have the id {identifier!r}."
        if not ledger.wrong(
            says,
            "ids that were there before got a number",
            "requests with an id that was there before were left out",
            clip="number them",
        ):
            return ""
        identifier = next(f"{identifier}-{n}" for n in range(2, len(seen) + 3) if f"{identifier}-{n}" not in seen)
    seen.add(identifier)
    return identifier


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def texts_within(rows: Sequence[Row], tokens: Tokens | None, ledger: Ledger) -> list[Row]:
    """Rows whose texts fit into the context window with their answers; all of them where no tokenizer can tell."""
    context = None
    if tokens is not None and any(row.messages for row in rows):
        try:
            context = tokens.context_length
        except UserError as error:
            ledger.remark(f"lengths of texts were not checked: {error}")
    if tokens is None or context is None:
        return list(rows)
    fitted = (_within(row, tokens, context, ledger) if row.messages else row for row in rows)
    return [row for row in fitted if row is not None]


def _within(row: Row, tokens: Tokens, context: int, ledger: Ledger) -> Row | None:
    """None = left out."""
    output = row.output_tokens or 0
    if sum(len(message.content.encode()) for message in row.messages) + _TEMPLATE_TOKENS + output <= context:
        return row
    length = _length(row.messages, tokens)
    if length + output <= context:
        return row
    says = (
        f"{row.where}: a prompt of {length:,} tokens and an answer of {output:,} are beyond the context window of "
        f"{context:,}."
    )
    if not ledger.wrong(says, beyond(context, "cut"), beyond(context, "left out"), "cut the prompt"):
        return None
    return _cut(row, tokens, context - output, context)


def _length(messages: Sequence[Message], tokens: Tokens) -> int:
    return len(tokens.encode_conversation([message.plain for message in messages]))


def _cut(row: Row, tokens: Tokens, room: int, context: int) -> Row:
    """The longest message cut at its end until the prompt has at most `room` tokens."""
    longest = max(range(len(row.messages)), key=lambda index: len(row.messages[index].content))

    def with_length(characters: int) -> tuple[Message, ...]:
        cut = replace(row.messages[longest], content=row.messages[longest].content[:characters])
        return (*row.messages[:longest], cut, *row.messages[longest + 1 :])

    low, high = 1, len(row.messages[longest].content)
    if _length(with_length(low), tokens) > room:
        raise UserError(
            f"{row.where}: no prompt fits into the context window of {context:,} tokens with an answer of "
            f"{row.output_tokens:,}. Give a smaller output_tokens, or leave the request out."
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _length(with_length(middle), tokens) <= room else (low, middle)
    return replace(row, messages=with_length(low))
