"""How late the client sent its requests: the client's own fault, by which a run can be void."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    """Requests that failed were sent as well, and count."""
    trial = evidence.trial
    if trial is None:
        return Samples("send_delay", "s", (), missing="no trial was run")
    if not timing.succeeded(trial.requests()):
        return Samples("send_delay", "s", (), missing=timing.nothing_succeeded(trial))
    sent = [(timing.send_delay_s(request), block.index) for block in trial.blocks for request in block.requests]
    return Samples("send_delay", "s", tuple(delay for delay, _ in sent), tuple(index for _, index in sent))


METRIC = Metric(
    name="send_delay",
    unit="s",
    better="lower",
    summary="how late the client sent a request",
    formula="t_sent − t_sched",
    compute=_compute,
    distribution=True,
)
