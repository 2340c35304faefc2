"""What an operator reads, whole: each message of the core, to the letter.

The words are a part of the product: they name the file, the field, what was found, what is right, and what to
do about it. A test that looks for one word of them lets the others go wrong unseen.
"""

from collections.abc import Callable
from typing import Final, cast

import pytest
from msgspec import Struct

from sandbox_pin import (
    PinSource,
    PinV1,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxPinError,
    decode_pin,
    encode_pin,
    read_pin,
)
from sandbox_pin.core.configuration import mode_from_text, read_configuration
from sandbox_pin.core.event import LaunchEnded, RunRecovered
from sandbox_pin.core.exact_json import refuse_repeated_keys, walk_members
from sandbox_pin.core.gate import RefuseLaunch, pass_gate
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.core.placement import ItemRole, Reason, Violation, describe_violation
from sandbox_pin.core.placement_violation import describe_violations
from sandbox_pin.core.run_state import decode_own_fields
from sandbox_pin.core.spelling import abridged
from sandbox_pin.core.state import replace_members

RECORD: Final = '{"schema":1,"mode":"required","source":"created","recorded_at":"x"}'
COMMON: Final = f'"at":"x","run":"r","kind":"local","pin":{RECORD}'
OWN: Final = '"run":"r","kind":"local","status":"ready","workspace":"/w","created_at":"x"'
MODES: Final = "one of disabled, preferred, required"
KEYS: Final = "the keys schema, mode, source, recorded_at, in schema 2 backend too, and no other"
LONG: Final = "k" * 64
PIN: Final = PinV1(mode=SandboxMode.REQUIRED, source=PinSource.CREATED, recorded_at="x")


class LooksLikeAPin(Struct):
    """A value that is written as a record is, but is none."""

    schema: int
    mode: str = "required"
    source: str = "created"
    recorded_at: str = "x"


def message(act: Callable[[], object]) -> str:
    """What is told when this is refused."""
    with pytest.raises(SandboxPinError) as caught:
        _ = act()
    return str(caught.value)


CONFIGURATIONS: Final[list[tuple[object, str]]] = [
    ([], "c.toml: the top level is a list; expected a table of keys and values"),
    (
        {},
        (
            "c.toml: the file has no key at all; expected at least one key, such as sandbox.mode. "
            "To run with the built-in default, leave --config out"
        ),
    ),
    (
        {"sandbox": 1.5},
        "c.toml: sandbox: found a number; expected one table. Write the mode inside it, as sandbox.mode",
    ),
    (
        {"Sandbox": {}},
        (
            "c.toml: Sandbox: the key 'Sandbox' looks like 'sandbox' but is another; "
            "expected the table 'sandbox', spelled exactly so. Rename the key"
        ),
    ),
    (
        {"sandbox.mode": 1},
        (
            "c.toml: sandbox.mode: the key 'sandbox.mode' is one flat key, "
            "not 'mode' inside the table 'sandbox'; expected a table 'sandbox' with the key 'mode' in it. "
            "Nest it: move the value to 'mode' inside 'sandbox'"
        ),
    ),
    *(
        (
            {f"sandbox{separator}mode": 1},
            (
                f"c.toml: sandbox{separator}mode: the key 'sandbox{separator}mode' "
                "is one flat key, "
                "not 'mode' inside the table 'sandbox'; "
                "expected a table 'sandbox' with the key 'mode' in it. "
                "Nest it: move the value to 'mode' inside 'sandbox'"
            ),
        )
        for separator in ":/"
    ),
    ({"sandbox": {1: 2}}, "c.toml: sandbox: a key is a number; expected the keys mode and backend"),
    (
        {"sandbox": {"mod": 2}},
        "c.toml: sandbox.mod: unknown key 'mod'; expected the keys mode and backend. The nearest is mode",
    ),
    (
        {"sandbox": {LONG: 2}},
        (
            f"c.toml: sandbox.{LONG}: unknown key '{LONG}'; expected the keys mode and backend. "
            "The nearest is backend"
        ),
    ),
    (
        {"sandbox": {LONG + "k": 2}},
        (
            f"c.toml: sandbox.{LONG}...: unknown key '{LONG}...'; expected the keys mode and backend. "
            "The nearest is backend"
        ),
    ),
    ({"sandbox": {"mode": "off"}}, f"c.toml: sandbox.mode: unknown mode 'off'; expected {MODES}"),
    (
        {"sandbox": {"mode": "Required"}},
        f"c.toml: sandbox.mode: unknown mode 'Required'; expected {MODES}. The nearest is required",
    ),
    ({"sandbox": {"mode": None}}, f"c.toml: sandbox.mode: found null; expected {MODES}"),
    ({"sandbox": {"mode": 5}}, f"c.toml: sandbox.mode: found a number; expected {MODES}"),
    ({"sandbox": {"mode": []}}, f"c.toml: sandbox.mode: found a list; expected {MODES}"),
    ({"sandbox": {"mode": {}}}, f"c.toml: sandbox.mode: found a table; expected {MODES}"),
    ({"sandbox": {"mode": b""}}, f"c.toml: sandbox.mode: found a value of type bytes; expected {MODES}"),
    (
        {"sandbox": {"mode": False}},
        (
            f"c.toml: sandbox.mode: found the boolean false; expected {MODES}. "
            "YAML reads off, no, on and yes as booleans: write the word itself"
        ),
    ),
    (
        {"sandbox": {"backend": "docker"}},
        (
            "c.toml: sandbox.backend: unknown backend 'docker'; expected bubblewrap. "
            "Leave the key out to keep the backend that the run is pinned to"
        ),
    ),
    (
        {"sandbox": {"backend": True}},
        (
            "c.toml: sandbox.backend: found the boolean true; expected bubblewrap. "
            "Leave the key out to keep the backend that the run is pinned to"
        ),
    ),
]


