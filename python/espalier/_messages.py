"""What programs get, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

Json = Any


class Refused(Exception):
    """Refuses a call: the client gets this error (RFC 8040 section 7.1)."""

    def __init__(
        self,
        message: str,
        tag: str = "operation-failed",
        path: Optional[str] = None,
        app_tag: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.error: Dict[str, str] = {"error-tag": tag, "error-message": message}
        if path is not None:
            self.error["error-path"] = path
        if app_tag is not None:
            self.error["error-app-tag"] = app_tag


@dataclass(frozen=True)
class Call:
    """A call of an RPC or action, or a read of state."""

    path: str
    """The instance: the RPC, the action below its entry, or the state that is read."""
    input: Dict[str, Json] = field(default_factory=dict)
    """The input, with defaults; names have their module, as in ``module:delay``."""
    user: str = ""
    """The user who makes the call; empty if nobody is authenticated."""
    session: int = 0
    """The number of the user's session."""
    timeout: float = 0.0
    """The seconds within which the answer must come."""

    @property
    def parent(self) -> str:
        """The entry or container that an action stands in: what ``Provider.notify`` takes as ``parent``."""
        return self.path.rpartition("/")[0]

    def argument(self, name: str, default: Json = None) -> Json:
        """A value at the top of the input, by its name without the module."""
        for full, value in self.input.items():
            if full.rsplit(":", 1)[-1] == name:
                return value
        return default


@dataclass(frozen=True)
class Upgrade:
    """A module whose revision changes."""

    module: str
    old_revision: str
    new_revision: str
    data: Json
    """The data under the old revision, as JSON from the root."""


@dataclass(frozen=True)
class Change:
    """A node that a commit changes."""

    operation: str
    """``create``, ``delete``, ``replace`` or ``move``."""
    target: str
    """The node, as an instance identifier."""
    value: Json = None
    """The new value of a leaf."""
    old: Json = None
    """Its old value."""
    where: Optional[str] = None
    """For an entry ordered by the user: ``first`` or ``after``."""
    point: Optional[str] = None
    """The entry before it."""


@dataclass(frozen=True)
class Commit:
    """A commit, or what several commits changed together."""

    changes: Optional[List[Change]]
    """The changed nodes; ``None`` if there are too many: then read the datastore."""
    version: Optional[int] = None
    """The version of the datastore, once the commit is made."""
    since: Optional[int] = None
    """The version that the changes begin at."""
    datastore: str = "running"
    author: str = ""
    comment: str = ""

    @staticmethod
    def of(message: Dict[str, Json]) -> "Commit":
        changes: Optional[List[Change]] = None
        if "changes" in message:
            changes = [
                Change(
                    operation=one["operation"],
                    target=one["target"],
                    value=one.get("value"),
                    old=one.get("source-value"),
                    where=one.get("where"),
                    point=one.get("point"),
                )
                for one in message["changes"]
            ]
        return Commit(
            changes=changes,
            version=message.get("version"),
            since=message.get("since"),
            datastore=message.get("datastore", "running"),
            author=message.get("author", ""),
            comment=message.get("comment", ""),
        )
