"""Facts of models, against counts made by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.models import describe
from paredown.testing.checkpoints import LLAMA, llama_shapes, write_checkpoint

# By hand for LLAMA: per layer q and o 64·64, k and v 32·64, three MLP matrices 128·64; two layers.
BLOCKS = 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64)
TABLE = 256 * 64
NORMS = 5 * 64


def test_parameters_of_a_tied_model_count_the_table_once(tmp_path: Path) -> None:
    facts = describe.facts(write_checkpoint(tmp_path / "m"))

    assert facts.tied_head
    assert facts.parameters == BLOCKS + TABLE + NORMS


def test_the_head_is_read_for_every_token_and_the_table_is_not(tmp_path: Path) -> None:
    tied = describe.facts(write_checkpoint(tmp_path / "tied"))
    untied = describe.facts(write_checkpoint(tmp_path / "untied", config={**LLAMA, "tie_word_embeddings": False}))

    assert tied.active_parameters == BLOCKS + TABLE
    assert untied.active_parameters == BLOCKS + TABLE
    assert untied.parameters == BLOCKS + 2 * TABLE + NORMS


def test_a_tied_head_that_is_stored_all_the_same_counts_once(tmp_path: Path) -> None:
    shapes = llama_shapes() | {"lm_head.weight": ("BF16", (256, 64))}

    assert describe.facts(write_checkpoint(tmp_path / "m", shapes=shapes)).parameters == BLOCKS + TABLE + NORMS


def test_grouped_query_attention_keeps_only_its_own_heads(tmp_path: Path) -> None:
    facts = describe.facts(write_checkpoint(tmp_path / "m"))

    assert (facts.heads, facts.kv_heads, facts.head_dim) == (4, 2, 16)
    assert facts.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2  # layers, keys and values, heads, size, bytes


def test_kv_bytes_follow_the_stored_data_type(tmp_path: Path) -> None:
    facts = describe.facts(write_checkpoint(tmp_path / "m", shapes=llama_shapes(dtype="F32")))

    assert facts.dtype == "float32"
    assert facts.kv_bytes_per_token == 2 * 2 * 2 * 16 * 4


def test_linear_attention_layers_keep_no_keys(tmp_path: Path) -> None:
    config = {**LLAMA, "layer_types": ["linear_attention", "full_attention"]}

    assert describe.facts(write_checkpoint(tmp_path / "m", config=config)).kv_bytes_per_token == 2 * 2 * 16 * 2


def test_a_missing_head_size_is_hidden_size_over_heads(tmp_path: Path) -> None:
    config = {name: value for name, value in LLAMA.items() if name not in ("head_dim", "num_key_value_heads")}

    facts = describe.facts(write_checkpoint(tmp_path / "m", config=config, shapes=llama_shapes()))

    assert (facts.head_dim, facts.kv_heads) == (16, 4)


def test_linear_layers_come_in_families(tmp_path: Path) -> None:
    families = {s.name: (s.rows, s.columns, s.count) for s in describe.facts(write_checkpoint(tmp_path / "m")).linears}

    assert families["mlp.down_proj"] == (64, 128, 2)
    assert families["self_attn.k_proj"] == (32, 64, 2)
    assert sum(rows * columns * count for rows, columns, count in families.values()) == BLOCKS


@pytest.mark.parametrize("fused", [True, False])
def test_of_routed_experts_only_those_used_are_active(tmp_path: Path, fused: bool) -> None:
    block = "model.layers.0.mlp"
    experts = (
        {f"{block}.experts.gate_up_proj": ("BF16", (8, 64, 32))}
        if fused
        else {f"{block}.experts.{number}.up_proj.weight": ("BF16", (64, 32)) for number in range(8)}
    )
    shapes = {
        "model.embed_tokens.weight": ("BF16", (256, 64)),
        f"{block}.gate.weight": ("BF16", (8, 64)),
        f"{block}.shared_experts.up_proj.weight": ("BF16", (64, 32)),
        **experts,
    }
    config = {**LLAMA, "num_local_experts": 8, "num_experts_per_tok": 2}

    facts = describe.facts(write_checkpoint(tmp_path / "m", config=config, shapes=shapes))

    assert facts.active_parameters == TABLE + 8 * 64 + 64 * 32 + 2 * 64 * 32
    assert sum(s.count for s in facts.linears if ".experts" in s.name) == 8


def test_an_unknown_architecture_is_told_from_its_tensors(tmp_path: Path) -> None:
    shapes = {"transformer.wte.weight": ("F16", (100, 32)), "transformer.h.0.attn.c_attn.weight": ("F16", (32, 96))}
    config = {"model_type": "novel", "n_head": 2, "n_embd": 32, "n_positions": 77, "vocab_size": 100}

    facts = describe.facts(write_checkpoint(tmp_path / "m", config=config, shapes=shapes))

    assert (facts.architecture, facts.layers, facts.context_length) == ("novel", 1, 77)
    assert facts.parameters == 100 * 32 + 32 * 96
    assert facts.tied_head


def test_a_multimodal_configuration_gives_its_language_model(tmp_path: Path) -> None:
    config = {"architectures": ["SomethingForConditionalGeneration"], "text_config": dict(LLAMA)}

    assert describe.facts(write_checkpoint(tmp_path / "m", config=config, shapes=llama_shapes())).heads == 4


def test_a_configuration_without_heads_is_refused(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m", config={"model_type": "audio"}, shapes=llama_shapes())

    with pytest.raises(UserError, match="num_attention_heads"):
        describe.facts(made)


def test_name_and_caution_come_from_the_note_of_the_source(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")
    (made / "paredown_source.json").write_text('{"name": "demo", "caution": "stored in 4 bits"}')

    facts = describe.facts(made)

    assert (facts.name, facts.caution) == ("demo", "stored in 4 bits")


def test_a_snapshot_of_the_hub_has_its_id_as_name(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "models--owner--small-model" / "snapshots" / "0123")

    assert describe.facts(made).name == "owner/small-model"


def test_facts_need_no_torch(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")
    code = (
        "import sys, pathlib; from paredown.models import describe; "
        f"describe.facts(pathlib.Path({str(made)!r})); print({{'torch', 'transformers', 'numpy'}} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"
