"""Settings of scorers, from `--scorer NAME:KEY=VALUE,…` and from YAML: known, of the right type, one of the choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paredown import registry
from paredown.contracts import Option
from paredown.errors import UnknownNameError, UserError
from paredown.records.figure import Scalar
from paredown.spec import named_options

Given = Mapping[str, Mapping[str, Scalar]]
# YAML reads yes and no as true and false.
_TRUTH = {"yes": True, "no": False, "true": True, "false": False}


def from_texts(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Options by scorer, as they were typed. Raises UserError for what has no options, or one of them twice."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        asked = named_options.parse(text)
        if not asked.options:
            raise UserError(
                f"--scorer {text!r} sets nothing. Give a scorer with its settings, for example code:allow=yes."
            )
        own = found.setdefault(asked.name, {})
        twice = next((name for name in asked.options if name in own), None)
        if twice is not None:
            raise UserError(f"--scorer {asked.name} is given {twice} twice. Give it once.")
        own.update(asked.options)
    return found


def checked(given: Given) -> dict[str, dict[str, Scalar]]:
    """The settings with the types that the scorers declare.

    Raises UnknownNameError for a scorer or an option that there is not, UserError for a wrong value.
    """
    found: dict[str, dict[str, Scalar]] = {}
    for name, options in given.items():
        declared = {option.name: option for option in registry.scorer(name).options}
        if not declared:
            raise UserError(f"The scorer {name} has no settings. Leave {', '.join(options) or name} out.")
        found[name] = {}
        for key, value in options.items():
            if key not in declared:
                raise UnknownNameError(f"setting of the scorer {name}:", key, declared)
            found[name][key] = _checked(name, declared[key], value)
    return found


def _checked(scorer: str, option: Option, value: Scalar) -> Scalar:
    """The value as the option's type. Raises UserError that says what to give."""
    read = _read(option, value)
    if read is None or (option.choices and read not in option.choices):
        raise UserError(f"The scorer {scorer} has {option.name}={value}; give {_expected(option)}.")
    return read


def _read(option: Option, value: Scalar) -> Scalar:
    """None for what is of another type."""
    if isinstance(option.default, bool):
        return _TRUTH.get(value.lower()) if isinstance(value, str) else value if isinstance(value, bool) else None
    if isinstance(option.default, int | float):
        found = named_options.finite(value)
        if found is None or not isinstance(option.default, int):
            return found
        return int(found) if found % 1 == 0 else None
    if isinstance(value, bool) and {"yes", "no"} <= set(option.choices):
        return "yes" if value else "no"
    return value if isinstance(value, str) else None


def _expected(option: Option) -> str:
    if option.choices:
        *others, last = [str(choice) for choice in option.choices]
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(option.default, bool):
        return "yes or no"
    if isinstance(option.default, int | float):
        return "a whole number" if isinstance(option.default, int) else "a number"
    return "a text (in YAML in quotes)"
