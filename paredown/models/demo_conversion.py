"""Worker: the built-in model's GGUF file to bf16 safetensors with tokenizer and chat template."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.environments import child


def convert(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Write the model of `work["gguf"]` into the directory `work["out"]`."""
    report(0.05, "importing transformers")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    gguf, out = Path(work["gguf"]), Path(work["out"])
    report(0.2, "unpacking the weights from 4 bits")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    report(0.7, "writing the weights in bf16")
    model = model.to(torch.bfloat16)
    # The importer takes the GGUF's name for the model, which would be stored as a path on the hub.
    model.config._name_or_path = "SmolLM2-135M-Instruct"
    model.save_pretrained(out)
    report(0.85, "writing the tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    end = model.generation_config.eos_token_id
    # The importer names <|im_start|> as end of text; the model ends its turns with what its configuration says.
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.model_max_length = model.config.max_position_embeddings
    tokenizer.clean_up_tokenization_spaces = False
    tokenizer.save_pretrained(out)
    _correct_stored_ids(out / "tokenizer_config.json", end)
    note = {"name": work["name"], "caution": work["caution"], "source": gguf.name}
    (out / "paredown_source.json").write_text(json.dumps(note, indent=1), encoding="utf-8")
    return {}


def _correct_stored_ids(path: Path, end: int) -> None:
    """The importer's wrong ids are kept as extra fields of the tokenizer and written beside the right names."""
    config = json.loads(path.read_text(encoding="utf-8"))
    for name in ("eos_token_id", "pad_token_id"):
        if name in config:
            config[name] = end
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(child.run(convert))
