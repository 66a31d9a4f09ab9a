"""Fails when a file or function is longer than the style allows: files ≤ 400 lines, functions ≤ 60."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 60


def complaints(path: Path) -> list[str]:
    """What in this file is too long."""
    text = path.read_text()
    found = []
    if (lines := text.count("\n")) > MAX_FILE_LINES:
        found.append(f"{path}: {lines} lines (at most {MAX_FILE_LINES})")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines (at most {MAX_FUNCTION_LINES})")
    return found


def main() -> int:
    roots = [Path("paredown"), Path("tests"), Path("benchmarks"), Path("tools")]
    found = [line for root in roots for path in sorted(root.rglob("*.py")) for line in complaints(path)]
    print("\n".join(found) or "sizes: every file and function is within the limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
