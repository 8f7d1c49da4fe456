"""Asks a small model: one constrained reply, checked, as an answer of the harness.

What it promises, whatever the model writes: one call at most; no call twice in a turn; and after a
result the turn ends with what the tool showed, even where the model has nothing usable to say.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from shard_jupyter.capabilities.local_models.asking.examples_prompt import Prompt, build_prompt
from shard_jupyter.capabilities.local_models.asking.grammar import build_grammar
from shard_jupyter.capabilities.local_models.asking.prompt_count import find_cut, least_tokens
from shard_jupyter.capabilities.local_models.asking.shown_output import (
    NOTHING_SAID,
    REPEATED,
    end_without_model,
    show_step,
)
from shard_jupyter.capabilities.local_models.asking.situation import Situation, read_situation
from shard_jupyter.capabilities.local_models.asking.tool_form import choose_tools
from shard_jupyter.capabilities.local_models.replies.answer_writer import AnswerWriter
from shard_jupyter.capabilities.local_models.replies.call_check import CheckedCall
from shard_jupyter.capabilities.local_models.replies.loops import (
    MOST_PERIOD,
    SENTENCE_PERIOD,
    is_looping,
)
from shard_jupyter.capabilities.local_models.replies.reply_reader import (
    ANSWER,
    ReplyReader,
    read_reply,
)
from shard_jupyter.capabilities.local_models.wire.completion import (
    Complete,
    CompletionPart,
    CompletionRequest,
)
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    ProviderEvent,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    StopReason,
    TextDelta,
)
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import ContentBlock, TextBlock, ToolCallBlock
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.usage import TokenUsage

ANSWER_TOKENS = 128
CALL_TOKENS = 512
"""More than an answer may have: a call may hold a file."""
SECOND_TEMPERATURE = 0.4
"""For a prompt whose first reply was unusable: at 0 the second would be the same."""
GAP = "\n\n"
"""Between what a tool showed and the words that follow: they are paragraphs of their own."""
LEAST_CONTEXT = 1_024
"""What a prompt is made for at least, when all that were longer did not fit."""
UNUSABLE_STEP = "Ask for less at once, in plain words, or choose a larger model."
PROMPT_TOO_LONG = "The prompt is long for this model: it gets the beginning only."


class TinyAsker:
    """Holds what must be known from one request to the next. Requests may overlap."""

    def __init__(self, route: str, context_tokens: int) -> None:
        self._route = route
        self._context_tokens = context_tokens
        self._spoilt = ""
        self._told_cut = False

    async def ask(
        self, request: ProviderRequest, complete: Complete
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once. Ends with `Answered` or `Failed`."""
        situation = read_situation(request.messages)
        last = situation.last
        if last is not None and (told := end_without_model(last)):
            yield TextDelta(text=told)
            yield _answered(TextBlock(text=told), TokenUsage(input_tokens=0, output_tokens=0))
            return
        tools = choose_tools(request.tools) if situation.may_call else ()
        reply = _Reply(situation, tools)
        prompt: Prompt | None = None
        async with aclosing(self._complete(situation, request, complete)) as parts:
            async for part in parts:
                if isinstance(part, Prompt):
                    if part.is_cut and not (prompt and prompt.is_cut):
                        yield ProviderNotice(code="prompt_cut", message=PROMPT_TOO_LONG)
                    prompt = part
                elif isinstance(part, ProviderFailure):
                    yield Failed(failure=part)
                    return
                else:
                    for event in reply.take(part):
                        yield event
                if reply.is_over:
                    break
        assert prompt is not None
        if notice := self._find_cut(prompt, reply):
            yield notice
        for end in reply.finish():
            yield end if not isinstance(end, _Unusable) else self._refuse(prompt, end)

    async def _complete(
        self, situation: Situation, request: ProviderRequest, complete: Complete
    ) -> AsyncGenerator[Prompt | CompletionPart | ProviderFailure, None]:
        """Yield the prompt and what comes of it; where it is too long after all, a shorter one."""
        offered = choose_tools(request.tools)
        tools = offered if situation.may_call else ()
        prompt: Prompt | None = build_prompt(situation, offered, self._context_tokens)
        context = self._context_tokens
        while prompt is not None:
            yield prompt
            shorter, context = _shorten(prompt, situation, offered, context)
            wanted = self._make_request(prompt, tools, request.max_output_tokens)
            prompt = None
            async with aclosing(complete(wanted)) as parts:
                async for part in parts:
                    if isinstance(part, ProviderFailure) and part.kind == "context_full":
                        prompt = shorter
                    if isinstance(part, CompletionPart) and part.text:
                        shorter = None  # what was written cannot be taken back
                    if prompt is None:
                        yield part

    def _make_request(
        self, prompt: Prompt, tools: tuple[ToolSpec, ...], limit: int | None
    ) -> CompletionRequest:
        again = prompt.text == self._spoilt
        most = CALL_TOKENS if tools else ANSWER_TOKENS
        return CompletionRequest(
            prompt.text,
            build_grammar(tools),
            max_tokens=min(most, limit or most),
            temperature=SECOND_TEMPERATURE if again else 0.0,
            seed=2 if again else 1,
        )

    def _refuse(self, prompt: Prompt, unusable: _Unusable) -> Failed:
        """Let it be asked once more, and no oftener: the turn must come to an end."""
        again = prompt.text == self._spoilt
        self._spoilt = "" if again else prompt.text
        message = f"The model wrote no usable reply: {unusable.why}."
        return Failed(
            failure=ProviderFailure(
                kind="cut",
                message=message,
                retryable=not again,
                retry_after_seconds=None if again else 0.0,
                next_step=UNUSABLE_STEP,
            )
        )

    def _find_cut(self, prompt: Prompt, reply: _Reply) -> ProviderNotice | None:
        told = find_cut(least_tokens(prompt.text), reply.tokens.input_tokens)
        if not told or self._told_cut:
            return None
        self._told_cut = True
        return ProviderNotice(code="prompt_cut", message=told)