@pytest.mark.parametrize(("document", "words"), CONFIGURATIONS)
def test_a_configuration_that_is_not_one_clear_thing(document: object, words: str) -> None:
    assert message(lambda: read_configuration(document, file="c.toml")) == words


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("disabel", "disabled"),
        ("prefered", "preferred"),
        ("REQUIRED!", "required"),
        # Two thirds of the word must be there: of eight letters two slips are near, three are not.
        ("requixxd", "required"),
        ("requxxxd", None),
        ("xxxferred", "preferred"),
        ("xxxxerred", None),
    ],
)
def test_a_mode_that_is_near_is_named(text: str, nearest: str | None) -> None:
    words = f"--mode: unknown mode '{text}'; expected {MODES}"
    if nearest is not None:
        words += f". The nearest is {nearest}"
    assert message(lambda: mode_from_text(text, field="--mode")) == words


RECORDS: Final[list[tuple[str, str]]] = [
    ("", f"empty; expected {KEYS}"),
    ("[]", f"found [], which begins no object; expected {KEYS}"),
    ("null and something more", f"found null and something m, which begins no object; expected {KEYS}"),
    ("\ufeff{}", f"a byte order mark stands first; expected {KEYS}"),
    ("{1:2}", f"not JSON (a key that is not a string ends at byte 2); expected {KEYS}"),
    ('{"a" 1}', f"not JSON (no ':' at byte 5); expected {KEYS}"),
    ('{"a":1 "b":2}', f"not JSON (no ',' at byte 7); expected {KEYS}"),
    (RECORD + "x", f"not JSON (more text after the object, at byte {len(RECORD)}); expected {KEYS}"),
    ('{"a":1', f"not JSON (no ',' at byte 6); expected {KEYS}"),
    ('{"schema":' + "[" * 10**5, f"nested too deeply to be read; expected {KEYS}"),
    ('{"schema":1}', f"mode: missing; expected {MODES}"),
    (RECORD.replace("}", ',"x":1}'), f"x: an unknown key; expected {KEYS}"),
    (RECORD.replace("}", ',"XxX":1}'), f"XxX: an unknown key; expected {KEYS}"),
    (RECORD.replace("}", f',"{"x" * 61}":1}}'), f"{'x' * 60}: an unknown key; expected {KEYS}"),
    (RECORD.replace('"required"', "5"), f"mode: found 5; expected {MODES}"),
    (
        RECORD.replace('"required"', f'"{"r" * 58}"'),
        f'mode: found "{"r" * 58}"; expected {MODES}',
    ),
    (
        RECORD.replace('"required"', f'"{"r" * 59}"'),
        f'mode: found "{"r" * 59}...; expected {MODES}',
    ),
    (
        RECORD.replace("created", "made"),
        'source: found "made"; expected one of created, upgraded, strengthened, accepted',
    ),
    (RECORD.replace('"x"', '""'), 'recorded_at: found ""; expected a text of 1 to 64 characters'),
    (
        RECORD.replace("1,", "2,").replace("}", ',"backend":""}'),
        'backend: found ""; expected a text of 1 to 64 characters',
    ),
    (
        RECORD.replace('"x"', '"x'),
        f"not JSON (Unterminated string starting at: line 1 column 64 (char 63)); expected {KEYS}",
    ),
    (
        RECORD.replace("1,", "3,"),
        (
            "schema: found 3; expected the whole number 1 or 2 "
            "(another schema needs another version of sandbox-pin)"
        ),
    ),
    (
        RECORD.replace('"x"', r'"\ud800"'),
        f"a text in it is not UTF-8, or has half a surrogate pair; expected {KEYS}",
    ),
    (
        RECORD.replace("}", ',"mode":"required"}'),
        "mode: given twice; expected each key once",
    ),
]


