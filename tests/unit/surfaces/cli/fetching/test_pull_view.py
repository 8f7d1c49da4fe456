from __future__ import annotations

import io

import pytest
from inline_snapshot import snapshot

from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullPhase, PullProgress
from shard_jupyter.surfaces.cli.fetching.pull_view import PullView

pytestmark = pytest.mark.proves("C10", "B12")


class Shown:
    def __init__(self, *, is_terminal: bool) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.view = PullView(self.stream, is_terminal=is_terminal, clock=lambda: self.now)

    def tell(self, phase: PullPhase, done: int = 0, note: str = "", *, source: str = "hub") -> None:
        self.view.tell(PullProgress(phase, source, done, 400_000_000, note))

    @property
    def text(self) -> str:
        return self.stream.getvalue()


def test_a_terminal_gets_one_line_with_share_size_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = Shown(is_terminal=True)
    shown.tell("ask")
    shown.tell("download", 0)
    shown.now = 10.0
    shown.tell("download", 100_000_000)
    shown.view.close()
    shown.view.close()
    assert shown.text.split("\r\x1b[K") == snapshot(
        [
            "",
            "asking hub …",
            "  0 %  0 B of 400 MB  from hub",
            " 25 %  100 MB of 400 MB  10 MB/s  0:30 left  from hub\n",
        ]
    )


def test_a_narrow_terminal_gets_no_second_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    shown = Shown(is_terminal=True)
    shown.tell("download", 100_000_000, source="x" * 100)
    assert len(shown.text.removeprefix("\r\x1b[K")) == 29


def test_elsewhere_a_line_is_written_for_each_tenth() -> None:
    shown = Shown(is_terminal=False)
    for percent in range(101):
        shown.tell("download", percent * 4_000_000)
    lines = shown.text.split("\n")
    assert [int(line.split("%")[0]) for line in lines[:-1]] == list(range(0, 101, 10))
    assert "\r" not in shown.text


def test_a_resumed_pull_counts_only_what_comes_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = Shown(is_terminal=True)
    shown.tell("download", 300_000_000)
    shown.now = 10.0
    shown.tell("download", 310_000_000)
    assert "1.0 MB/s  1:30 left" in shown.text


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_failed_source_is_told_on_a_line_that_stays(is_terminal: bool) -> None:
    shown = Shown(is_terminal=is_terminal)
    shown.tell("ask")
    shown.tell("failed", note="cannot be reached")
    shown.tell("ask", source="index")
    shown.view.close()
    text = shown.text.replace("\r\x1b[K", "<")
    expected = "<asking hub …<hub: cannot be reached\n<asking index …\n"
    plain = "asking hub …\nhub: cannot be reached\nasking index …\n"
    assert text == (expected if is_terminal else plain)


def test_a_failure_that_names_its_host_does_not_name_it_twice() -> None:
    shown = Shown(is_terminal=False)
    shown.tell("failed", note="hub.example cannot be reached: no", source="hub.example/Maker/Model")
    shown.tell("failed", note="nothing came", source="hub.example/Maker/Model")
    assert shown.text == (
        "hub.example cannot be reached: no\nhub.example/Maker/Model: nothing came\n"
    )


def test_when_all_has_come_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = Shown(is_terminal=True)
    shown.tell("download", 0)
    shown.now = 10.0
    shown.tell("download", 400_000_000)
    assert shown.text.endswith("100 %  400 MB of 400 MB  40 MB/s  from hub")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_that_a_server_says_reaches_the_terminal_as_it_is(is_terminal: bool) -> None:
    shown = Shown(is_terminal=is_terminal)
    for phase in ("ask", "download", "failed"):
        shown.tell(phase, 1, "a\x1b]0;title\x07\nb", source="s\x1b[2J\n")
    text = shown.text.replace("\r\x1b[K", "")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "⟨U+001B⟩" in text
