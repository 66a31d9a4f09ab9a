"""The steps that Nsight Systems or Nsight Compute watch: started by those tools, so it has no pipe to its parent.

At import the standard library, contracts, records and registry only.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from paredown.hosts.parent_death import die_with_parent
from paredown.profile import worker_steps


def main(work: Path) -> int:
    """Carry out the plain StepsWork in the file `work`; failures end with their traceback in the tool's log."""
    die_with_parent(os.getppid())
    worker_steps.act(json.loads(work.read_text(encoding="utf-8")), lambda _fraction, _what: None)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
