"""Providers for the Espalier datastore: programs that serve state, answer operations and take part in commits.

A program describes what it provides with the decorators of :class:`Provider` (or :class:`AsyncProvider` for asyncio), and
then runs it. ``docs/guide/providers.md`` has worked examples and the protocol.
"""

from ._asyncio import AsyncProvider
from ._messages import Call, Change, Commit, Refused, Upgrade
from ._provider import Provider

__all__ = ["AsyncProvider", "Call", "Change", "Commit", "Provider", "Refused", "Upgrade"]
