"""HTTP connections to a server."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import ssl
import urllib.parse
from typing import Any, Dict, Iterator, Optional

Json = Any

MESSAGES = "/espalier/providers/messages"
PROVIDERS = "/espalier/providers"


class ServerError(Exception):
    """The server rejected a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, file: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._file = file

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._file)


class Server:
    """A server by its URL: ``unix:FILE``, ``http://...`` or ``https://...``.

    The token of ESPALIER_TOKEN is sent, or the user and password that are given.
    """

    def __init__(
        self,
        url: str,
        user: Optional[str] = None,
        password: Optional[str] = None,
        ca: Optional[str] = None,
        anchor: Optional[str] = None,
        timeout: float = 10.0,
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=ca) if url.startswith("https:") else None
        self._base = ""
        if anchor is not None:
            dataspace, _, name = anchor.rpartition("/")
            quoted = [urllib.parse.quote(text, safe="") for text in (dataspace or "default", name)]
            self._base = f"/dataspaces/{quoted[0]}/anchors/{quoted[1]}"
        self._headers: Dict[str, str] = {}
        token = os.environ.get("ESPALIER_TOKEN")
        if user is not None:
            pair = f"{user}:{password or ''}".encode()
            self._headers["authorization"] = "Basic " + base64.b64encode(pair).decode()
        elif token:
            self._headers["authorization"] = f"Bearer {token}"

    def connect(self) -> http.client.HTTPConnection:
        """A new connection."""
        if self._url.startswith("unix:"):
            return _UnixConnection(self._url[len("unix:") :], self._timeout)
        parsed = urllib.parse.urlsplit(self._url)
        host = parsed.hostname or "localhost"
        if parsed.scheme == "https":
            return http.client.HTTPSConnection(
                host, parsed.port, timeout=self._timeout, context=self._tls
            )
        return http.client.HTTPConnection(host, parsed.port, timeout=self._timeout)

    def request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Json = None,
    ) -> http.client.HTTPResponse:
        """Sends a request; raises :class:`ServerError` for a status of 400 and more."""
        headers = dict(self._headers)
        text: Optional[bytes] = None
        if body is not None:
            text = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        connection.request(method, self._base + path, text, headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise ServerError(response.status, _message(response.read()))
        return response


def _message(body: bytes) -> str:
    """The messages of an error response."""
    try:
        errors = json.loads(body)["ietf-restconf:errors"]["error"]
        return "; ".join(str(one.get("error-message", one["error-tag"])) for one in errors)
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()


def lines(response: http.client.HTTPResponse) -> Iterator[Dict[str, Json]]:
    """The messages of a stream, until it ends."""
    while True:
        line = response.readline()
        if not line.endswith(b"\n"):
            return
        yield json.loads(line)
