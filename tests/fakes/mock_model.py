"""Loopback mock model server: a zero-think-time yardstick for coding-agent harnesses.

Only the standard library.  Speaks, streaming and not:
  POST /v1/chat/completions                       OpenAI chat completions
  POST /v1/responses                              OpenAI Responses (HTTP SSE)
  POST /v1/messages, /v1/messages/count_tokens    Anthropic messages
  POST /v1beta/models/<m>:streamGenerateContent   Gemini (also :generateContent, :countTokens)
  GET  /v1/models, /v1beta/models                 model lists
  GET  /__log, POST /__reset                      what was seen, as JSON
(The same paths without the /v1 prefix work too.)

The script is in the prompt, so the server keeps no state and side calls (titles,
summaries) can never shift it.  Directives are read from the newest real user message:
  @@shell CMD      call the shell tool that the request offers (bash/Bash/exec_command/...)
  @@read PATH      call the file-reading tool that the request offers
  @@call NAME {json}   call exactly this tool with exactly these arguments
  @@times N        repeat the call in N model rounds (default 1)
  @@par N          N calls in one assistant message (default 1)
  @@text N         the closing text has N characters (default 40)
  @@say A || B     the closing text is A; that of the next message after the prompt is B
  @@chunk N        characters in one text delta (default 8)
  @@               ends the directive before it (some clients put quotes around the prompt)
  @@delay MS       pause between deltas (default 0)
  @@quirk NAME     one wire quirk, see QUIRKS and MORE_QUIRKS; may be given several times
  @@status N       every try answers N: 401 (echoes the key), 400 (context too long), 404, ...
  @@tries N        quirks of the first try happen in the first N tries (default 1)
  @@wait V         with status429: V is the Retry-After in seconds, `date` for an HTTP date 90 s
                   after the server's clock, `ms` for retry-after-ms: 250
A message without a directive gets a short text.  So `hi @@shell true @@times 3` is:
text + call, text + call, text + call, closing text (4 model rounds).

Each request is written to --log as one JSON line when its answer is complete: monotonic
times t_recv/t_first/t_done (seconds), api, round, tool names, sizes, what was answered.
"""

# ruff: noqa: C901, PLR0912 - one stand-alone program, read from top to bottom
from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from email.utils import formatdate
from pathlib import Path

QUIRKS = {
    "split_utf8": "the SSE bytes arrive in 7-byte writes, so multi-byte characters are cut",
    "crlf": "SSE lines end with CR LF",
    "comments": "SSE comment lines and 'event:'-less keep-alive lines between events",
    "nospace": "'data:' is not followed by a space",
    "no_done": "no closing [DONE] / message_stop; the connection just ends",
    "empty_choices": "chunks with choices:[] before, between and after (chat)",
    "usage_last": "usage comes alone in a last chunk with choices:[] (chat)",
    "no_tool_id": "tool-call deltas have no id (chat)",
    "no_tool_index": "tool-call deltas have no index (chat)",
    "args_object": "tool arguments are a JSON object, not a string (chat)",
    "args_once": "name, id and all arguments come in one delta",
    "finish_stop": "finish reason says 'stop' although tools are called",
    "finish_early": "the finish reason is sent before the last tool delta (chat)",
    "null_content": "content:null in each tool delta (chat)",
    "reasoning": "reasoning_content / thinking / reasoning deltas before the text",
    "u2028": "text and arguments hold U+2028 and U+2029",
    "status429": "the first try answers 429 with Retry-After: 1",
    "status529": "the first try answers 529 overloaded_error (503 for OpenAI)",
    "error_mid": "the first try sends an error event after two deltas",
    "drop_mid": "the first try closes the connection after two deltas",
    "html_error": "the first try answers 502 with an HTML page",
    "bad_args": "the tool arguments are cut-off JSON (first round only)",
    "unknown_tool": "the first round calls a tool that does not exist",
    "same_id": "every turn reuses the same tool-call ids (call_0_0, ...), as some local servers do",
}
MORE_QUIRKS = {
    "split_bytes": "the SSE bytes arrive in 1-byte writes",
    "const_id": "every call of every message has one and the same id",
    "wrong_index": "the second call's head says index 0, its tail says 1 (chat)",
    "half_pair": "text and arguments hold one half of a surrogate pair",
    "split_pair": "a surrogate pair is cut in two, one half a delta",
    "length_cut": "the length limit ends the answer inside the arguments (first round only)",
    "length_no_args": "the length limit ends the answer before any argument (first round only)",
    "args_list": "the tool arguments are a JSON list (first round only)",
    "args_double": "the tool arguments are an object encoded twice",
    "end_early": "the first try ends in good order after two deltas",
    "json_200": "the first try answers 200 with a JSON error in place of a stream",
    "text_type": "the stream is called text/plain",
    "hang": "after two deltas nothing more comes, until the client goes",
    "hang_start": "no answer at all comes, until the client goes",
}
TEXT_QUIRKS = {"half_pair": "half \ud83d end ", "split_pair": "pair \ud83d\ude42 end "}
SHELL = [
    "bash",
    "Bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "run_shell_command",
    "run_command",
    "execute_command",
    "run_commands",
    "developer__shell",
    "terminal",
    "run_bash",
]
READ = [
    "read",
    "Read",
    "read_file",
    "ReadFile",
    "view",
    "View",
    "read_files",
    "developer__text_editor",
    "fs_read",
]
BASE_TEXT = "Done. Grüße, 世界 🙂 — the mock model has finished. "
LOG: list[dict] = []
TRIES: dict[str, int] = {}
BODIES: list[dict] = []


