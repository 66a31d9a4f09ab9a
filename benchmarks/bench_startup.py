"""Start-up of `import paredown` and `paredown --help`, beside `python -c pass` in the same run.

Prints medians of interleaved runs and the ratio to the empty interpreter; one JSON line last.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

ROUNDS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import paredown": [sys.executable, "-c", "import paredown"],
    "paredown --help": [sys.executable, "-m", "paredown", "--help"],
    "paredown run --help": [sys.executable, "-m", "paredown", "run", "--help"],
}


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS + 1):
        for name, argv in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(argv, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(values[1:]) for name, values in seconds.items()}
    floor = medians["python -c pass"]
    for name, median in medians.items():
        spread = f"{min(seconds[name][1:]) * 1e3:.0f}…{max(seconds[name][1:]) * 1e3:.0f}"
        print(f"{name:22s} {median * 1e3:7.1f} ms (of {ROUNDS}: {spread})   {median / floor:4.1f} × python -c pass")
    print(json.dumps({"bench": "startup", "rounds": ROUNDS, "median_s": medians}))


if __name__ == "__main__":
    main()
