"""Providers that use asyncio: their functions are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Dict, Optional

from ._provider import Handler, Provider

Json = Any


class AsyncProvider(Provider):
    """As :class:`espalier.Provider`; functions may be coroutines, which run in the caller's event loop."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()

    async def run_async(self, server: str, **options: Any) -> None:
        """Connects, and serves until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(self.run, server, **options)
        finally:
            self.stop()

    async def push_async(self, path: str, data: Json) -> None:
        """Replaces the state at a path of ``pushed_state``."""
        await asyncio.to_thread(self.push, path, data)

    def _find(self, message: Dict[str, Json]) -> Optional[Handler]:
        handler = super()._find(message)
        return None if handler is None else self._blocking(handler)

    def _blocking(self, handler: Handler) -> Handler:
        """A function for threads that runs a coroutine in the event loop."""
        if not inspect.iscoroutinefunction(handler):
            return handler

        def call(argument: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(handler(argument), self._loop).result()

        return call
