"""The peer's side of bench_items.py: lm-evaluation-harness's own `hf` model class on given requests.

Runs in an environment that holds lm_eval (`pip install "lm_eval[hf]"`); standard input and output are JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import redirect_stdout
from typing import Any


def main() -> None:
    import torch
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    asked: dict[str, Any] = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_DATA, (asked["memory_bytes"], asked["memory_bytes"]))
    torch.set_num_threads(asked["threads"])
    found: dict[str, Any] = {"runs": []}
    with redirect_stdout(sys.stderr):
        model = HFLM(
            pretrained=asked["model"], dtype=asked["dtype"], device="cpu", add_bos_token=False, trust_remote_code=False
        )
        requests = [
            Instance("loglikelihood", {}, (context, choice), index)
            for index, (context, choice) in enumerate(asked["requests"])
        ]
        model.loglikelihood(requests[:8], disable_tqdm=True)
        for batch_size in asked["batch_sizes"]:
            model.batch_size_per_gpu = batch_size
            started = time.monotonic()
            try:
                given = model.loglikelihood(requests, disable_tqdm=True)
            except RuntimeError as error:  # torch cannot allocate: the logits of a whole batch are kept at once
                found["runs"].append({"batch_size": batch_size, "failure": str(error).splitlines()[0]})
                continue
            found["runs"].append(
                {
                    "batch_size": batch_size,
                    "seconds": time.monotonic() - started,
                    "logprobs": [value for value, _greedy in given],
                }
            )
    import lm_eval

    found["version"] = lm_eval.__version__
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
