"""`paredown compare` shows every figure of fidelity and each part of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from paredown.cli.compare import command
from paredown.flow import single
from paredown.records.golden import Fidelity, FidelityPart, Smoke
from paredown.records.verdict import Verdict


def compared(fidelity: Fidelity | None) -> single.Comparison:
    return single.Comparison(Smoke("c", ()), fidelity, (), Verdict.REJECT, ("Broken in a part.",))


def shown(monkeypatch: pytest.MonkeyPatch, fidelity: Fidelity | None) -> str:
    monkeypatch.setattr(single, "compare", lambda *_: compared(fidelity))
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(command, ["demo", str(Path.cwd())], standalone_mode=False)
    assert result.return_value == 3, result.output
    return result.output


def test_figures_and_parts_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    part = FidelityPart("plain/russian", "text", 64, 1, 4, 4.25, 0.5, 0.08, 0.02, 3.5, 0.4)
    found = Fidelity("c", "FULL", (), 32, 0.3, 1.0, 9.0, 0.7, 1212, mean_reverse_kl=0.55, parts=(part,))
    output = shown(monkeypatch, found)
    assert "0.30\u00a0nats" in output
    assert "0.55\u00a0nats" in output
    line = next(line for line in output.splitlines() if "plain/russian" in line)
    assert "64 in 1 text" in line
    assert "4.2" in line


def test_without_fidelity_the_reasons_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, None).split("\n")[:2] == ["REJECT", "  Broken in a part."]
