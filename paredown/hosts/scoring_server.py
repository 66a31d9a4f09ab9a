"""Host side of the scoring socket: one thread a connection, the work itself in the engine thread."""

from __future__ import annotations

import logging
import os
import socket
import threading
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.hosts import failures, score_codec, wire
from paredown.hosts.scheduler import Scheduler
from paredown.hosts.tokenizer import LoadedTokenizer

log = logging.getLogger(__name__)

Answer = tuple[Mapping[str, Any], Mapping[str, "array[Any]"]]


def listen(path: Path, scheduler: Scheduler, tokens: LoadedTokenizer) -> None:
    """Serve the socket in daemon threads from now on. Only the user who runs the host can connect (mode 0600)."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen()
    threading.Thread(target=_accept, args=(listener, scheduler, tokens), name="scoring socket", daemon=True).start()


def _accept(listener: socket.socket, scheduler: Scheduler, tokens: LoadedTokenizer) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, scheduler, tokens), name="scoring", daemon=True).start()


def serve(connection: socket.socket, scheduler: Scheduler, tokens: LoadedTokenizer) -> None:
    """Answer one connection until it is closed."""
    with connection:
        while True:
            try:
                message = wire.receive(connection)
            except (OSError, wire.WireError):
                return
            try:
                header, arrays = _answer(message, scheduler, tokens)
            except Exception as error:
                failure = failures.of_request(error)
                if failure.kind != "request":
                    log.exception("The operation %r failed.", message.op)
                header = {"error": failure.kind, "message": failure.message, "traceback": failure.traceback}
                header, arrays = {"op": "error", **header}, {}
            try:
                wire.send(connection, header, arrays)
            except OSError:
                return


def _answer(message: wire.WireMessage, scheduler: Scheduler, tokens: LoadedTokenizer) -> Answer:
    match message.op:
        case "encode":
            return _encode(message.header, tokens)
        case "decode":
            rows = wire.rows(message.arrays["ids"], message.arrays["lengths"])
            return {"op": "decoded", "texts": [tokens.tokenizer.decode(row) for row in rows]}, {}
        case "score":
            results = scheduler.score(score_codec.unpack_requests(message.arrays)).result()
            return {"op": "scored"}, score_codec.pack_results(results)
        case "info":
            return _info(scheduler, tokens), {}
    raise UserError(f"The scoring socket has no operation {message.op!r}.")


def _info(scheduler: Scheduler, tokens: LoadedTokenizer) -> Mapping[str, Any]:
    cache = scheduler.largest_cache
    return {
        "op": "info",
        "computed_tokens": scheduler.computed_tokens,
        "batching_seen": scheduler.batching_seen,
        "generated_tokens": scheduler.generated_tokens,
        "context_length": tokens.context_length,
        "stop_ids": list(tokens.stop_ids),
        "kv_bytes": cache.allocated_bytes if cache else None,
        "kv_tokens": cache.tokens if cache else None,
        "kv_capacity_tokens": cache.capacity_tokens if cache else None,
    }


def _encode(header: Mapping[str, Any], tokens: LoadedTokenizer) -> Answer:
    if "conversations" in header:
        prompt = bool(header.get("add_generation_prompt", True))
        rows = [tokens.encode_conversation(c, add_generation_prompt=prompt) for c in header["conversations"]]
    else:
        special = bool(header.get("special_tokens", False))
        rows = [tokens.tokenizer.encode(text, special_tokens=special) for text in header["texts"]]
    packed = wire.ragged(rows, "i4")
    return {"op": "encoded"}, {"ids": packed.flat, "lengths": packed.lengths}
