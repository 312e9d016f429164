"""Providers that use threads."""

from __future__ import annotations

import http.client
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._messages import Call, Commit, Refused, Upgrade
from ._server import MESSAGES, PROVIDERS, Server, ServerError, lines

Json = Any
Handler = Callable[[Any], Any]

log = logging.getLogger("espalier")

RETRY_MAX = 30.0
"""The longest pause before the program connects again, in seconds."""

RETRY_COMMIT = 1.0
"""The pause before a commit is given again to a function that failed, in seconds."""


class Roles:
    """What a program provides; shared by :class:`Provider` and :class:`espalier.AsyncProvider`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._states: List[Tuple[Dict[str, Json], Optional[Handler]]] = []
        self._operations: List[Tuple[Dict[str, Json], Optional[Handler]]] = []
        self._commits: List[Tuple[Dict[str, Json], Optional[Handler]]] = []
        self._upgrades: List[Tuple[Dict[str, Json], Optional[Handler]]] = []
        self._abort: Optional[Handler] = None
        self._operation_abort: Optional[Handler] = None
        self._version: Optional[int] = None

    def state(
        self, path: str, *, timeout: float = 5.0, cache: float = 0.0, origin: Optional[str] = None
    ) -> Callable[[Handler], Handler]:
        """Serves the state at a path: the function gets a :class:`Call` and returns the data, as JSON from the root."""

        def add(handler: Handler) -> Handler:
            role: Dict[str, Json] = {"path": path, "timeout": timeout, "cache": cache}
            if origin is not None:
                role["origin"] = origin
            self._states.append((role, handler))
            return handler

        return add

    def pushed_state(self, path: str, *, origin: Optional[str] = None) -> None:
        """Serves state that the program sends with ``push`` when it changes."""
        role: Dict[str, Json] = {"path": path, "push": True}
        if origin is not None:
            role["origin"] = origin
        self._states.append((role, None))

    def operation(
        self, path: str, *, timeout: float = 60.0, priority: int = 0
    ) -> Callable[[Handler], Handler]:
        """Answers an RPC or action: the function gets a :class:`Call` and returns the output, or ``None``."""

        def add(handler: Handler) -> Handler:
            role = {"path": path, "timeout": timeout, "priority": priority}
            self._operations.append((role, handler))
            return handler

        return add

    def _phase(
        self, phase: str, paths: Sequence[str], timeout: float, priority: int
    ) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            role: Dict[str, Json] = {
                "paths": list(paths),
                "phases": [phase],
                "timeout": timeout,
                "priority": priority,
            }
            self._commits.append((role, handler))
            return handler

        return add

    def on_update(
        self, *paths: str, timeout: float = 5.0, priority: int = 0
    ) -> Callable[[Handler], Handler]:
        """May add to a commit: the function gets a :class:`Commit` and returns edits as JSON from the root, or ``None``."""
        return self._phase("update", paths, timeout, priority)

    def on_change(
        self, *paths: str, timeout: float = 5.0, priority: int = 0
    ) -> Callable[[Handler], Handler]:
        """May refuse a commit, by raising :class:`Refused`."""
        return self._phase("change", paths, timeout, priority)

    def on_commit(self, *paths: str) -> Callable[[Handler], Handler]:
        """Is called for each commit that is made, at least once and in order."""
        return self._phase("done", paths, 5.0, 0)

    def on_abort(self, handler: Handler) -> Handler:
        """Is called if a commit that ``on_change`` accepted is not made."""
        self._abort = handler
        return handler

    def on_operation_abort(self, handler: Handler) -> Handler:
        """Is called with the :class:`Call` of an operation that must be undone, since one after it failed."""
        self._operation_abort = handler
        return handler

    def on_upgrade(self, module: str, *, timeout: float = 60.0) -> Callable[[Handler], Handler]:
        """Converts the data of a module when its revision changes.

        The function gets an :class:`Upgrade` and returns the data under the new revision, or ``None`` to leave it.
        """

        def add(handler: Handler) -> Handler:
            self._upgrades.append(({"module": module, "timeout": timeout}, handler))
            return handler

        return add

    def resume_from(self, version: int) -> None:
        """The last version that the program has seen: it then gets what changed since."""
        self._version = version

    def description(self) -> Dict[str, Json]:
        """What the server is told when the program connects."""
        commits = [dict(role) for role, _ in self._commits]
        for role in commits:
            if "done" in role["phases"] and self._version is not None:
                role["since"] = self._version
        return {
            "name": self.name,
            "state": [role for role, _ in self._states],
            "operations": [role for role, _ in self._operations],
            "commits": commits,
            "upgrades": [role for role, _ in self._upgrades],
        }

    def _find(self, message: Dict[str, Json]) -> Optional[Handler]:
        """The function for a message."""
        kind = message["kind"]
        if kind == "abort":
            return self._abort
        if kind == "operation-abort":
            return self._operation_abort
        named = {
            "state": self._states,
            "operation": self._operations,
            "upgrade": self._upgrades,
        }
        roles = named.get(kind, self._commits)
        return roles[message["role"]][1]

    @staticmethod
    def _argument(message: Dict[str, Json]) -> Any:
        if message["kind"] in ("state", "operation", "operation-abort"):
            return Call(
                path=message["path"],
                input=message.get("input", {}),
                user=message.get("user", ""),
                session=message.get("session", 0),
                timeout=message.get("timeout", 0.0),
            )
        if message["kind"] == "upgrade":
            return Upgrade(message["module"], message["from"], message["to"], message["data"])
        return Commit.of(message)

    @staticmethod
    def _answer(message: Dict[str, Json], result: Any) -> Dict[str, Json]:
        members = {"state": "data", "upgrade": "data", "operation": "output", "update": "edits"}
        member = members.get(message["kind"])
        answer: Dict[str, Json] = {"call": message["call"]}
        if member is not None and result is not None:
            answer[member] = result
        return answer

    def _failure(self, message: Dict[str, Json], error: BaseException) -> Dict[str, Json]:
        if isinstance(error, Refused):
            described: Json = error.error
        else:
            log.error("%s failed", message["kind"], exc_info=error)
            described = {"error-tag": "operation-failed", "error-message": f"{self.name}: {error}"}
        return {"call": message["call"], "errors": [described]}


class Provider(Roles):
    """A program that serves state, answers operations and takes part in commits, with threads."""

    def __init__(self, name: str, *, threads: int = 8) -> None:
        super().__init__(name)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        # Commits go through one thread, so that they keep their order.
        self._in_order = ThreadPoolExecutor(1, thread_name_prefix=f"{name} commits")
        self._connection: Optional[str] = None
        self._server: Optional[Server] = None
        self._local = threading.local()
        self._stop = threading.Event()
        self._stream: Optional[http.client.HTTPConnection] = None
        self._ready = threading.Event()

    def run(self, server: str, **options: Any) -> None:
        """Connects, and serves until :meth:`stop`; connects again when the connection is lost.

        ``server`` and the options are those of a server: ``unix:FILE`` or a URL; ``user``, ``password``, ``ca``, ``anchor``.
        """
        pause = 0.2
        while not self._stop.is_set():
            try:
                self._serve(Server(server, **options))
                pause = 0.2
            except ServerError as error:
                if error.status < 500:
                    raise
                log.warning("%s; connecting again", error)
            except (OSError, http.client.HTTPException) as error:
                log.warning("the server cannot be reached: %s", error)
            finally:
                self._ready.clear()
            self._stop.wait(pause)
            pause = min(pause * 2, RETRY_MAX)

    def wait_until_connected(self, timeout: Optional[float] = None) -> bool:
        """Waits until the program is connected."""
        return self._ready.wait(timeout)

    def stop(self) -> None:
        """Ends :meth:`run`, from another thread."""
        self._stop.set()
        stream = self._stream
        if stream is not None and stream.sock is not None:
            try:
                stream.sock.shutdown(2)
            except OSError:
                pass

    @property
    def version(self) -> Optional[int]:
        """The version of the last commit that ``on_commit`` handled: what :meth:`resume_from` takes after a restart."""
        return self._version

    def push(self, path: str, data: Json) -> None:
        """Replaces the state at a path of ``pushed_state``."""
        self._send({"push": path, "data": data})

    def notify(
        self, content: Json, *, parent: str = "", event_time: Optional[str] = None
    ) -> None:
        """Sends a notification: ``{"module:name": {...}}``, below ``parent`` for one inside data."""
        message: Dict[str, Json] = {"notify": content, "parent": parent}
        if event_time is not None:
            message["event-time"] = event_time
        self._send(message)

    def _serve(self, server: Server) -> None:
        self._stream = server.connect()
        try:
            response = server.request(self._stream, "POST", PROVIDERS, self.description())
            self._server = server
            for message in lines(response):
                self._dispatch(message)
        finally:
            self._stream.close()
            self._connection = None

    def _dispatch(self, message: Dict[str, Json]) -> None:
        if "connected" in message:
            self._connection = message["connected"]
            self._ready.set()
            return
        kind = message.get("kind")
        if kind in ("done", "abort"):
            self._in_order.submit(self._observe, message)
        elif kind == "operation-abort":
            self._pool.submit(self._observe, message)
        elif kind is not None:
            self._pool.submit(self._handle, message)

    def _handle(self, message: Dict[str, Json]) -> None:
        try:
            handler = self._find(message)
            result = handler(self._argument(message)) if handler is not None else None
            answer = self._answer(message, result)
        except BaseException as error:  # every failure must be answered
            answer = self._failure(message, error)
        try:
            self._send(answer)
        except (OSError, http.client.HTTPException, ServerError) as error:
            log.warning("an answer was not delivered: %s", error)

    def _observe(self, message: Dict[str, Json]) -> None:
        handler = self._find(message)
        while handler is not None and not self._stop.is_set():
            try:
                handler(self._argument(message))
                break
            except Exception as error:
                if message["kind"] != "done":
                    log.error("%s failed", message["kind"], exc_info=error)
                    return
                log.error("a commit was not handled; trying again", exc_info=error)
                self._stop.wait(RETRY_COMMIT)
        if message["kind"] == "done" and not self._stop.is_set():
            self._version = message["version"]

    def _send(self, message: Dict[str, Json]) -> None:
        server, connection = self._server, self._connection
        if server is None or connection is None:
            raise OSError("the program is not connected")
        body = {"connection": connection, "messages": [message]}
        kept: Optional[http.client.HTTPConnection] = getattr(self._local, "connection", None)
        if kept is not None:
            try:
                server.request(kept, "POST", MESSAGES, body).read()
                return
            except (OSError, http.client.HTTPException):
                # The server may have closed it because it was idle.
                kept.close()
        kept = server.connect()
        self._local.connection = kept
        server.request(kept, "POST", MESSAGES, body).read()


def describe(roles: Roles) -> str:
    """The description of a program, as JSON text."""
    return json.dumps(roles.description(), indent=2)
