"""`SyncShard`: the same agent for a plain script without an event loop.

with SyncShard(cwd=".", model="openai:…") as agent:
    print(agent.prompt("add a test for parse()").text)
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.errors import AgentClosed
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.types.turns import TurnResult
from shard_jupyter.types.usage import UsageTotals


class SyncShard(AbstractContextManager["SyncShard"]):
    """Runs a `Shard` on an event loop in a thread of its own.

    Takes the options of `Shard`. Callbacks run on that loop. A keyboard interrupt while a prompt
    runs interrupts the turn, waits for its end, and is raised again.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options of Shard, unchanged
        self._shard = Shard(**options)
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        """Open the agent; raises as `Shard` does."""
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal("asyncio"))
            stack.callback(portal.call, self._shard.aclose)
            portal.call(self._shard.__aenter__)
            self._stack = stack.pop_all()
        self._portal = portal
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._portal = None
        self._stack.close()

    @property
    def session_id(self) -> str:
        return self._shard.session_id

    def prompt(self, text: str, **options: Any) -> TurnResult:  # noqa: ANN401 - as Shard.prompt
        """Run one turn; takes the options of `Shard.prompt` and raises as it."""
        portal = self._open_portal()

        async def run() -> TurnResult:
            return await self._shard.prompt(text, **options)

        future: Future[TurnResult] = portal.start_task_soon(run)
        try:
            return future.result()
        except KeyboardInterrupt:
            portal.call(self._shard.interrupt)
            raise

    def interrupt(self) -> bool:
        """Stop the running turn, from another thread; False when none runs."""
        return self._open_portal().call(self._shard.interrupt)

    def set_mode(self, name: str) -> None:
        self._open_portal().call(self._shard.set_mode, name)

    def switch_model(self, model: str) -> None:
        """Answer with another model from the next prompt on; raises as `Shard.switch_model`."""
        self._open_portal().call(self._shard.switch_model, model)

    def usage(self) -> UsageTotals:
        return self._open_portal().call(self._shard.usage)

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        """Call `subscriber` with every event, in the loop's thread."""
        return self._shard.subscribe(subscriber)

    def _open_portal(self) -> BlockingPortal:
        if self._portal is None:
            raise AgentClosed("The agent is not open.", next_step="Use `with SyncShard(…)`.")
        return self._portal
