"""Chat templates, rendered as transformers renders them: jinja2 in a sandbox that cannot change what it is given."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from paredown.errors import UserError

Conversation = Sequence[Mapping[str, Any]]


class Render(Protocol):
    """A conversation as the text of its prompt. Raises UserError when the template refuses it."""

    def __call__(self, messages: Conversation, *, add_generation_prompt: bool) -> str: ...


def local_time() -> dt.datetime:
    return dt.datetime.now().astimezone()


def compile_template(
    template: str, special_tokens: Mapping[str, str], now: Callable[[], dt.datetime] = local_time
) -> Render:
    """The template, ready to render. Raises UserError for a template that is not valid.

    now: the clock of templates that write the date into the prompt
    """
    import jinja2
    import jinja2.ext
    import jinja2.nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationTag(jinja2.ext.Extension):
        """`{% generation %}` marks the assistant's part for training; here it only passes its body on."""

        tags = {"generation"}  # noqa: RUF012  jinja2 declares it as an instance attribute

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.Scope(body).set_lineno(line)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda pattern: now().strftime(pattern)
    try:
        compiled = environment.from_string(template)
    except jinja2.TemplateSyntaxError as error:
        raise UserError(f"The chat template is not valid (line {error.lineno}): {error.message}") from error

    def render(messages: Conversation, *, add_generation_prompt: bool) -> str:
        try:
            return compiled.render(
                messages=list(messages),
                tools=None,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **special_tokens,
            )
        except (jinja2.TemplateError, TypeError, KeyError, ValueError, ArithmeticError) as error:
            raise UserError(f"The chat template cannot render these messages: {error}") from error

    return render


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Not jinja2's own, which escapes HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    import jinja2

    raise jinja2.TemplateError(message)
