"""Does an ONNX directory load, and do two of them say the same? Asked right after a conversion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROBE_TOKENS = 32


def probe_logits(directory: Path) -> Any:
    """Logits float32 [32, V] on token ids spread over the vocabulary. Raises RuntimeError when it does not load."""
    import numpy as np
    import onnxruntime_genai as og

    config = og.Config(str(directory))
    config.clear_providers()
    model = og.Model(config)
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=PROBE_TOKENS + 1, batch_size=1, do_sample=False)
    generator = og.Generator(model, parameters)
    vocabulary = vocabulary_size(directory)
    generator.append_tokens(np.linspace(0, vocabulary - 1, PROBE_TOKENS).astype(np.int32))
    logits = generator.get_output("logits")[0].astype(np.float32)
    del generator, model
    return logits


def vocabulary_size(directory: Path) -> int:
    """The number of token ids, from the directory's own configuration."""
    config = json.loads((directory / "genai_config.json").read_text(encoding="utf-8"))
    return int(config["model"]["vocab_size"])


def mean_divergence(reference: Any, other: Any) -> float:
    """Mean Kullback-Leibler divergence (nats) of `other` from `reference`, both logits [n, V]."""
    import numpy as np

    def log_softmax(rows: Any) -> Any:
        centred = rows.astype(np.float64) - rows.max(axis=-1, keepdims=True)
        return centred - np.log(np.exp(centred).sum(axis=-1, keepdims=True))

    p, q = log_softmax(reference), log_softmax(other)
    return float((np.exp(p) * (p - q)).sum(axis=-1).mean())
