"""How far a client's times are from the timed server's own: by its stamps, and by the delays that it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from paredown.records.events import RequestEvents
from paredown.testing.timed_server import RequestStamps
from paredown.testing.timed_server_answers import FIRST_TOKEN_ID, TimedAnswer


@dataclass(frozen=True)
class Seen:
    """What a client says of one request, in seconds.

    ttft_s:     from its send to the first token
    gaps_s:     from each token to the next; empty for a client that keeps only their mean
    mean_itl_s: their mean; None for an answer of one token
    """

    id: str
    ttft_s: float
    gaps_s: tuple[float, ...]
    mean_itl_s: float | None


@dataclass(frozen=True)
class Errors:
    """Client minus server, in seconds, positive when the client says longer; one value a request, `itl_s` a token."""

    ttft_s: tuple[float, ...]
    itl_s: tuple[float, ...]
    mean_itl_s: tuple[float, ...]


@dataclass(frozen=True)
class Account:
    """Tokens that the server wrote, compared with those that the client has.

    lost:       written and not in the client's record; surplus: in the client's record and never written
    unanswered: requests that the client sent and the server never saw
    delays_s:   from each write to the client's stamp of the same token
    """

    written: int
    lost: int
    surplus: int
    unanswered: int
    delays_s: tuple[float, ...]


def seen(events: RequestEvents) -> Seen:
    """Of a request of paredown's own client that succeeded, one token a chunk."""
    arrived = [chunk.arrived_ns for chunk in events.chunks]
    gaps = tuple((after - before) / 1e9 for before, after in pairwise(arrived))
    return Seen(events.id, (arrived[0] - events.sent_ns) / 1e9, gaps, sum(gaps) / len(gaps) if gaps else None)


def by_stamps(clients: Sequence[Seen], servers: Mapping[str, RequestStamps]) -> Errors:
    """Against what the server did: first write − receipt of the request, and from each write to the next.

    Raises KeyError for a request that the server never saw.
    """
    return _errors(clients, [_true_times(servers[client.id]) for client in clients])


def by_delays(clients: Sequence[Seen], answer: TimedAnswer) -> Errors:
    """Against what the server was asked to do, jitter apart: the same judge for clients whose requests cannot be told
    from each other. The server's own lateness is in it.
    """
    itl_s = answer.itl_ms / 1e3
    gaps = (itl_s,) * (answer.tokens - 1)
    nominal = Seen("", answer.ttft_ms / 1e3, gaps, itl_s if gaps else None)
    return _errors(clients, [nominal] * len(clients))


def server_lateness_s(servers: Sequence[RequestStamps]) -> tuple[float, ...]:
    """How long after its planned time each token was written."""
    return tuple(
        (written - planned) / 1e9
        for server in servers
        for planned, written in zip(server.planned_ns, server.written_ns, strict=False)
    )


def account(events: Sequence[RequestEvents], servers: Sequence[RequestStamps]) -> Account:
    """Token by token, by the ids that the server wrote (its i-th token has the id FIRST_TOKEN_ID + i).

    Servers' requests that are not among `events` count as lost with all their tokens.
    """
    arrivals = {request.id: _arrivals(request) for request in events}
    written = {server.id: server.written_ns for server in servers}
    lost = surplus = 0
    delays: list[float] = []
    for id_, stamps in written.items():
        arrived = arrivals.get(id_, {})
        lost += sum(index not in arrived for index in range(len(stamps)))
        delays += [(arrived[index] - at) / 1e9 for index, at in enumerate(stamps) if index in arrived]
    for id_, arrived in arrivals.items():
        surplus += sum(not 0 <= index < len(written.get(id_, ())) for index in arrived)
    surplus += sum(len(request.chunks) - len(arrivals[request.id]) for request in events)
    return Account(
        written=sum(map(len, written.values())),
        lost=lost,
        surplus=surplus,
        unanswered=sum(request.id not in written for request in events),
        delays_s=tuple(delays),
    )


def _arrivals(request: RequestEvents) -> dict[int, int]:
    """Arrival of each token by its index in the answer; a token that came twice is in it once."""
    return {chunk.token_ids[0] - FIRST_TOKEN_ID: chunk.arrived_ns for chunk in request.chunks if chunk.token_ids}


def _true_times(server: RequestStamps) -> Seen:
    gaps = tuple((after - before) / 1e9 for before, after in pairwise(server.written_ns))
    mean = (server.written_ns[-1] - server.written_ns[0]) / 1e9 / len(gaps) if gaps else None
    return Seen(server.id, (server.written_ns[0] - server.received_ns) / 1e9, gaps, mean)


def _errors(clients: Sequence[Seen], truths: Sequence[Seen]) -> Errors:
    ttft: list[float] = []
    itl: list[float] = []
    mean_itl: list[float] = []
    for client, truth in zip(clients, truths, strict=True):
        ttft.append(client.ttft_s - truth.ttft_s)
        if client.gaps_s:
            itl += [c - t for c, t in zip(client.gaps_s, truth.gaps_s, strict=True)]
        if client.mean_itl_s is not None and truth.mean_itl_s is not None:
            mean_itl.append(client.mean_itl_s - truth.mean_itl_s)
    return Errors(tuple(ttft), tuple(itl), tuple(mean_itl))