# ---------------------------------------------------------------- the script


def plain(content) -> str:
    if isinstance(content, str):
        return content
    out = []
    for part in content or []:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, dict):
            t = part.get("text")
            if isinstance(t, str) and part.get("type") not in ("tool_result",):
                out.append(t)
    return "\n".join(out)


def conversation(api: str, body: dict) -> list[tuple[str, str]]:
    """[(role, text)], role one of user/assistant/tool, in order."""
    out: list[tuple[str, str]] = []
    if api == "responses":
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        for it in items or []:
            typ = it.get("type") or "message"
            if typ.endswith("_output"):
                out.append(("tool", json.dumps(it.get("output"))))
            elif typ.endswith("_call"):
                out.append(("assistant", ""))
            elif typ == "message":
                out.append((it.get("role", "user"), plain(it.get("content"))))
    elif api == "gemini":
        for it in body.get("contents") or []:
            parts = it.get("parts") or []
            if any("functionResponse" in p for p in parts):
                out.append(("tool", ""))
            else:
                out.append(("assistant" if it.get("role") == "model" else "user", plain(parts)))
    else:
        for it in body.get("messages") or []:
            role, c = it.get("role"), it.get("content")
            if role == "tool":
                out.append(("tool", plain(c)))
            elif isinstance(c, list) and any(
                isinstance(p, dict) and p.get("type") == "tool_result" for p in c
            ):
                out.append(("tool", ""))
                if plain(c).strip() and "@@" in plain(c):
                    out.append(("user", plain(c)))
            else:
                # Two prompts after each other come as one message of two parts.
                out += [(role, plain([part])) for part in (c if isinstance(c, list) else [c])]
    return out


def offered(api: str, body: dict) -> dict[str, dict]:
    out = {}
    for t in body.get("tools") or []:
        if api == "gemini":
            for f in t.get("functionDeclarations") or []:
                out[f.get("name", "?")] = f.get("parametersJsonSchema") or f.get("parameters") or {}
        elif "function" in t and isinstance(t["function"], dict):
            out[t["function"].get("name", "?")] = t["function"].get("parameters") or {}
        elif t.get("type") == "namespace":
            for f in t.get("tools") or []:
                out[f.get("name", "?")] = f.get("parameters") or {}
        else:
            out[t.get("name") or t.get("type", "?")] = (
                t.get("parameters") or t.get("input_schema") or {}
            )
    return out


def shell_args(schema: dict, cmd: str) -> dict:
    props = schema.get("properties") or {}
    args: dict = {}
    for key in ("command", "cmd", "commands", "script"):
        if key in props:
            p = props[key]
            types = [p.get("type")] + [
                q.get("type") for q in p.get("anyOf", []) + p.get("oneOf", [])
            ]
            if key == "commands" and "array" in types:
                args[key] = [cmd]
            else:
                args[key] = (
                    ["bash", "-c", cmd] if "array" in types and "string" not in types else cmd
                )
            break
    else:
        args["command"] = cmd
    return fill(schema, args, "run it")