@pytest.mark.parametrize(("raw", "words"), RECORDS)
def test_a_record_that_does_not_say_one_clear_thing(raw: str, words: str) -> None:
    assert message(lambda: decode_pin(raw)) == words
    assert message(lambda: decode_pin(raw.encode())) == words


@pytest.mark.parametrize(
    ("mode", "at", "words"),
    [
        ("required", "", 'recorded_at: found ""; expected a text of 1 to 64 characters'),
        ("off", "x", f'mode: found "off"; expected {MODES}'),
    ],
)
def test_a_record_that_can_not_be_written(mode: str, at: str, words: str) -> None:
    """A program may build what no reader takes."""
    pin = PinV1(mode=cast("SandboxMode", mode), source=PinSource.CREATED, recorded_at=at)
    assert message(lambda: encode_pin(pin)) == f"sandbox_pin: this pin can't be written: {words}"


def test_a_record_that_would_read_back_as_another() -> None:
    assert message(lambda: encode_pin(cast("SandboxPin", LooksLikeAPin(schema=1)))) == (
        "sandbox_pin: this pin can't be written: it would read back as another value"
    )


STATES: Final[list[tuple[str, str]]] = [
    (
        '{"protocol":12}',
        "sandbox_pin: missing; expected a pin, as the state says protocol 12, and 12 and later have one",
    ),
    (
        '{"protocol":13,"sandbox_pin":{}}',
        "sandbox_pin: empty ({}); expected a pin, as the state says protocol 13, and 12 and later have one",
    ),
    ("{}", "protocol: missing; expected a whole number, 1 or more"),
    ('{"protocol":true}', "protocol: found true; expected a whole number, 1 or more"),
    ('{"protocol":1.0}', "protocol: found 1.0; expected a whole number, 1 or more"),
    ('{"protocol":0}', "protocol: found 0; expected a whole number, 1 or more"),
    ('{"protocol":-1}', "protocol: found -1; expected a whole number, 1 or more"),
    (
        f'{{"protocol":"{"1" * 50}"}}',
        f'protocol: found "{"1" * 39}; expected a whole number, 1 or more',
    ),
    ('{"protocol":1,"protocol":1}', "protocol: given 2 times; expected the key once"),
    ('{"sandbox_pin":{},"sandbox_pin":{}}', "sandbox_pin: given 2 times; expected the key once"),
    ('{"sandbox_pin":null}', f"sandbox_pin: found null, which begins no object; expected {KEYS}"),
    ('{"sandbox_pin":{"schema":1}}', f"sandbox_pin.mode: missing; expected {MODES}"),
    ("", "empty; expected one JSON object in UTF-8"),
    ("\ufeff{}", "a byte order mark stands first; expected one JSON object in UTF-8"),
    ("[" * 10**5, "found [[[[[[[[[[[[[[[[[[[[, which begins no object; expected one JSON object in UTF-8"),
    ('{"a":' + "[" * 10**5, "nested too deeply to be read; expected one JSON object in UTF-8"),
    ('{"a":1 ', "not JSON (no ',' at byte 7); expected one JSON object in UTF-8"),
]


@pytest.mark.parametrize(("state", "words"), STATES)
def test_a_state_whose_pin_can_not_be_told(state: str, words: str) -> None:
    assert message(lambda: read_pin(state.encode())) == words


