"""Writes the built-in golden set from its tables: `python -m tools.golden.build` (`--check`: only compare)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.golden import long_context, tables
from tools.golden.items import Item, to_plain

TARGET = Path(__file__).resolve().parents[2] / "paredown" / "builtin" / "golden"
TABLE_SLICES = ("short_facts", "reasoning", "multilingual", "safety", "tool_calls", "structured_output")


def all_items() -> dict[str, list[Item]]:
    """The items of every slice."""
    found = {name: tables.read(name) for name in TABLE_SLICES}
    found[long_context.SLICE] = long_context.items()
    return found


def file_texts() -> dict[str, str]:
    """The text of every file by name; one JSON object a line, ids numbered within slice and kind."""
    texts = {}
    for slice_name, items in all_items().items():
        numbers: dict[str, int] = {}
        lines = []
        for item in items:
            group = "-".join([item.kind, *item.tags.values()])
            numbers[group] = numbers.get(group, 0) + 1
            plain = to_plain(item, f"{slice_name}/{group}-{numbers[group]:03d}")
            lines.append(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))
        texts[f"{slice_name}.jsonl"] = "\n".join(lines) + "\n"
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file differs")
    wants_check = parser.parse_args().check
    stale = []
    for name, text in file_texts().items():
        path = TARGET / name
        if not path.is_file() or path.read_text("utf-8") != text:
            stale.append(name)
            if not wants_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    verb = "differs from" if wants_check else "written from"
    sys.stdout.write("".join(f"{name} {verb} the tables\n" for name in stale))
    return int(wants_check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
