"""What must not be in a cassette is not, and what belongs to the run comes back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    find_secrets,
    map_strings,
)
from shard_jupyter.types.ids import new_id

pytestmark = pytest.mark.proves("E04")
PLACES = {"cwd": "/home/ann/demo", "home": "/home/ann"}
PIECES = st.sampled_from(
    [
        "/home/ann/demo", "/home/ann", "/home/annette", "{cwd}", "{{cwd}}", "{home}/x", "{secret}",
        "{call-1}", "{{call-2}}", "{=cwd}", "{==call-1}", "=", "{", "}", "{x}", "/", " ", "a", "call-01jd0000000000000000000000",
        "turn-01jd0000000000000000000001",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=8).map("".join)


def hide(text: str, places: dict[str, str] = PLACES, secrets: tuple[str, ...] = ()) -> str:
    return Placeholders(places, secrets).hide(text, Numbering())


@given(TEXTS)
@example("{/home/ann/demo}")
@example("{{=cwd}}{call-01jd0000000000000000000000}")
def test_showing_takes_back_all_that_hiding_did(text: str) -> None:
    placeholders, numbering = Placeholders(PLACES), Numbering()
    assert placeholders.show(placeholders.hide(text, numbering), numbering) == text


@given(TEXTS)
def test_played_text_is_recorded_the_same_again(text: str) -> None:
    """With new ids, in another folder, and whatever the secrets were."""
    hidden = hide(f"{text} sk-abcdefghijklmnop1234")
    there = Placeholders({"cwd": "/srv/ci/work", "home": "/srv/ci"})
    shown = there.show(hidden, Numbering())
    assert there.hide(shown, Numbering()) == hidden


@given(st.lists(PIECES, max_size=8).map(" ".join))
def test_hidden_text_is_the_same_on_every_machine(text: str) -> None:
    moved = {"cwd": "/srv/ci/work", "home": "/srv/ci"}
    there = text.replace("/home/annette", "-")
    there = there.replace("/home/ann/demo", moved["cwd"]).replace("/home/ann", moved["home"])
    assert hide(there, moved) == hide(text.replace("/home/annette", "-"))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("in /home/ann/demo/a.py", "in {cwd}/a.py"),
        ("{/home/ann/demo}", "{{=cwd}}"),
        ("{=cwd}", "{==cwd}"),
        ("/home/ann/demo.", "{cwd}."),
        ("/home/ann/demo2 and /home/annette", "{home}/demo2 and /home/annette"),
        ("/mnt/home/ann/demo", "/mnt/home/ann/demo"),
        ("file:///home/ann/demo", "file://{cwd}"),
        ("'/home/ann/demo'", "'{cwd}'"),
        ("literal {cwd} and {other}", "literal {{cwd}} and {other}"),
    ],
)
def test_paths_are_hidden_where_they_stand_as_a_whole(text: str, hidden: str) -> None:
    assert hide(text) == hidden


@pytest.mark.parametrize("order", [("cwd", "home"), ("home", "cwd")])
def test_one_folder_with_two_names_is_always_called_by_the_same(order: tuple[str, str]) -> None:
    places = dict.fromkeys(order, "/home/ann")
    assert hide("in /home/ann/x", places) == "in {cwd}/x"


def test_root_as_workspace_hides_nothing() -> None:
    assert hide("/a/b", {"cwd": "/", "home": ""}) == "/a/b"


def test_ids_are_numbered_in_order_of_appearance() -> None:
    first, second = new_id("call"), new_id("turn")
    placeholders, numbering = Placeholders({}), Numbering()
    assert placeholders.hide(f"{first} {second} {first}", numbering) == "{call-1} {turn-2} {call-1}"
    assert placeholders.hide(second, numbering) == "{turn-2}"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop1234567890",
        "sk-ant-api03-abcdefghijklmnop_-1234",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijklmnop_qrstuvwxyz",
        "glpat-abcdefghij1234567890",
        "xoxb-1234567890-abcdefghij",
        "hf_abcdefghijklmnopqrstuvwxyz01234567",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_known_shapes_of_secrets_are_removed(secret: str) -> None:
    hidden = hide(f"before {secret} after")
    assert hidden == "before {secret} after"


def test_bearer_and_address_credentials_are_removed() -> None:
    assert hide("Authorization: Bearer abcdefgh.ijklmnop-qrst") == "Authorization: Bearer {secret}"
    assert hide("https://ann:hunter2@host/x") == "https://{secret}@host/x"


def test_values_of_secret_names_are_found_and_no_others() -> None:
    environment = {
        "OPENAI_API_KEY": "plainlookingvalue",
        "MY_TOKEN_2": "another-value",
        "db.password": "correct horse battery",
        "apiKey": "camel-case-value",
        "SHORT_KEY": "1234567",
        "KEYBOARD": "qwertyuiop",
        "PATH": "/usr/bin:/bin",
        "MONKEY": "bananabanana",
    }
    found = find_secrets(environment)
    assert set(found) == {
        "plainlookingvalue", "another-value", "correct horse battery", "camel-case-value",
    }  # fmt: skip
    assert [len(value) for value in found] == sorted(map(len, found), reverse=True)


def test_secret_that_holds_another_is_removed_as_a_whole() -> None:
    secrets = find_secrets({"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-and-more"})
    assert hide("x abcdefgh-and-more y abcdefgh z", {}, secrets) == "x {secret} y {secret} z"


def test_secrets_are_never_shown_again() -> None:
    placeholders, numbering = Placeholders({}, ("topsecretvalue",)), Numbering()
    hidden = placeholders.hide("topsecretvalue", numbering)
    assert placeholders.show(hidden, numbering) == "{secret}"


def test_strings_are_changed_at_every_depth() -> None:
    assert map_strings({"a": ["a", {"b": "a"}, 1, None]}, str.upper) == {
        "A": ["A", {"B": "A"}, 1, None]
    }
