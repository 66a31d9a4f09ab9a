"""Certificates of authorities that live as long as the tests."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme


@dataclass(frozen=True)
class Certificates:
    """PEM files: the authority that signed the server's certificate, and one that did not."""

    authority: Path
    another_authority: Path
    of_server: trustme.LeafCert

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.of_server.configure_cert(context)
        return context


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    authority, another = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "authority.pem"))
    another.cert_pem.write_to_path(str(directory / "another-authority.pem"))
    return Certificates(
        directory / "authority.pem",
        directory / "another-authority.pem",
        authority.issue_cert("localhost", "127.0.0.1"),
    )