def read_args(schema: dict, path: str) -> dict:
    props = schema.get("properties") or {}
    for key in ("path", "file_path", "filePath", "absolute_path", "file"):
        if key in props:
            return fill(schema, {key: path}, "read it")
    if "files" in props:
        return {"files": [{"path": path}]}
    return fill(schema, {"path": path}, "read it")


def fill(schema: dict, args: dict, word: str) -> dict:
    for req in schema.get("required") or []:
        if req not in args:
            typ = ((schema.get("properties") or {}).get(req) or {}).get("type")
            args[req] = {
                "boolean": False,
                "integer": 0,
                "number": 0,
                "array": [],
                "object": {},
            }.get(typ, word)
    return args


class Plan:
    def __init__(self, api: str, body: dict):
        conv = conversation(api, body)
        self.prompt, self.rounds_done, seen = "", 0, []
        for role, text in reversed(conv):
            if role == "user" and "@@" in text:
                self.prompt = text
                break
            seen.append(role)
        # one model round = one run of tool results
        prev = None
        for role in seen:
            if role == "tool" and prev != "tool":
                self.rounds_done += 1
            prev = role
        p = self.prompt
        num = lambda k, d: int(m.group(1)) if (m := re.search(rf"@@{k}\s+(\d+)", p)) else d
        self.times, self.par = num("times", 1), num("par", 1)
        self.n_text, self.chunk, self.delay = (
            num("text", 40),
            max(1, num("chunk", 8)),
            num("delay", 0) / 1000,
        )
        self.quirks = set(re.findall(r"@@quirk\s+(\w+)", p))
        self.status, self.bad_tries = num("status", 0), num("tries", 1)
        self.wait = m.group(1) if (m := re.search(r"@@wait\s+(\w+)", p)) else "1"
        self.tools = offered(api, body)
        self.call = None
        end = r"(?=\s*@@|\s*$|\n)"
        if p and self.rounds_done < self.times:
            if m := re.search(r"@@call\s+(\S+)\s+(\{.*?\})" + end, p):
                self.call = (m.group(1), json.loads(m.group(2)))
            elif m := re.search(r"@@shell\s+(.+?)" + end, p):
                name = next((s for s in SHELL if s in self.tools), None)
                if name:
                    self.call = (name, shell_args(self.tools[name], m.group(1)))
            elif m := re.search(r"@@read\s+(\S+)", p):
                name = next((s for s in READ if s in self.tools), None)
                if name:
                    self.call = (name, read_args(self.tools[name], m.group(1)))
        if self.call and "u2028" in self.quirks:
            self.call = (
                self.call[0],
                {
                    k: v + "\u2028# \u2029" if isinstance(v, str) and k in ("command", "cmd") else v
                    for k, v in self.call[1].items()
                },
            )
        if self.call and "unknown_tool" in self.quirks and self.rounds_done == 0:
            self.call = ("no_such_tool", {"x": 1})
        n = self.n_text if not self.call else 24
        text = (BASE_TEXT * (n // len(BASE_TEXT) + 1))[:n] if n else ""
        if "u2028" in self.quirks:
            text = "line\u2028sep\u2029par " + text
        self.text = ("Calling a tool. " if self.call else "") + text if n else text
        if not self.call and (m := re.search(r"@@say\s+(.+?)" + end, p)):
            answers = m.group(1).split(" || ")
            self.text = answers[min(seen.count("assistant") - self.rounds_done, len(answers) - 1)]
        for quirk, extra in TEXT_QUIRKS.items():
            if quirk in self.quirks:
                self.text = extra + self.text
        if self.call and "half_pair" in self.quirks:
            self.call = (self.call[0], {k: f"{v}\ud83d" for k, v in self.call[1].items()})
        self.thinking = "Let me think about this. " if "reasoning" in self.quirks else ""

    def deltas(self):
        size = 1 if "split_pair" in self.quirks else self.chunk
        return [self.text[i : i + size] for i in range(0, len(self.text), size)]

    serial = 0

    def calls(self):
        n = 0 if "same_id" in self.quirks else self.serial
        ids = (
            "call_const" if "const_id" in self.quirks else f"call_{n}_{i}" for i in range(self.par)
        )
        return [(cid, *self.call) for cid in ids] if self.call else []

    @property
    def cut(self):
        return bool(
            self.call and self.rounds_done == 0 and self.quirks & {"length_cut", "length_no_args"}
        )

    def arg_parts(self, args: dict) -> list[str]:
        s = json.dumps(args, ensure_ascii="half_pair" in self.quirks)
        if self.quirks & {"bad_args", "length_cut"} and self.rounds_done == 0:
            s = s[:-3]
        if "length_no_args" in self.quirks and self.rounds_done == 0:
            return []
        if "args_list" in self.quirks and self.rounds_done == 0:
            s = json.dumps([args])
        if "args_double" in self.quirks:
            s = json.dumps(s)
        if "args_once" in self.quirks:
            return [s]
        return [s[i : i + 12] for i in range(0, len(s), 12)]


# ---------------------------------------------------------------- the four wire formats
# each yields (event name or None, dict or str)


def chat_events(plan: Plan, body: dict):
    q = plan.quirks
    base = {
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body.get("model", "mock"),
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

    def ch(delta, fin=None):
        return None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": fin}]}

    empty = (None, {**base, "choices": []})
    if "empty_choices" in q:
        yield None, {**base, "choices": [], "prompt_filter_results": []}
    yield ch({"role": "assistant", "content": ""})
    if plan.thinking:
        yield ch({"reasoning_content": plan.thinking})
    for d in plan.deltas():
        yield ch({"content": d})
        if "empty_choices" in q:
            yield empty
    calls = plan.calls()
    for i, (cid, name, args) in enumerate(calls):
        head = {
            "index": i,
            "id": cid,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        if "no_tool_id" in q:
            head.pop("id")
        if "no_tool_index" in q:
            head.pop("index")
        if "wrong_index" in q:
            head["index"] = 0
        extra = {"content": None} if "null_content" in q else {}
        if "args_object" in q:
            head["function"]["arguments"] = args
            yield ch({**extra, "tool_calls": [head]})
            continue
        parts = plan.arg_parts(args)
        if "args_once" in q:
            head["function"]["arguments"] = parts[0]
            yield ch({**extra, "tool_calls": [head]})
            continue
        yield ch({**extra, "tool_calls": [head]})
        for j, a in enumerate(parts):
            if "finish_early" in q and j == len(parts) - 1 and i == len(calls) - 1:
                yield ch({}, "tool_calls")
            t = {"index": i, "function": {"arguments": a}}
            if "no_tool_index" in q:
                t.pop("index")
            yield ch({**extra, "tool_calls": [t]})
    # Arguments in one piece have no last delta before which the reason could come.
    if not (calls and "finish_early" in q and not q & {"args_object", "args_once"}):
        stop = "length" if plan.cut else "tool_calls" if calls else "stop"
        yield ch({}, "stop" if "finish_stop" in q else stop)
    if "usage_last" in q or (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**base, "choices": [], "usage": usage}
    if "no_done" not in q:
        yield None, "[DONE]"


def responses_events(plan: Plan, body: dict):
    n = 0
    resp = {
        "id": f"resp_mock_{time.monotonic_ns()}",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": body.get("model", "mock"),
        "output": [],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
    }

    def ev(typ, **kw):
        nonlocal n
        n += 1
        return typ, {"type": typ, "sequence_number": n, **kw}

    out: list[dict] = []
    yield ev("response.created", response=resp)
    yield ev("response.in_progress", response=resp)
    if plan.thinking:
        it = {"type": "reasoning", "id": f"rs_mock_{plan.serial}", "summary": []}
        yield ev("response.output_item.added", output_index=0, item=it)
        yield ev(
            "response.reasoning_summary_part.added",
            item_id=it["id"],
            output_index=0,
            summary_index=0,
            part={"type": "summary_text", "text": ""},
        )
        yield ev(
            "response.reasoning_summary_text.delta",
            item_id=it["id"],
            output_index=0,
            summary_index=0,
            delta=plan.thinking,
        )
        it = {**it, "summary": [{"type": "summary_text", "text": plan.thinking}]}
        yield ev("response.output_item.done", output_index=0, item=it)
        out.append(it)
    if plan.text:
        k, mid = len(out), f"msg_mock_{plan.serial}"
        yield ev(
            "response.output_item.added",
            output_index=k,
            item={
                "type": "message",
                "id": mid,
                "role": "assistant",
                "status": "in_progress",
                "content": [],
            },
        )
        yield ev(
            "response.content_part.added",
            item_id=mid,
            output_index=k,
            content_index=0,
            part={"type": "output_text", "text": "", "annotations": []},
        )
        for d in plan.deltas():
            yield ev(
                "response.output_text.delta", item_id=mid, output_index=k, content_index=0, delta=d
            )
        yield ev(
            "response.output_text.done",
            item_id=mid,
            output_index=k,
            content_index=0,
            text=plan.text,
        )
        part = {"type": "output_text", "text": plan.text, "annotations": []}
        yield ev(
            "response.content_part.done", item_id=mid, output_index=k, content_index=0, part=part
        )
        it = {
            "type": "message",
            "id": mid,
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        yield ev("response.output_item.done", output_index=k, item=it)
        out.append(it)
    for cid, name, args in plan.calls():
        k, s = len(out), "".join(plan.arg_parts(args))
        it = {
            "type": "function_call",
            "id": f"fc_{cid}",
            "call_id": cid,
            "name": name,
            "arguments": "",
            "status": "in_progress",
        }
        yield ev("response.output_item.added", output_index=k, item=it)
        for a in plan.arg_parts(args):
            yield ev(
                "response.function_call_arguments.delta", item_id=it["id"], output_index=k, delta=a
            )
        yield ev(
            "response.function_call_arguments.done", item_id=it["id"], output_index=k, arguments=s
        )
        it = {**it, "arguments": s, "status": "completed"}
        yield ev("response.output_item.done", output_index=k, item=it)
        out.append(it)
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    }
    if plan.cut:
        why = {"reason": "max_output_tokens"}
        resp = {**resp, "status": "incomplete", "incomplete_details": why, "output": out}
        yield ev("response.incomplete", response={**resp, "usage": usage})
    elif "no_done" not in plan.quirks:
        yield ev(
            "response.completed",
            response={**resp, "status": "completed", "output": out, "usage": usage},
        )


def anthropic_events(plan: Plan, body: dict):
    usage = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 1,
    }
    yield (
        "message_start",
        {
            "type": "message_start",
            "message": {
                "id": f"msg_mock_{time.monotonic_ns()}",
                "type": "message",
                "role": "assistant",
                "model": body.get("model", "mock"),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage,
            },
        },
    )
    k = 0

    def block(head, deltas):
        nonlocal k
        yield (
            "content_block_start",
            {"type": "content_block_start", "index": k, "content_block": head},
        )
        for d in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": k, "delta": d}
        yield "content_block_stop", {"type": "content_block_stop", "index": k}
        k += 1

    yield "ping", {"type": "ping"}
    if plan.thinking:
        yield from block(
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": plan.thinking},
                {"type": "signature_delta", "signature": "c2ln"},
            ],
        )
    if plan.text:
        yield from block(
            {"type": "text", "text": ""}, [{"type": "text_delta", "text": d} for d in plan.deltas()]
        )
    calls = plan.calls()
    for cid, name, args in calls:
        yield from block(
            {
                "type": "tool_use",
                "id": "toolu_" + cid,
                "name": name,
                "input": args if "args_object" in plan.quirks else {},
            },
            []
            if "args_object" in plan.quirks
            else [{"type": "input_json_delta", "partial_json": a} for a in plan.arg_parts(args)],
        )
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": "max_tokens"
                if plan.cut
                else "tool_use"
                if calls and "finish_stop" not in plan.quirks
                else "end_turn",
                "stop_sequence": None,
            },
            "usage": {"output_tokens": 20},
        },
    )
    if "no_done" not in plan.quirks:
        yield "message_stop", {"type": "message_stop"}


