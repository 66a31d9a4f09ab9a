"""What `inspect` tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from paredown.cli.inspect import command
from paredown.errors import UserError
from paredown.models import inspection
from paredown.testing.checkpoints import write_checkpoint, write_safetensors


def test_bits_per_parameter_are_those_of_the_files(tmp_path: Path) -> None:
    found = inspection.inspect(write_checkpoint(tmp_path / "m"))

    assert found.bits_per_parameter == 16.0
    assert found.facts is not None
    assert found.facts.architecture == "LlamaForCausalLM"


def test_sparsity_that_was_not_measured_is_missing_and_not_zero(tmp_path: Path) -> None:
    found = inspection.inspect(write_checkpoint(tmp_path / "m"))

    assert found.zero_share is None
    assert any("sparsity: not measured" in line for line in found.missing)


def test_zeros_of_either_sign_are_counted(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    made = write_checkpoint(tmp_path / "m", shapes={"model.layers.0.w.weight": ("F32", (2, 4))})
    file = made / "model.safetensors"
    data = numpy.array([0.0, -0.0, 1, 2, 3, 4, 5, 6], "<f4").tobytes()
    file.write_bytes(file.read_bytes()[:-32] + data)

    assert inspection.share_of_zeros(made) == 0.25


def test_what_is_lacking_is_a_caution_and_no_error(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")
    (made / "chat_template.jinja").unlink()

    assert any("no chat template" in line for line in inspection.inspect(made).cautions)


def test_a_directory_without_any_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no model"):
        inspection.inspect(tmp_path)


def test_the_command_puts_one_json_document_on_standard_output(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command, [str(write_checkpoint(tmp_path / "m")), "--json"])

    document = json.loads(shown.stdout)
    assert document["bits_per_parameter"] == 16.0
    assert document["zero_share"] is None


def test_the_command_shows_a_table_with_every_kind_of_weight(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")

    shown = CliRunner().invoke(command, [str(made)]).stdout

    assert str(made) in shown
    for word in ("bits per parameter", "16.00", "matrix", "embedding", "tied to the embedding"):
        assert word in shown


def test_unusual_files_beside_the_weights_do_no_harm(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")
    write_safetensors(made / "adapter.safetensors", {"x.weight": ("F32", (2, 2))})

    assert inspection.inspect(made).facts is not None
