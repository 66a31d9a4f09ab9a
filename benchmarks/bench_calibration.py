"""Does paredown tell a model calibrated on like text from one calibrated on unlike text, and warn before?

    python benchmarks/bench_calibration.py --python PATH [--like FILE] [--samples N] [--tokens N] [--keep DIRECTORY]

The built-in model, GPTQ in 4 bits, groups of 64, once on prompts of the built-in traffic (or FILE) and once on Python
source of the standard library; both audited before, both judged by `paredown compare`'s own path. PATH is the Python
of an environment with gptqmodel (7.6.0) and optimum. Wanted: a warning on the unlike text alone, and a mean KL that is
higher with it on the model's answers and on English prose, the whole interval of the ratio above 1 (by texts). On code
it is the other way round, and other languages suffer from both, so the mean over all texts tells little. With --keep
the artifacts stay and are not made again. About four minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from paredown.flow import auditing, single
from paredown.flow.progress import Silent
from paredown.hosts import tokenizer as tokenizers
from paredown.models import source
from paredown.records.audit import Audit
from paredown.records.golden import Fidelity
from paredown.spec.load import from_mapping
from paredown.spec.schema import default_cache
from paredown.stats.ratios import paired_ratio
from paredown.traffic import calibration, load

CHILD = Path(__file__).with_name("calibration_gptq.py")
PROMPTS = ("long", "chat", "concurrent")
OTHER_TEXTS = ("chinese", "german", "python-code", "russian", "spanish")
GOLDEN = "builtin:short_facts"
WARNING = "calibration unlike production"
BITS, GROUP = 4, 64


@dataclass(frozen=True)
class Calibrated:
    """One artifact: what the audit said of its text, and how far it is from the model."""

    audit: Audit
    fidelity: Fidelity

    @property
    def warned(self) -> bool:
        return any(one.kind == WARNING for one in self.audit.warned)

    def by_text(self) -> dict[str, float]:
        """Mean KL of each text."""
        return {text.id: math.fsum(text.kl) / len(text.kl) for text in self.fidelity.texts if text.kl}

    def like_prompts(self) -> dict[str, float]:
        """Mean KL of the texts that are as the prompts are: answers and English prose."""
        return {name: value for name, value in self.by_text().items() if name not in OTHER_TEXTS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--like", type=Path, help="text like the prompts [default: prompts of the built-in traffic]")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    if given.python is None:
        print("left out: give --python, the Python of an environment with gptqmodel==7.6.0 and optimum==2.3.0")
        return 0
    with tempfile.TemporaryDirectory(prefix="paredown-bench-") as temporary:
        directory = (given.keep or Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        texts = {"like": given.like or written(directory / "like.txt", like_text())}
        texts["unlike"] = written(directory / "unlike.txt", python_source())
        found = {name: calibrated(name, text, directory, given) for name, text in texts.items()}
    return verdict(found["like"], found["unlike"])


def verdict(like: Calibrated, unlike: Calibrated) -> int:
    first, second = like.like_prompts(), unlike.like_prompts()
    both = sorted(first.keys() & second.keys())
    ratio = paired_ratio([second[name] for name in both], [first[name] for name in both])
    for name, one in (("like", like), ("unlike", unlike)):
        near, every = one.like_prompts(), one.by_text()
        others = ", ".join(f"{text} {every[text]:.2f}" for text in OTHER_TEXTS if text in every)
        print(
            f"{name:7s} mean KL {statistics.mean(near.values()):.3f} nats on {len(near)} answers and texts in English "
            f"({others}; over all {one.fidelity.mean_kl:.3f}, same first choice {one.fidelity.top1_agreement:.1%}); "
            f"the audit {'warns' if one.warned else 'does not warn'}"
        )
    apart = ratio.low is not None and ratio.low > 1.0
    limits = "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.2f} to {ratio.high:.2f}, by texts)"
    print(f"unlike over like {ratio.ratio:.2f}{limits}; wanted: above 1, and a warning on the unlike text alone")
    return 0 if apart and unlike.warned and not like.warned else 1


def calibrated(name: str, text: Path, directory: Path, given: argparse.Namespace) -> Calibrated:
    """Audit, then quantize, then compare with the model."""
    spec = from_mapping({"model": "demo", "golden": [GOLDEN], "calibration": str(text)}, "the benchmark")
    audit = auditing.run(spec, Silent())
    for finding in audit.findings:
        print(f"{name}: {finding.severity}: {finding.sentence}", flush=True)
    out = directory / name
    if not out.is_dir():
        model = source.resolve("demo", cache=default_cache())
        orders = {"model": str(model), "out": str(out), "rows": token_rows(model, text, given), "bits": BITS}
        path = directory / f"{name}.json"
        path.write_text(json.dumps({**orders, "group_size": GROUP}))
        made = subprocess.run([given.python, CHILD, path], check=False, capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"{given.python} did not quantize:\n{made.stderr[-2000:]}")
        print(f"{name}: {made.stdout.splitlines()[-1]}", flush=True)
    compared = single.compare(spec, out, None, Silent())
    if compared.fidelity is None or compared.fidelity.mean_kl is None:
        sys.exit(f"{name}: no fidelity was measured: {'; '.join(compared.reasons)}")
    return Calibrated(audit, compared.fidelity)


def token_rows(model: Path, text: Path, given: argparse.Namespace) -> list[list[int]]:
    """The text's tokens, cut into rows of equal length."""
    tokenizer = tokenizers.load(model).tokenizer
    whole = "\n\n".join(sample.content for sample in calibration.read(str(text)).samples)
    ids = tokenizer.encode(whole, special_tokens=False)
    if len(ids) < given.samples * given.tokens:
        sys.exit(f"{text} has {len(ids):,} tokens; {given.samples} × {given.tokens} are needed")
    return [list(ids[at : at + given.tokens]) for at in range(0, given.samples * given.tokens, given.tokens)]


def like_text() -> str:
    """Prompts of the built-in traffics. Not the plain texts that ship: fidelity is measured on those."""
    asked = [
        message.content for name in PROMPTS for request in load.load(name).requests for message in request.messages
    ]
    return "\n\n".join(asked)


def python_source() -> str:
    """Thirty modules of the standard library, the same for the same Python."""
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    random.Random(0).shuffle(modules)
    return "\n\n".join(module.read_text("utf-8", errors="ignore") for module in modules[:30])


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
