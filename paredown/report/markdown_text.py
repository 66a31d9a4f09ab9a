"""Text from outside as Markdown that nothing in it can turn into markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paredown.report import units

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&@]|:(?=//)|(?<=www)\.|^[-+#=](?=\s|$|[-+#=])|(?<=^\d)[.)]", re.IGNORECASE)
_AS_ENTITY = "<>&|@:."


def escape(text: str) -> str:
    """`text` on one line, with everything that Markdown or HTML would read as markup or a link written as text."""
    flat = " ".join(units.visible(text).split())
    return _SPECIAL.sub(lambda m: f"&#{ord(m[0])};" if m[0] in _AS_ENTITY else f"\\{m[0]}", flat)


def code(text: str) -> str:
    """`text` as a code span; backticks inside it are enclosed by longer ones."""
    flat = " ".join(units.visible(text).split()).replace("|", "\\|")
    ticks = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat or ' '}{pad}{ticks}"


def fence(text: str) -> str:
    """`text` as a code block that nothing inside it can close."""
    shown = units.visible(text)
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    return f"{ticks}text\n{shown}\n{ticks}"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    written = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    written += [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join(written)
