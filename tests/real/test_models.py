"""The built-in model against independent readings of the same file, and everything that can be wrong with a source."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.models import artifact, describe, inspection, safetensors_header, source
from paredown.models import demo as demo_model
from paredown.records.artifact import Artifact, ModelFacts

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def copy(demo: Path, tmp_path: Path) -> Path:
    """The built-in model in a directory of its own; the weights are linked."""
    made = tmp_path / "model"
    made.mkdir()
    for file in demo.iterdir():
        if file.suffix == ".safetensors":
            os.link(file, made / file.name) if file.stat().st_dev == tmp_path.stat().st_dev else shutil.copy(file, made)
        else:
            shutil.copy(file, made)
    return made


def refusal(directory: Path | str, tmp_path: Path, **options: bool) -> str:
    with pytest.raises(UserError) as caught:
        source.resolve(str(directory), cache=tmp_path / "cache", **options)
    return str(caught.value)


# ── the built-in model ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_weights_are_those_that_the_gguf_library_unpacks(demo: Path) -> None:
    import gguf
    import torch
    from safetensors import safe_open

    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(demo_model.packaged_file()).tensors}
    names = {
        "blk.0.ffn_down.weight": "model.layers.0.mlp.down_proj.weight",
        "blk.29.ffn_up.weight": "model.layers.29.mlp.up_proj.weight",
        "token_embd.weight": "model.embed_tokens.weight",
    }
    with safe_open(demo / "model.safetensors", framework="pt") as made:
        for theirs, ours in names.items():
            unpacked = gguf.quants.dequantize(stored[theirs].data, stored[theirs].tensor_type)
            expected = torch.from_numpy(unpacked).to(torch.bfloat16)
            assert torch.equal(made.get_tensor(ours), expected)


def test_its_facts_are_those_of_the_model_card(demo_facts: ModelFacts) -> None:
    assert demo_facts.parameters == 134_515_008
    assert (demo_facts.layers, demo_facts.hidden_size, demo_facts.heads, demo_facts.kv_heads) == (30, 576, 9, 3)
    assert demo_facts.kv_bytes_per_token == 30 * 2 * 3 * 64 * 2
    assert demo_facts.tied_head
    assert "4 bits" in demo_facts.caution


def test_facts_agree_with_what_transformers_counts(demo: Path, demo_facts: ModelFacts) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(demo, dtype="auto")

    assert sum(parameter.numel() for parameter in model.parameters()) == demo_facts.parameters


def test_its_turns_end_where_the_model_ends_them(demo: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(demo)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, return_dict=False
    )

    assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("<|im_end|>", 2)
    assert json.loads((demo / "generation_config.json").read_text())["eos_token_id"] == 2
    assert ids.count(2) == 2  # system and user turn
    assert tokenizer("a b").input_ids == tokenizer("a b", add_special_tokens=False).input_ids


def test_describing_it_reads_no_weights_twice_and_is_exact(demo_artifact: Artifact) -> None:
    assert demo_artifact.weight_bytes == 2 * 134_515_008
    assert demo_artifact.bits_per_parameter == 16.0


def test_its_zeros_are_those_that_torch_counts(demo: Path) -> None:
    from safetensors.torch import load_file

    tensors = load_file(demo / "model.safetensors")
    zeros = sum(int((tensor == 0).sum()) for tensor in tensors.values())

    assert inspection.share_of_zeros(demo) == zeros / 134_515_008


# ── planted faults ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_truncated_weight_file_is_refused(copy: Path, tmp_path: Path) -> None:
    weights = copy / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(content[:-4096])

    assert "4,096 of its 269,060,552 bytes are missing" in refusal(copy, tmp_path)


def test_a_weight_file_with_a_broken_header_is_refused(copy: Path, tmp_path: Path) -> None:
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[20] ^= 0xFF
    weights.unlink()
    weights.write_bytes(content)

    assert "is damaged" in refusal(copy, tmp_path)


def test_a_missing_shard_is_refused(copy: Path, tmp_path: Path) -> None:
    shards = {"a": "model.safetensors", "b": "model-2.safetensors"}
    (copy / safetensors_header.INDEX).write_text(json.dumps({"weight_map": shards}))

    assert "lacks 1 of its 2 weight files" in refusal(copy, tmp_path)


def test_a_lost_tokenizer_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "tokenizer.json").unlink()

    assert "has no tokenizer" in refusal(copy, tmp_path)


def test_a_lost_chat_template_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "chat_template.jinja").unlink()

    assert "has no chat template" in refusal(copy, tmp_path)


def test_pickle_weights_are_refused_and_when_allowed_give_the_same_tensors(copy: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    tensors = load_file(copy / "model.safetensors")
    torch.save({**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]}, copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()

    assert "only pickle weights" in refusal(copy, tmp_path)

    converted = source.resolve(str(copy), cache=tmp_path / "cache", allow_pickle=True)
    again = load_file(converted / "model.safetensors")
    assert again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)
    assert describe.facts(converted).parameters == 134_515_008


class Bomb:
    """Leaves a file where it is unpickled."""

    def __init__(self, where: Path) -> None:
        self.where = str(where)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.where, "w")


def test_a_pickle_that_would_run_code_runs_none_even_when_allowed(copy: Path, tmp_path: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps({"w": Bomb(tmp_path / "exploded")}))

    said = refusal(copy, tmp_path, allow_pickle=True)

    assert "cannot be opened as tensors only" in said
    assert not (tmp_path / "exploded").exists()
    assert not list((tmp_path / "cache" / "models").glob("*safetensors"))


def test_a_hub_id_without_network_ends_with_one_sentence_and_status_2(tmp_path: Path) -> None:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-m", "paredown", "inspect", "no-such-owner/no-such-model"],
        capture_output=True,
        text=True,
        env=offline,
        check=False,
    )

    assert done.returncode == 2
    assert "Cannot reach the hub for 'no-such-owner/no-such-model'" in done.stderr
    assert "give a local directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_inspect_tells_the_real_bits_of_the_model(demo: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paredown", "inspect", str(demo), "--json"], capture_output=True, text=True, check=True
    )

    document = json.loads(done.stdout)
    assert document["bits_per_parameter"] == 16.0
    assert document["facts"]["context_length"] == 8192
    assert any("4 bits" in caution for caution in document["cautions"])


def test_a_copy_has_the_digest_of_the_original(copy: Path, demo_artifact: Artifact, demo_facts: ModelFacts) -> None:
    copied = artifact.describe(copy, format="hf", parameters=demo_facts.parameters)

    assert copied.digest == demo_artifact.digest
    assert artifact.was_optimized(demo_artifact, copied, None).passed is False
