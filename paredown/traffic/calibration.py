"""Calibration data from a file: JSONL of texts or conversations, or plain text. The one place that reads it.

A line of JSONL is a text in quotes, or an object with `text`; or a conversation: `messages`, or `prompt` and what was
answered (`response`, `completion`, `answer` or `output`), or a logged request. A plain text is cut at empty lines.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.records import codec
from paredown.records.calibration import Calibration, CalibrationSample
from paredown.records.traffic import Message
from paredown.traffic import fields, request_lines

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TEXT_FIELDS = ("text", "content")
ANSWER_FIELDS = ("response", "completion", "answer", "output")
FORMS = 'a text in quotes, {"text": …}, {"messages": […]} or {"prompt": …, "response": …}'
LARGEST_BYTES = 2**30


def read(source: str) -> Calibration:
    """Raises UserError naming file, line and field of the first thing that is wrong."""
    path = Path(source).expanduser()
    content = _content(path)
    is_text = path.suffix.lower() not in JSON_SUFFIXES
    found = tuple(_paragraphs(content, source) if is_text else _lines(content, source))
    if not found:
        raise UserError(f"The calibration file {source} holds no text. Give JSONL whose lines are {FORMS}, or a text.")
    digest = codec.digest([dataclasses.replace(one, where="") for one in found])
    return Calibration(source, found, digest, continuous=is_text)


def _content(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise UserError(
                f"The calibration file {path} has {size / 1e9:.1f} GB; calibration takes megabytes. Give a part of it, "
                f"for example: head -n 2000 {path.name} > calibration{path.suffix}"
            )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"The calibration file {path} does not exist.") from error
    except OSError as error:
        raise UserError(f"The calibration file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The calibration file {path} is not UTF-8 text: {error}. Save it as UTF-8.") from error


def _lines(content: str, source: str) -> Iterator[CalibrationSample]:
    for where, plain in fields.json_lines(content, source):
        if isinstance(plain, ValueError):
            raise UserError(f"{where} is not JSON: {plain}. A line is {FORMS}.")
        yield (
            CalibrationSample(fields.text(plain, where), where=where)
            if isinstance(plain, str)
            else _sample(fields.mapping(plain, where), where)
        )


def _sample(line: Mapping[str, Any], where: str) -> CalibrationSample:
    name = next((name for name in TEXT_FIELDS if name in line and "messages" not in line and "role" not in line), None)
    if name is not None:
        return CalibrationSample(fields.text(line[name], f"{where}, {name}"), where=where)
    asked = request_lines.body(line) or line
    if "messages" in asked:
        messages = fields.messages(request_lines.parsed(asked["messages"]), f"{where}, messages")
    elif "prompt" in asked:
        messages = (Message("user", fields.text(asked["prompt"], f"{where}, prompt")),)
    else:
        raise UserError(f"{where} has none of the fields that hold a text; a line is {FORMS}.")
    return CalibrationSample(messages=(*messages, *_answer(line, messages, where)), where=where)


def _answer(line: Mapping[str, Any], messages: tuple[Message, ...], where: str) -> tuple[Message, ...]:
    """What was answered, where the line has it as text."""
    name = next((name for name in ANSWER_FIELDS if isinstance(line.get(name), str) and line[name].strip()), None)
    if name is None or messages[-1].role == "assistant":
        return ()
    return (Message("assistant", fields.text(line[name], f"{where}, {name}")),)


def _paragraphs(content: str, source: str) -> Iterator[CalibrationSample]:
    block: list[str] = []
    first = 1
    for number, line in enumerate([*content.split("\n"), ""], start=1):
        if line.strip():
            first = first if block else number
            block.append(line)
        elif block:
            yield CalibrationSample("\n".join(block), where=f"{source}:{first}")
            block = []