def gemini_events(plan: Plan, body: dict):
    def ch(parts, fin=None):
        c = {"content": {"role": "model", "parts": parts}, "index": 0}
        if fin:
            c["finishReason"] = fin
        return None, {
            "candidates": [c],
            "usageMetadata": {
                "promptTokenCount": 100,
                "candidatesTokenCount": 20,
                "totalTokenCount": 120,
            },
            "modelVersion": "mock",
        }

    if plan.thinking:
        yield ch([{"text": plan.thinking, "thought": True}])
    for d in plan.deltas():
        yield ch([{"text": d}])
    for cid, name, args in plan.calls():
        yield ch([{"functionCall": {"id": cid, "name": name, "args": args}}])
    yield ch([{"text": ""}], "STOP")


EVENTS = {
    "chat": chat_events,
    "responses": responses_events,
    "anthropic": anthropic_events,
    "gemini": gemini_events,
}


def whole(api: str, plan: Plan, body: dict) -> dict:
    """The answer when the request does not stream."""
    if api == "responses":
        return [d for _, d in responses_events(plan, body)][-1]["response"]
    if api == "anthropic":
        content = ([{"type": "text", "text": plan.text}] if plan.text else []) + [
            {"type": "tool_use", "id": "toolu_" + c, "name": n, "input": a}
            for c, n, a in plan.calls()
        ]
        return {
            "id": "msg_mock",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "mock"),
            "content": content,
            "stop_reason": "tool_use" if plan.call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }
    if api == "gemini":
        parts = [{"text": plan.text}] + [
            {"functionCall": {"name": n, "args": a}} for _, n, a in plan.calls()
        ]
        return {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": 100,
                "candidatesTokenCount": 20,
                "totalTokenCount": 120,
            },
        }
    msg: dict = {"role": "assistant", "content": plan.text}
    if plan.call:
        msg["tool_calls"] = [
            {"id": c, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for c, n, a in plan.calls()
        ]
    return {
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model", "mock"),
        "choices": [
            {"index": 0, "message": msg, "finish_reason": "tool_calls" if plan.call else "stop"}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def error_body(api: str, typ: str) -> dict:
    if api == "anthropic":
        return {"type": "error", "error": {"type": typ, "message": "mock: " + typ}}
    return {"error": {"message": "mock: " + typ, "type": typ, "code": typ}}


# ---------------------------------------------------------------- HTTP


def sse(ev, data, q) -> bytes:
    nl = "\r\n" if "crlf" in q else "\n"
    sp = "" if "nospace" in q else " "
    s = (
        data
        if isinstance(data, str)
        else json.dumps(data, ensure_ascii=bool(q & set(TEXT_QUIRKS)), separators=(",", ":"))
    )
    out = (f"event:{sp}{ev}{nl}" if ev else "") + f"data:{sp}{s}{nl}{nl}"
    if "comments" in q:
        out = f": keep-alive{nl}{nl}" + out
    return out.encode()


class Server:
    def __init__(self, log_path: str | None, dump: str | None):
        self.log = Path(log_path).open("a", buffering=1) if log_path else None  # noqa: SIM115
        self.dump, self.n, self.connections = dump, 0, 0
        self.dropped, self.hung = asyncio.Event(), asyncio.Event()

    async def client(self, r: asyncio.StreamReader, w: asyncio.StreamWriter):
        self.connections += 1
        try:
            while await self.one(r, w):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            w.close()

    async def one(self, r, w) -> bool:
        head = await r.readuntil(b"\r\n\r\n")
        t_recv = time.monotonic()
        first, *rest = head.decode("latin1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        hdr = {k.lower(): v.strip() for k, v in (x.split(":", 1) for x in rest if ":" in x)}
        if hdr.get("expect", "").lower() == "100-continue":
            w.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in hdr.get("transfer-encoding", ""):
            raw = b""
            while size := int((await r.readuntil(b"\r\n")).split(b";")[0], 16):
                raw += await r.readexactly(size)
                await r.readexactly(2)
            await r.readuntil(b"\r\n")
        else:
            raw = await r.readexactly(int(hdr.get("content-length") or 0))
        if hdr.get("content-encoding") == "gzip":
            import gzip

            raw = gzip.decompress(raw)
        elif hdr.get("content-encoding") == "zstd":
            return await self.plain(w, 415, {"error": {"message": "zstd not spoken"}})
        path = target.split("?")[0]
        path = re.sub(r"^(/v1beta|/v1)?/", "/", path)
        t_body = time.monotonic()
        if hdr.get("upgrade", "").lower() == "websocket":
            return await self.plain(w, 426, {"error": {"message": "no websocket here"}})
        if path == "/__log":
            return await self.plain(w, 200, LOG)
        if path == "/__connections":
            return await self.plain(w, 200, self.connections)
        if path == "/__bodies":
            return await self.plain(w, 200, BODIES)
        if path == "/__reset":
            LOG.clear(), TRIES.clear(), BODIES.clear()
            self.dropped.clear(), self.hung.clear()
            return await self.plain(w, 200, {})
        if path in ("/__hung", "/__dropped"):  # answers as soon as it has happened
            await (self.hung if path == "/__hung" else self.dropped).wait()
            return await self.plain(w, 200, {})
        if method in ("GET", "HEAD"):
            if path.startswith("/models"):
                m = {
                    "id": "mock",
                    "object": "model",
                    "owned_by": "mock",
                    "created": 1,
                    "type": "model",
                    "display_name": "mock",
                    "name": "models/mock",
                    "context_length": 200000,
                }
                return await self.plain(
                    w, 200, {"object": "list", "data": [m], "models": [m], "has_more": False}
                )
            self.note({"api": "other", "path": target, "t_recv": t_recv})
            return await self.plain(w, 200 if path == "/" else 404, {})
        api = (
            "chat"
            if path.endswith("/chat/completions")
            else "responses"
            if path.endswith("/responses")
            else "anthropic"
            if path.endswith("/messages")
            else "gemini"
            if "enerateContent" in path
            else None
        )
        body = json.loads(raw or b"{}") if raw[:1] in (b"{", b"") else {}
        if path.endswith(("/count_tokens", ":countTokens")):
            return await self.plain(
                w,
                200,
                {"input_tokens": max(1, len(raw) // 4), "totalTokens": max(1, len(raw) // 4)},
            )
        if api is None:
            self.note({"api": "other", "path": target, "t_recv": t_recv})
            return await self.plain(w, 404, {"error": {"message": "mock: no such path " + path}})
        self.n += 1
        if self.dump:
            (Path(self.dump) / f"{self.n:04d}-{api}.json").write_bytes(raw)
        BODIES.append(body)
        plan = Plan(api, body)
        plan.serial = self.n
        stream = bool(body.get("stream")) or "streamGenerateContent" in path
        rec = {
            "n": self.n,
            "api": api,
            "t_recv": t_recv,
            "t_body": t_body,
            "req_bytes": len(raw),
            "stream": stream,
            "round": plan.rounds_done,
            "scripted": bool(plan.prompt),
            "answer": plan.call[0] if plan.call else "text",
            "n_tools": len(plan.tools),
            "tools": sorted(plan.tools),
            "ua": hdr.get("user-agent", "")[:40],
            "quirks": sorted(plan.quirks),
        }
        key = f"{plan.prompt[:200]}|{plan.rounds_done}"
        TRIES[key] = tries = TRIES.get(key, 0) + 1
        q = plan.quirks
        rec["try"] = tries
        if plan.status:
            told = {
                400: "This model's maximum context length is 8 tokens.",
                401: f"Incorrect API key provided: {hdr.get('authorization', hdr.get('x-api-key'))}",
                404: "The model `mock` does not exist",
            }.get(plan.status, "mock: failed")
            eb = error_body(api, "invalid_request_error")
            eb["error"]["message"] = told
            to = {"Location": "/__elsewhere"} if plan.status < 400 else {}
            return await self.plain(w, plan.status, eb, to)
        if tries <= plan.bad_tries and "json_200" in q:
            return await self.plain(w, 200, error_body(api, "overloaded_error"))
        if "hang_start" in q:
            return await self.hang(r, rec)
        if tries <= plan.bad_tries and q & {"status429", "status529", "html_error"}:
            rec["t_done"] = time.monotonic()
            self.note(rec)
            if "html_error" in q:
                return await self.plain(
                    w, 502, "<html><body><h1>502 Bad Gateway</h1></body></html>", ctype="text/html"
                )
            if "status429" in q:
                at = formatdate(time.time() + 90, usegmt=True)
                wait = {"Retry-After": at if plan.wait == "date" else plan.wait}
                if plan.wait == "ms":
                    wait = {"retry-after-ms": "250"}
                wait["Date"] = formatdate(usegmt=True)
                return await self.plain(w, 429, error_body(api, "rate_limit_error"), wait)
            return await self.plain(
                w, 529 if api == "anthropic" else 503, error_body(api, "overloaded_error")
            )
        if not stream:
            ok = await self.plain(w, 200, whole(api, plan, body))
            rec["t_first"] = rec["t_done"] = time.monotonic()
            self.note(rec)
            return ok
        ctype = b"text/plain" if "text_type" in q else b"text/event-stream; charset=utf-8"
        w.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: " + ctype + b"\r\nCache-Control: no-cache\r\n"
            b"x-request-id: req_mock\r\nTransfer-Encoding: chunked\r\n\r\n"
        )

        def put(b: bytes):
            if q & {"split_utf8", "split_bytes"}:
                size = 7 if "split_utf8" in q else 1
                for i in range(0, len(b), size):
                    c = b[i : i + size]
                    w.write(b"%x\r\n%s\r\n" % (len(c), c))
            else:
                w.write(b"%x\r\n%s\r\n" % (len(b), b))

        first_t = None
        for i, (ev, data) in enumerate(EVENTS[api](plan, body)):
            if i == 6 and "hang" in q:
                await w.drain()
                return await self.hang(r, rec)
            if tries <= plan.bad_tries and i == 4 and "end_early" in q:
                break
            if tries <= plan.bad_tries and i == 4 and q & {"error_mid", "drop_mid"}:
                if "drop_mid" in q:
                    await w.drain()
                    w.transport.abort()
                    rec["t_done"] = time.monotonic()
                    self.note(rec)
                    return False
                eb = error_body(api, "overloaded_error")
                if api == "responses":
                    eb = {
                        "type": "response.failed",
                        "sequence_number": 99,
                        "response": {
                            "id": "resp_mock",
                            "object": "response",
                            "status": "failed",
                            "error": {
                                "code": "server_is_overloaded",
                                "message": "mock: overloaded",
                            },
                        },
                    }
                put(sse({"anthropic": "error", "responses": "response.failed"}.get(api), eb, q))
                break
            put(sse(ev, data, q))
            if first_t is None:
                first_t = time.monotonic()
            if plan.delay:
                await w.drain()
                await asyncio.sleep(plan.delay)
            elif q & {"split_utf8", "split_bytes"}:
                await w.drain()
                await asyncio.sleep(0)
        w.write(b"0\r\n\r\n")
        await w.drain()
        rec["t_first"], rec["t_done"] = first_t, time.monotonic()
        self.note(rec)
        return True

    async def hang(self, r, rec) -> bool:
        """Say nothing more, and note that the client went."""
        self.hung.set()
        while await r.read(65536):
            pass
        self.note({**rec, "dropped": True})
        self.dropped.set()
        return False

    def note(self, rec):
        LOG.append(rec)
        if self.log:
            self.log.write(json.dumps(rec) + "\n")

    async def plain(self, w, status, obj, extra=None, ctype="application/json"):
        b = obj.encode() if isinstance(obj, str) else json.dumps(obj).encode()
        h = "".join(f"{k}: {v}\r\n" for k, v in (extra or {}).items())
        w.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: {ctype}\r\nContent-Length: {len(b)}\r\n{h}\r\n".encode()
            + b
        )
        await w.drain()
        return True


async def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--log", help="append one JSON line a request here")
    ap.add_argument("--dump", help="folder for the raw request bodies")
    ap.add_argument("--port-file", help="write the chosen port here")
    a = ap.parse_args()
    if a.dump:
        Path(a.dump).mkdir(parents=True, exist_ok=True)
    s = Server(a.log, a.dump)
    srv = await asyncio.start_server(s.client, "127.0.0.1", a.port, limit=1 << 26)
    port = srv.sockets[0].getsockname()[1]
    if a.port_file:
        Path(a.port_file).write_text(str(port), encoding="utf-8")
    print(f"http://127.0.0.1:{port}", flush=True)
    async with srv:
        await srv.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)
