"""Reads a traffic: the name of a built-in one, a YAML file, or JSONL with one OpenAI request a line.

YAML: `summary`, `load_shape`, `options`, `output_tokens`, `requests` (texts, or mappings with `prompt` or `messages`
and perhaps `output_tokens`), or `compose` (see compose.py) in place of `requests`.
JSONL: `{"messages": […], "max_tokens": 50}` or `{"prompt": "…"}`; the batch form `{"custom_id", "body": {…}}` too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

from paredown import registry
from paredown.errors import UnknownNameError, UserError
from paredown.records.figure import Options
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.traffic.compose import Composition, prompts

DEFAULT_OUTPUT_TOKENS = 50
_FIELDS = ("name", "summary", "load_shape", "options", "output_tokens", "requests", "compose")
_REQUEST_FIELDS = ("id", "prompt", "messages", "output_tokens")
_COMPOSE_FIELDS = ("seed", "count", "words", "most_words", "openings", "sentences", "questions", "words_for")


def builtin_names() -> tuple[str, ...]:
    """Names of the traffics that come with paredown."""
    return tuple(sorted(path.name.removesuffix(".yaml") for path in _builtin().iterdir() if path.name[-5:] == ".yaml"))


def load(
    source: str, *, load_shape: str | None = None, options: Options | None = None, output_tokens: int | None = None
) -> Traffic:
    """The traffic that `source` names; the arguments replace what it says itself.

    Raises UserError (file, line, field) for what cannot be read, UnknownNameError for a name that is neither a
    built-in traffic nor a file.
    """
    if source in builtin_names():
        traffic = _from_yaml((_builtin() / f"{source}.yaml").read_text(), source)
    else:
        traffic = _from_file(source)
    traffic = replace(
        traffic,
        load_shape=load_shape or traffic.load_shape,
        options={**traffic.options, **(options or {})},
        requests=tuple(replace(r, output_tokens=output_tokens or r.output_tokens) for r in traffic.requests),
    )
    shape = registry.load_shape(traffic.load_shape)
    known = {option.name for option in shape.options}
    unknown = sorted(set(traffic.options) - known)
    if unknown:
        raise UnknownNameError(f"option of the load shape {shape.name}", unknown[0], known)
    shape.concurrency(traffic.options)
    return traffic


def _builtin() -> Any:
    return resources.files("paredown.builtin") / "traffic"


def _from_file(source: str) -> Traffic:
    path = Path(source)
    if not path.is_file():
        if path.suffix:
            raise UserError(f"The traffic file {source} does not exist. Built-in: {', '.join(builtin_names())}.")
        raise UnknownNameError("traffic", source, builtin_names())
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{source} is not UTF-8 text: {error}.") from error
    if path.suffix in {".yaml", ".yml"}:
        return _from_yaml(text, source)
    if path.suffix in {".jsonl", ".json"}:
        return _from_jsonl(text, source)
    raise UserError(f"A traffic is a .yaml file or a .jsonl file of OpenAI requests; {source} is neither.")


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _from_yaml(text: str, source: str) -> Traffic:
    import yaml

    try:
        plain = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{source} is not YAML: {' '.join(str(error).split())}.") from error
    fields = _mapping(plain, source, _FIELDS)
    name = _text(fields.get("name", Path(source).stem), f"{source}: name")
    default = _count(fields.get("output_tokens", DEFAULT_OUTPUT_TOKENS), f"{source}: output_tokens")
    if ("requests" in fields) == ("compose" in fields):
        raise UserError(f"{source} needs either `requests` or `compose`.")
    if "compose" in fields:
        texts: list[object] = list(_composed(fields["compose"], f"{source}: compose"))
    else:
        texts = _sequence(fields["requests"], f"{source}: requests")
    requests = [_request(row, f"{source}: requests[{i}]", f"{name}-{i}", default) for i, row in enumerate(texts)]
    return Traffic(
        name=name,
        summary=_text(fields.get("summary", f"requests of {source}"), f"{source}: summary"),
        load_shape=_text(fields.get("load_shape", "single_stream"), f"{source}: load_shape"),
        requests=_checked(requests, source),
        options=cast("Options", _mapping(fields.get("options", {}), f"{source}: options")),
    )


def _composed(plain: object, where: str) -> tuple[str, ...]:
    fields = _mapping(plain, where, _COMPOSE_FIELDS)
    missing = [name for name in _COMPOSE_FIELDS if name not in fields and name != "most_words"]
    if missing:
        raise UserError(f"{where} needs {', '.join(missing)}.")
    words = _mapping(fields["words_for"], f"{where}: words_for")
    composition = Composition(
        seed=_count(fields["seed"], f"{where}: seed", least=0),
        count=_count(fields["count"], f"{where}: count"),
        words=_count(fields["words"], f"{where}: words"),
        most_words=_count(fields.get("most_words", 0), f"{where}: most_words", least=0),
        openings=_texts(fields["openings"], f"{where}: openings"),
        sentences=_texts(fields["sentences"], f"{where}: sentences"),
        questions=_texts(fields["questions"], f"{where}: questions"),
        words_for={name: _texts(values, f"{where}: words_for.{name}") for name, values in words.items()},
    )
    for name in composition.names_without_words():
        raise UserError(f"{where}: words_for has nothing for {{{name}}}.")
    try:
        return prompts(composition)
    except ValueError as error:
        raise UserError(f"{where}: {error}.") from error


# ── JSONL ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _from_jsonl(text: str, source: str) -> Traffic:
    requests: list[TrafficRequest] = []
    for where, row in _rows(text, source):
        name = row.get("custom_id", row.get("id"))
        body = _mapping(row["body"], f"{where}, body") if "body" in row else row
        tokens = body.get("max_completion_tokens", body.get("max_tokens", DEFAULT_OUTPUT_TOKENS))
        fields = {key: body[key] for key in ("prompt", "messages") if key in body}
        identifier = f"{Path(source).stem}-{len(requests)}" if name is None else str(name)
        requests.append(_request(fields, where, identifier, _count(tokens, f"{where}, max_tokens")))
    return Traffic(Path(source).stem, f"requests of {source}", "single_stream", _checked(requests, source))


def _rows(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except ValueError as error:
            raise UserError(f"{source}:{number} is not JSON: {error}.") from error
        yield f"{source}:{number}", _mapping(plain, f"{source}:{number}")


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _request(plain: object, where: str, identifier: str, output_tokens: int) -> TrafficRequest:
    if isinstance(plain, str):
        return TrafficRequest(identifier, (_message("user", plain, where),), output_tokens)
    fields = _mapping(plain, where, _REQUEST_FIELDS)
    if ("prompt" in fields) == ("messages" in fields):
        raise UserError(f"{where} needs either `prompt` or `messages`.")
    if "prompt" in fields:
        messages = [_message("user", fields["prompt"], f"{where}, prompt")]
    else:
        messages = []
        for index, turn in enumerate(_sequence(fields["messages"], f"{where}, messages")):
            place = f"{where}, messages[{index}]"
            message = _mapping(turn, place)
            role = _text(message.get("role"), f"{place}.role")
            messages.append(_message(role, _content(message.get("content")), f"{place}.content"))
    tokens = _count(fields.get("output_tokens", output_tokens), f"{where}, output_tokens")
    return TrafficRequest(str(fields.get("id", identifier)), tuple(messages), tokens)


def _content(plain: Any) -> Any:
    """Content as text; OpenAI's list of text parts is joined, anything else is left for the check to refuse."""
    if isinstance(plain, list) and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in plain):
        return "".join(part["text"] for part in plain)
    return plain