def test_bytes_that_are_no_text_are_shown_all_the_same() -> None:
    assert message(lambda: read_pin(b'{"protocol":"\xff"}')) == (
        'protocol: found "\ufffd"; expected a whole number, 1 or more'
    )


def test_a_state_that_can_not_be_written() -> None:
    assert message(lambda: replace_members(b'{"a":1,"a":2,"a":3}', {"a": b"1"})) == (
        "a: given 3 times; expected the key once"
    )


def test_a_walk_and_a_second_look_tell_the_place() -> None:
    assert message(lambda: walk_members(b'{"a":1} x')) == (
        "not JSON (more text after the object, at byte 7); expected one JSON object in UTF-8"
    )
    assert message(lambda: refuse_repeated_keys(b'{"a":{"b":1,"b":2}}')) == (
        "b: given twice; expected each key once"
    )
    assert message(lambda: refuse_repeated_keys(b"{")) == (
        "not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); "
        "expected one JSON object in UTF-8"
    )


RUN_STATES: Final[list[tuple[str, str]]] = [
    (
        '{"protocol":13}',
        (
            "protocol: found 13, of a newer sandbox-pin; expected 12 or older. "
            "It is whole: read it with the version that wrote it, or a later one."
        ),
    ),
    (
        f'{{"protocol":12,{OWN},"run":"r"}}',
        "run: given twice; expected the key once",
    ),
    (
        f'{{"protocol":12,{OWN}}}'.replace('"r"', '"other"'),
        "run: found other; expected r, as the folder is named",
    ),
    (
        f'{{"protocol":12,{OWN}}}'.replace("local", "far"),
        'kind: found "far"; expected local or remote',
    ),
    (
        f'{{"protocol":12,{OWN}}}'.replace("ready", "fine"),
        'status: found "fine"; expected ready, running or blocked',
    ),
    ('{"protocol":12}', "run: missing; expected a run's own fields, each of its type"),
]


@pytest.mark.parametrize(("state", "words"), RUN_STATES)
def test_a_run_s_own_fields_that_are_damaged(state: str, words: str) -> None:
    assert message(lambda: decode_own_fields(state.encode(), run="r")) == words


NEWER: Final = "(a newer one needs a newer sandbox-pin)"
LINES: Final[list[tuple[str, str]]] = [
    ('{"event":"nap"}', f'event: found "nap"; expected an event that this version knows {NEWER}'),
    ("{}", f"event: missing; expected an event that this version knows {NEWER}"),
    (
        f'{{"event":"launch_ended",{COMMON},"x":1}}',
        f"x: an unknown key; expected an entry that this version knows {NEWER}",
    ),
    (
        f'{{"event":"launch_ended",{COMMON}}}'.replace("local", "far"),
        'kind: found "far"; expected local or remote',
    ),
    (
        f'{{"event":"launch_ended",{COMMON}}}'.replace("required", "off"),
        f'pin.mode: found "off"; expected {MODES}',
    ),
    (
        f'{{"event":"launch_ended",{COMMON}}}'.replace(RECORD, "5"),
        f"pin: found 5; expected {KEYS}",
    ),
]


@pytest.mark.parametrize(("line", "words"), LINES)
def test_a_whole_line_that_is_no_entry(line: str, words: str) -> None:
    assert message(lambda: decode_line(line.encode())) == words


def test_a_torn_line_tells_why_it_is_passed_over() -> None:
    assert decode_line(b'{"event":') == Garbage(why="not JSON (Expecting value: line 1 column 10 (char 9))")


@pytest.mark.parametrize(
    ("at", "exit_code", "words"),
    [
        ("", 0, 'at: found ""; expected `str` of length >= 1'),
        ("x", 1.5, "exit_code: found 1.5; expected `int | null`, got `float`"),
        ("\ud800", 0, "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed"),
    ],
)
def test_an_entry_that_can_not_be_logged(at: str, exit_code: object, words: str) -> None:
    """A program may build what no reader takes."""
    entry = LaunchEnded(
        at=at, run="r", kind=RunKind.LOCAL, pin=PIN, ran=True, exit_code=cast("int", exit_code), signal=None
    )
    assert message(lambda: encode_line(entry)) == f"this entry can't be logged: {words}"


