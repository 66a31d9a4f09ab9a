"""A server to send to: where it is, how it is known to be the right one, and what it takes."""

from __future__ import annotations

import functools
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import h11

from paredown.errors import UserError
from paredown.records.dialect import Dialect

CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
_KNOWN_ENDS = (CHAT_PATH, "/v1")


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server.

    url:     its base; a `/v1` at the end is cut off
    key:     bearer token, empty for none
    model:   what requests name in `model`
    ca_file: PEM file of the authorities that its certificate is checked by; None = the system's
    """

    url: str
    key: str
    model: str
    ca_file: Path | None = None
    dialect: Dialect = Dialect()


@dataclass(frozen=True)
class Address:
    """What a URL says of the connection. `base_path` comes before `/v1`, without a slash at its end."""

    host: str
    port: int
    tls: bool
    base_path: str

    @property
    def host_header(self) -> str:
        """The Host field: brackets around an IPv6 address, the port where it is not the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"


def base_url(given: str) -> str:
    """The URL that `/v1/…` is put behind; a `/v1` that is there already is cut off."""
    url = given.strip().rstrip("/")
    for end in _KNOWN_ENDS:
        url = url.removesuffix(end)
    return url.rstrip("/")


@functools.lru_cache(maxsize=64)
def address(server: Server) -> Address:
    """Raises UserError for what is no http or https URL."""
    try:
        parts = urllib.parse.urlsplit(base_url(server.url))
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UserError(f"{server.url!r} is no URL of a server; give one such as http://127.0.0.1:8000.")
    tls = parts.scheme == "https"
    return Address(host, port or (443 if tls else 80), tls, parts.path)


def tls_context(server: Server) -> ssl.SSLContext | None:
    """None for plain HTTP. The certificate and the name in it are always checked.

    Raises UserError when the file of authorities is missing or holds none.
    """
    if not address(server).tls:
        return None
    if server.ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(server.ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"The authorities in {server.ca_file} could not be read ({error}); give a PEM file with at least one "
            "certificate."
        ) from error


def head(server: Server, method: str, path: str, body_bytes: int = 0) -> h11.Request:
    """The head of a request with a JSON body, or none. Raises UserError for a key that no header can hold."""
    where = address(server)
    headers = [("Host", where.host_header), ("Accept", "text/event-stream, application/json")]
    if body_bytes:
        headers += [("Content-Type", "application/json"), ("Content-Length", str(body_bytes))]
    if server.key:
        headers.append(("Authorization", f"Bearer {server.key}"))
    try:
        return h11.Request(method=method, target=where.base_path + path, headers=headers)
    except (h11.LocalProtocolError, UnicodeEncodeError) as error:
        raise UserError(
            "The API key has characters that cannot be sent, perhaps the end of a line; give the bare key."
        ) from error