def _message(role: str, content: object, where: str) -> Message:
    return Message(role, _text(content, where))


def _checked(requests: Sequence[TrafficRequest], source: str) -> tuple[TrafficRequest, ...]:
    if not requests:
        raise UserError(f"{source} holds no request.")
    seen: set[str] = set()
    for request in requests:
        if request.id in seen:
            raise UserError(f"{source} has two requests with the id {request.id!r}.")
        seen.add(request.id)
    return tuple(requests)


def _mapping(plain: object, where: str, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(plain, dict):
        raise UserError(f"{where} is no mapping but {_shown(plain)}.")
    unknown = [name for name in plain if known is not None and name not in known]
    if unknown:
        raise UnknownNameError(f"field in {where}:", str(unknown[0]), known or ())
    return plain


def _sequence(plain: object, where: str) -> list[object]:
    if not isinstance(plain, list) or not plain:
        raise UserError(f"{where} is no list with at least one entry but {_shown(plain)}.")
    return plain


def _texts(plain: object, where: str) -> tuple[str, ...]:
    return tuple(_text(text, where) for text in _sequence(plain, where))


def _text(plain: object, where: str) -> str:
    if not isinstance(plain, str) or not plain.strip():
        raise UserError(f"{where} is no text but {_shown(plain)}.")
    return plain


def _count(plain: object, where: str, least: int = 1) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool) or plain < least:
        raise UserError(f"{where} is no whole number from {least} on but {_shown(plain)}.")
    return plain


def _shown(plain: object) -> str:
    return "missing" if plain is None else repr(plain)[:60]