def _shorten(
    prompt: Prompt, situation: Situation, tools: tuple[ToolSpec, ...], context: int
) -> tuple[Prompt | None, int]:
    """Return a prompt of fewer characters for the same, None when there is none."""
    while context > LEAST_CONTEXT:
        context = max(LEAST_CONTEXT, context * 3 // 4)
        shorter = build_prompt(situation, tools, context)
        if len(shorter.text) < len(prompt.text):
            return shorter, context
    return None, context


@dataclass(frozen=True)
class _Unusable:
    why: str


@dataclass
class _Reply:
    """One reply while it is written. `is_over`: no more of it is wanted."""

    situation: Situation
    tools: tuple[ToolSpec, ...]
    is_over: bool = False
    tokens: TokenUsage = field(default_factory=TokenUsage)

    def __post_init__(self) -> None:
        last = self.situation.last
        self._reader = ReplyReader()
        self._call_id = new_id("call")
        self._lead = show_step(last) if last is not None else ""
        self._answer = AnswerWriter(one_sentence=last is not None)
        self._end: CompletionPart | None = None
        self._is_looping = False
        self._pieces = 0

    def take(self, part: CompletionPart) -> Iterator[ProviderEvent]:
        self._count(part)
        new = self._reader.feed(part.text)
        self._pieces += bool(part.text)
        if part.is_last:
            self._end = part
        longest = SENTENCE_PERIOD if self._reader.tool == ANSWER else MOST_PERIOD
        self._is_looping = self._is_looping or is_looping(self._reader.written, longest=longest)
        if new.text:
            yield from self._show(self._answer.add(new.text))
            self.is_over = self._answer.is_full or self._pieces >= ANSWER_TOKENS
        elif new.arguments and self.situation.last is None:
            # After a result the call may be the same again; then it is none.
            yield self._arguments(new.arguments)
        self.is_over = self.is_over or self._is_looping or part.is_last

    def _arguments(self, text: str) -> ArgumentsDelta:
        return ArgumentsDelta(call_id=self._call_id, tool=self._reader.tool or "", text=text)

    def _show(self, text: str) -> Iterator[ProviderEvent]:
        """Show words of the model, behind what the tool showed."""
        if text and self._lead and self._answer.text == text:
            yield TextDelta(text=f"{self._lead}{GAP}")
        if text:
            yield TextDelta(text=text)

    def _count(self, part: CompletionPart) -> None:
        old = self.tokens
        self.tokens = TokenUsage(
            input_tokens=_newer(part.prompt_tokens, old.input_tokens),
            output_tokens=_newer(part.output_tokens, old.output_tokens),
            cache_read_tokens=_newer(part.cached_tokens, old.cache_read_tokens),
        )

    def finish(self) -> Iterator[ProviderEvent | _Unusable]:
        if self._reader.tool == ANSWER:
            yield from self._finish_answer()
            return
        call = self._read_call()
        if isinstance(call, CheckedCall) and not self.situation.has_done(call.name, call.arguments):
            if self.situation.last is not None:
                yield self._arguments(json.dumps(call.arguments, ensure_ascii=False))
            block = ToolCallBlock(call_id=self._call_id, name=call.name, arguments=call.arguments)
            yield _answered(block, self.tokens, "tool_calls")
        elif self.situation.last is None:
            yield _Unusable(call if isinstance(call, str) else "it was made before")
        else:
            yield from self._say(REPEATED if isinstance(call, CheckedCall) else "")

    def _read_call(self) -> CheckedCall | str:
        if self._is_looping:
            return "it wrote the same again and again"
        if self._end is not None and self._end.is_truncated:
            return "it reached the end of its context"
        if self._end is None or self._end.is_limit:
            return "it came to no end"
        return read_reply(self._reader.written, self.tools)

    def _finish_answer(self) -> Iterator[ProviderEvent | _Unusable]:
        is_whole = self._end is not None and not self._end.is_limit and not self._is_looping
        yield from self._show(self._answer.finish(is_whole=is_whole))
        if not self._answer.text:
            why = "it wrote the same again and again" if self._is_looping else "it is empty"
            yield from self._say("") if self.situation.last else iter([_Unusable(why)])
            return
        is_truncated = self._end is not None and self._end.is_truncated
        text = f"{self._lead}{GAP}{self._answer.text}" if self._lead else self._answer.text
        yield _answered(TextBlock(text=text), self.tokens, "length" if is_truncated else "end")

    def _say(self, sentence: str) -> Iterator[ProviderEvent]:
        """End the turn with what the tool showed and with words of ours."""
        last = self.situation.last
        assert last is not None
        if not self._lead and not sentence:
            sentence = NOTHING_SAID.format(tool=last.name)
        text = GAP.join(part for part in (self._lead, sentence) if part)
        yield TextDelta(text=text)
        yield _answered(TextBlock(text=text), self.tokens)


def _newer(new: int | None, old: int | None) -> int | None:
    return old if new is None else new


def _answered(block: ContentBlock, tokens: TokenUsage, stop: StopReason = "end") -> Answered:
    message = Message(role="assistant", content=(block,))
    return Answered(message=message, stop_reason=stop, tokens=tokens)
