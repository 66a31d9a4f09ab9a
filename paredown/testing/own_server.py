"""A server as a command: it only says that it is healthy. Started as `python own_server.py PORT [--never-ready]`.

For tests of engines that bring their own server; it starts a child of its own that ignores SIGTERM.
"""

from __future__ import annotations

import http.server
import subprocess
import sys

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"


class Answers(http.server.BaseHTTPRequestHandler):
    """200 at /health, 404 elsewhere."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  the base class's name
        """Nothing: the log is for failures."""


def main(arguments: list[str]) -> None:
    subprocess.Popen([sys.executable, "-c", STUBBORN])
    if "--never-ready" in arguments:
        subprocess.Popen([sys.executable, "-c", STUBBORN]).wait()
    if "--out-of-memory" in arguments:
        raise MemoryError("no memory for the weights")
    http.server.ThreadingHTTPServer(("127.0.0.1", int(arguments[0])), Answers).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
