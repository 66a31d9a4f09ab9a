"""`python -m paredown.hosts SPEC.json`: one engine in this process, over HTTP and the scoring socket."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from paredown import registry
from paredown.contracts import Engine, OpenContext, OpenedEngine
from paredown.errors import UserError
from paredown.hosts import failures, scoring_server, server, tokenizer
from paredown.hosts.host_spec import HostSpec, LifeCycleEvent
from paredown.hosts.parent_death import die_with_parent
from paredown.hosts.scheduler import Scheduler
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.codec import dumps, loads

Tell = Callable[[LifeCycleEvent], None]


def main(arguments: list[str]) -> int:
    """Serve until killed. Standard output carries life-cycle events and nothing else."""
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    tell = _own_standard_output()
    try:
        spec = loads(HostSpec, Path(arguments[0]).read_text(encoding="utf-8"))
        if spec.parent_pid:
            die_with_parent(spec.parent_pid)
        tell(LifeCycleEvent("started", t_ns=time.monotonic_ns()))
        asyncio.run(_serve(spec, tell))
    except Exception as error:  # the edge of the process: the parent is told
        logging.getLogger(__name__).exception("The host ends.")
        failure = failures.of_loading(error)
        tell(
            LifeCycleEvent(
                "failed",
                t_ns=time.monotonic_ns(),
                error=failure.kind,
                message=failure.message,
                traceback=failure.traceback,
            )
        )
        return 1
    return 0


def _own_standard_output() -> Tell:
    """Life-cycle events go to the standard output of now; what libraries print goes to standard error."""
    events = os.dup(1)
    os.dup2(2, 1)

    def tell(event: LifeCycleEvent) -> None:
        # A parent that stopped listening has its own reasons.
        with contextlib.suppress(OSError):
            os.write(events, dumps(event).encode() + b"\n")

    return tell


async def _serve(spec: HostSpec, tell: Tell) -> None:
    artifact = spec.artifacts.get("main")
    if artifact is None:
        raise UserError(f"{spec.engine} needs an artifact with the role `main`.")
    tokens = tokenizer.load(Path(artifact))
    engine = registry.engine(spec.engine)
    scheduler = Scheduler(
        lambda: _open(engine, spec),
        batching=engine.batching,
        max_batch=engine.max_batch,
        on_fatal=lambda error: _end(tell, error),
    )
    scheduler.start()
    await asyncio.wrap_future(scheduler.loaded)
    tell(LifeCycleEvent("loaded", t_ns=time.monotonic_ns()))
    _ready_scoring(spec, scheduler, tokens)
    service = server.Service(scheduler, tokens, spec.model_name, spec.api_key, int(time.time()))
    listener = await server.listen(service, spec.host, spec.port)
    # What is loaded stays: the collector need not walk through it again and again.
    gc.collect()
    gc.freeze()
    tell(LifeCycleEvent("ready", t_ns=time.monotonic_ns(), port=listener.sockets[0].getsockname()[1]))
    await listener.serve_forever()


def _open(engine: Engine, spec: HostSpec) -> OpenedEngine:
    assert engine.open is not None, f"{engine.name} is not served by a host"
    artifacts = {role: Path(path) for role, path in spec.artifacts.items()}
    return engine.open(OpenContext(artifacts=artifacts, options=spec.options, device=spec.device))


def _ready_scoring(spec: HostSpec, scheduler: Scheduler, tokens: LoadedTokenizer) -> None:
    if spec.scoring_socket:
        scoring_server.listen(Path(spec.scoring_socket), scheduler, tokens)


def _end(tell: Tell, error: BaseException) -> None:
    """The engine thread cannot go on: the process ends, so that nobody waits for it."""
    failure = failures.of_request(error)
    tell(LifeCycleEvent("failed", error=failure.kind, message=failure.message, traceback=failure.traceback))
    logging.shutdown()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