def test_an_entry_that_would_read_back_as_another() -> None:
    """A list is read as a tuple."""
    entry = RunRecovered(
        at="x",
        run="r",
        kind=RunKind.LOCAL,
        pin=PIN,
        before=None,
        kept=cast("tuple[str, ...]", ["a"]),
        workspace=None,
        operator="o",
    )
    assert message(lambda: encode_line(entry)) == (
        "this entry can't be logged: it would read back as another value"
    )


def test_a_host_that_was_not_probed() -> None:
    assert pass_gate(SandboxMode.REQUIRED, None, kind=RunKind.LOCAL) == RefuseLaunch(
        asked=SandboxMode.REQUIRED, missing="the host was not probed", remedy="Probe it first."
    )


INSTALL: Final = (
    "Install sandbox-pin where no launch can write, with pipx or `uv tool install`, "
    "and let neither PYTHONPATH nor `python -m` add such a folder"
)
REMEDIES: Final = {
    ItemRole.CONFIGURATION: (
        "configuration file",
        "Keep it, and every link to it, where no launch can write, and name it with --config",
    ),
    ItemRole.STATE: (
        "run state",
        "Keep it where no launch can write (--runs DIR), or give launches a smaller folder",
    ),
    ItemRole.RUN_LOG: (
        "run log",
        "Keep it where no launch can write (--runs DIR), or give launches a smaller folder",
    ),
    ItemRole.SANDBOX_PROGRAM: (
        "sandbox program",
        "Install it where no launch can write, and let PATH find that one first",
    ),
    ItemRole.INTERPRETER: ("Python interpreter", INSTALL),
    ItemRole.PACKAGE: ("Python module path", INSTALL),
    ItemRole.LAUNCH_TREE: ("writable folder", "Name the folder that is meant by its real path"),
}
WHYS: Final = {
    Reason.IN_TREE: "lies in /t, which a launch can write",
    Reason.THROUGH_TREE: "is reached through /w in /t, which a launch can write: it can be pointed elsewhere",
    Reason.BIND_MOUNT: "is, by a mount, a part of /t, which a launch can write",
    Reason.MOUNT_BELOW: "is what the mount /w shows below /t, which a launch can write",
    Reason.HOLDS_TREE: "holds /t, which a launch can write",
    Reason.HARD_LINKS: "has 3 hard links: its other names may lie where a launch can write, "
    "and each of them rewrites it",
}


@pytest.mark.parametrize("role", ItemRole)
@pytest.mark.parametrize("reason", Reason)
def test_a_violation_names_the_item_why_and_what_to_do(role: ItemRole, reason: Reason) -> None:
    name, remedy = REMEDIES[role]
    if reason is Reason.HARD_LINKS:
        remedy = "Copy it to a fresh file, and put that in its place"
    violation = Violation(role=role, path="/p", reason=reason, tree="/t", where="/w", link_count=3)
    assert describe_violation(violation) == f"{name} /p {WHYS[reason]}. {remedy}"


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_violations_with_one_remedy_share_a_line_and_two_are_named(count: int) -> None:
    """In the order in which they were found; those with another remedy stand on a line of their own."""
    states = [
        Violation(role=ItemRole.STATE, path=f"/p{number}", reason=Reason.IN_TREE, tree="/t", where="/w")
        for number in range(count)
    ]
    other = Violation(role=ItemRole.INTERPRETER, path="/i\n", reason=Reason.IN_TREE, tree="/t", where="/w")
    told = [f"run state /p{number} lies in /t, which a launch can write" for number in range(min(count, 2))]
    more = f"; and {count - 2} more of the kind" if count > 2 else ""
    assert describe_violations([states[0], other, *states[1:]]) == [
        f"{'; '.join(told)}{more}. {REMEDIES[ItemRole.STATE][1]}",
        rf"Python interpreter /i\n lies in /t, which a launch can write. {REMEDIES[ItemRole.INTERPRETER][1]}",
    ]
    assert describe_violations([]) == []


def test_another_s_message_keeps_both_ends_on_one_line() -> None:
    """The middle is what a parser quoted; where it found that stands behind it."""
    both = "a" * 64 + "z" * 64
    assert abridged(both) == both
    assert abridged(f"{'a' * 64}quoted{'z' * 64}") == f"{'a' * 64}...{'z' * 64}"
    assert abridged(f"{'a' * 64}{'z' * 64}!") == f"{'a' * 64}...{'z' * 63}!"
    assert abridged(" not\n  YAML\t") == "not YAML"
