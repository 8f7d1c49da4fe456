"""What a cell sends to each kind of client while its turn runs, and what stays of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import (
    NOTEBOOK,
    TRANSCRIPT,
    displays,
    final_bundle,
    open_agent_kernel,
    shard,
)
from tests.jupyter.kernel import CellRun, Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02", "D09")

BUNDLE = {"text/plain", "text/markdown", "text/html", TRANSCRIPT}
CLOSING = "Grüße, 世界"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(tmp_path_factory.mktemp("modes"), model_server.url) as running:
        yield running


def output_types(run: CellRun) -> list[str]:
    return [message["msg_type"] for message in run.outputs]


class TestHeadless:
    @pytest.mark.proves("J3.36", "J3.39")
    def test_there_is_one_display_and_nothing_else(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go. @@shell echo hi", "--ask yes"))
        assert run.status == "ok", run.error
        assert output_types(run) == ["display_data"]
        (shown,) = displays(run)
        assert set(shown["data"]) == BUNDLE
        assert shown["transient"] == {}
        assert run.result is None
        assert CLOSING in shown["data"]["text/plain"]

    @pytest.mark.proves("J3.39")
    def test_chunks_and_delays_do_not_show(self, kernel: Kernel) -> None:
        prompt = "Go. @@shell echo hi @@text 400"
        shown = [
            final_bundle(kernel.execute(shard(f"{prompt} {how}", "--ask yes")))
            for how in ("@@chunk 1", "@@chunk 50", "@@chunk 7 @@delay 3")
        ]
        for key in ("text/plain", "text/markdown", "text/html"):
            told = {
                bundle[key].replace(how, "")
                for bundle, how in zip(
                    shown, ("@@chunk 1", "@@chunk 50", "@@chunk 7 @@delay 3"), strict=True
                )
            }
            assert len(told) == 1, told

    def test_a_wrong_model_shows_no_display_and_fails_in_one_line(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go.", "--agent other", model="nonsense:model"))
        assert run.status == "error"
        assert output_types(run) == ["error"]
        assert run.error is not None
        assert run.error["ename"] == "UnknownModel"
        assert len(run.error["traceback"]) == 1

    def test_inline_questions_are_refused_where_nobody_can_answer(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go.", "--ask inline"))
        assert run.error is not None
        assert run.error["ename"] == "UsageError"
        assert output_types(run) == ["error"]

    def test_a_denial_fails_the_cell_and_is_in_the_record(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go. @@shell touch x"))
        assert output_types(run) == ["display_data", "error"]
        assert run.error is not None
        assert run.error["ename"] == "TurnFailed"
        assert "denied" in run.error["evalue"]

    def test_without_raising_the_record_tells_of_the_failure(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go. @@status 401", "--no-raise"))
        assert (run.status, output_types(run)) == ("ok", ["display_data"])

    def test_quiet_shows_nothing_at_all(self, kernel: Kernel) -> None:
        assert output_types(kernel.execute(shard("Go.", "--quiet"))) == []
        run = kernel.execute(shard("Go. @@status 401", "--quiet"))
        assert output_types(run) == ["error"]
        assert output_types(kernel.execute(shard("Go. @@status 401", "--quiet --no-raise"))) == []


class TestNotebook:
    def test_one_display_grows_and_ends_as_the_bundle(self, kernel: Kernel) -> None:
        run = kernel.execute(
            shard("Go. @@text 3000 @@chunk 10 @@delay 3"), allow_stdin=True, metadata=NOTEBOOK
        )
        assert run.status == "ok", run.error
        first, *updates = displays(run)
        assert first["type"] == "display_data"
        assert "Starting" in first["data"]["text/plain"]
        assert {update["type"] for update in updates} == {"update_display_data"}
        assert len({shown["transient"]["display_id"] for shown in (first, *updates)}) == 1
        assert set(updates[-1]["data"]) == BUNDLE
        assert CLOSING in updates[-1]["data"]["text/plain"]
        assert 3 < len(updates) < 25
        sizes = [len(update["data"]["text/plain"]) for update in updates]
        assert sizes[1] < sizes[-1] / 2

    def test_what_fails_before_the_turn_replaces_the_first_display(self, kernel: Kernel) -> None:
        run = kernel.execute(
            shard("Go.", "--agent other", model="nonsense:model"),
            allow_stdin=True,
            metadata=NOTEBOOK,
        )
        assert run.error is not None
        last = displays(run)[-1]["data"]["text/plain"]
        assert "Starting" not in last
        assert "nonsense" in last

    def test_quiet_shows_nothing_at_all(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go.", "--quiet"), allow_stdin=True, metadata=NOTEBOOK)
        assert output_types(run) == []


@pytest.mark.proves("J3.11")
class TestConsole:
    def test_text_streams_with_a_row_for_each_call(self, kernel: Kernel) -> None:
        run = kernel.execute(
            shard("Go. @@shell echo hi @@text 2000 @@chunk 10 @@delay 3", "--ask yes"),
            allow_stdin=True,
        )
        assert set(output_types(run)) == {"stream"}
        assert len(run.contents("stream")) > 3
        told = run.stream()
        assert "✓ bash  echo hi" in told
        assert CLOSING in told
        assert "\x1b" not in told
        assert run.stream("stderr") == ""

    def test_a_failure_is_told_once_by_the_error(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go. @@status 401"), allow_stdin=True)
        assert run.error is not None
        assert run.stream("stderr") == ""

    def test_without_raising_the_failure_is_told_on_stderr(self, kernel: Kernel) -> None:
        run = kernel.execute(shard("Go. @@status 401", "--no-raise"), allow_stdin=True)
        assert run.status == "ok"
        assert run.stream("stderr").startswith("shard: ")

    def test_quiet_leaves_errors_only(self, kernel: Kernel) -> None:
        assert output_types(kernel.execute(shard("Go.", "--quiet"), allow_stdin=True)) == []
        run = kernel.execute(shard("Go. @@status 401", "--quiet --no-raise"), allow_stdin=True)
        assert run.stream("stderr").startswith("shard: ")
