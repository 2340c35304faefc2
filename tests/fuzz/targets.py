"""What is fuzzed: each decoder, and the laws that hold for any bytes at all.

1. No input makes a decoder raise anything but its documented error, hang, or use memory out of proportion.
   (``drive.py`` keeps the time and the memory; an error's text can be shown to a person, and is short.)
2. What is decoded encodes, and decodes to the same.
3. Pins, and pins in states, are what a reader that shares no code with ours finds: ``strict_oracle.py``.
"""

import json
import os
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import yaml
from msgspec.structs import replace

from fuzz import strict_oracle as oracle
from fuzz.placement_input import facts_in, is_violated
from sandbox_pin import (
    ConfigurationError,
    PinSource,
    PinV1,
    PinV2,
    SandboxMode,
    SandboxPin,
    SandboxPinError,
    StateError,
    Unpinned,
    decode_pin,
    describe_pin,
    encode_pin,
    read_pin,
    replace_pin,
)
from sandbox_pin.core.configuration import read_configuration
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.core.placement import Reason, describe_violation, judge_placement
from sandbox_pin.core.run_state import RunStatus, decode_run_state, encode_changes, encode_run_state
from sandbox_pin.core.state import replace_members
from sandbox_pin.shell.config import _decode
from sandbox_pin.shell.config_formats import choose_parser
from sandbox_pin.shell.mounts import Mount, MountTable, parse_mounts

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE / "corpus"
CONFORMANCE: Final = HERE.parent / "conformance"
_LONGEST_MESSAGE: Final = 3000
_NEW: Final = PinV2(
    mode=SandboxMode.REQUIRED, source=PinSource.STRENGTHENED, recorded_at='"}\u2028\\', backend="b"
)


class Target(NamedTuple):
    """A decoder under its laws.

    Attributes:
        check: fails, or raises what is no documented error, where an input breaks a law.
        tokens: what its inputs are made of.
        vectors: whether records are seeds too, and how one is put into an input.
    """

    check: Callable[[bytes], None]
    tokens: Sequence[bytes]
    vectors: Callable[[bytes], bytes] | None = None


def seeds_of(name: str) -> list[bytes]:
    """The committed corpus of a target, and what the conformance vectors are for it."""
    found = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    wrap = TARGETS[name].vectors
    return found + ([wrap(record) for record in _records()] if wrap else [])


def _records() -> Iterator[bytes]:
    for path in sorted(CONFORMANCE.glob("records*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            row = json.loads(line) if line else {}
            if "json_b64" in row:
                yield b64decode(row["json_b64"])
            elif "json" in row:
                yield row["json"].encode("utf-8", "surrogatepass")


def _told(error: SandboxPinError) -> None:
    """An error is fit to be shown, however long and odd the input is."""
    text = str(error)
    assert error.problem, "an error without words"
    assert text.isprintable(), f"an error that can't be shown: {text!r}"
    assert len(text) <= _LONGEST_MESSAGE, f"an error of {len(text)} characters"


def _as_record(pin: SandboxPin) -> oracle.Record:
    """A pin, as the oracle writes it."""
    record = {"mode": pin.mode.value, "source": pin.source.value, "recorded_at": pin.recorded_at}
    match pin:
        case PinV1():
            return {"schema": "1", **record}
        case PinV2():
            return {"schema": "2", **record, "backend": pin.backend}


def _agree(found: SandboxPin | Unpinned | StateError | None, expected: oracle.Answer) -> None:
    """Both accept, and find the same, or both refuse."""
    match found:
        case StateError():
            assert isinstance(expected, oracle.Refused), f"refused ({found}), though it is {expected}"
        case None | Unpinned():
            assert isinstance(expected, oracle.NoPin), f"no pin, though it is {expected}"
        case _:
            assert _as_record(found) == expected, f"{found}, though it is {expected}"


def _pin_or_error(raw: bytes | str) -> SandboxPin | StateError | None:
    try:
        return decode_pin(raw)
    except StateError as error:
        _told(error)
        return error


def check_pin(data: bytes) -> None:
    """A record is what the oracle reads, as bytes and as text, and goes round."""
    found = _pin_or_error(data)
    try:
        _agree(found, oracle.judge_pin(data))
    except oracle.TooDeepError:
        assert isinstance(found, StateError), "a record is not deep"
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        pass
    else:
        again = _pin_or_error(text)
        assert isinstance(found, StateError) == isinstance(again, StateError)
        assert isinstance(found, StateError) or again == found
    if not isinstance(found, StateError):
        raw = encode_pin(found)
        assert decode_pin(raw) == found
        assert encode_pin(decode_pin(raw)) == raw
    if isinstance(found, PinV1 | PinV2):
        assert describe_pin(found).isprintable()


def _read_or_error(data: bytes, pinned_since: int | None) -> SandboxPin | Unpinned | StateError:
    try:
        return read_pin(data, pinned_since=pinned_since)
    except StateError as error:
        _told(error)
        return error


def check_state(data: bytes) -> None:
    """The pin of a state is the one that the oracle finds; another is put in without touching the rest."""
    for pinned_since in (12, None):
        found = _read_or_error(data, pinned_since)
        try:
            _agree(found, oracle.judge_state(data, pinned_since=pinned_since))
        except oracle.TooDeepError:
            return
    try:
        result = replace_pin(data, _NEW)
    except StateError as error:
        _told(error)
        result = None
    state = _object_or_none(data)
    pins = state.all("sandbox_pin") if state else []
    assert (result is None) == (state is None or len(pins) > 1)
    if result is not None and state is not None:
        _holds_the_new_pin(data, state, pins, result)


def _object_or_none(data: bytes) -> oracle.Object | None:
    try:
        value = oracle.read_json(data)
    except oracle.NotJsonError:
        return None
    return value if isinstance(value, oracle.Object) else None


def _holds_the_new_pin(
    data: bytes, state: oracle.Object, pins: Sequence[oracle.Member], result: bytes
) -> None:
    raw = encode_pin(_NEW)
    if pins:
        assert result == data[: pins[0].start] + raw + data[pins[0].end :]
    else:
        last = state.members[-1].end if state.members else 0
        close = data.index(b"}", last)
        comma = b"," if state.members else b""
        assert result == data[:close] + comma + b'"sandbox_pin":' + raw + data[close:]
    assert read_pin(result) == read_pin(result, pinned_since=None) == _NEW
    assert replace_pin(result, _NEW) == result
    after = oracle.read_json(result)
    assert isinstance(after, oracle.Object)
    assert _others(result, after) == _others(data, state)


def _others(raw: bytes, state: oracle.Object) -> list[tuple[str, bytes]]:
    """What stands in a state besides the pin, byte for byte."""
    others = [member for member in state.members if member.key != "sandbox_pin"]
    return [(member.key, raw[member.start : member.end]) for member in others]


def check_run_state(data: bytes) -> None:
    """Our own fields and the pin go round; a changed field is the only one that changes."""
    try:
        state, pin = decode_run_state(data, run="r")
    except StateError as error:
        _told(error)
        return
    try:
        _agree(pin, oracle.judge_state(data, pinned_since=12))
    except oracle.TooDeepError:
        return
    held = _NEW if isinstance(pin, Unpinned) else pin
    assert decode_run_state(encode_run_state(state, held), run="r") == (state, held)
    assert encode_changes(state, state) == {}
    changed = replace(state, status=RunStatus.BLOCKED, command=("\u2028", *state.command))
    edits = encode_changes(state, changed)
    assert set(edits) == {"command"} | ({"status"} if state.status is not RunStatus.BLOCKED else set())
    assert decode_run_state(replace_members(data, edits), run="r") == (changed, pin)


def check_line(data: bytes) -> None:
    """A line is garbage just where it is no object; an entry is strict JSON with that pin, and goes round."""
    try:
        found = decode_line(data)
    except StateError as error:
        _told(error)
        found = None
    try:
        value: oracle.Value | None = oracle.read_json(data)
    except oracle.NotJsonError:
        value = None
    except oracle.TooDeepError:
        assert not isinstance(found, msgspec.Struct) or isinstance(found, Garbage)
        return
    assert isinstance(found, Garbage) != isinstance(value, oracle.Object)
    if found is None or isinstance(found, Garbage):
        return
    assert isinstance(value, oracle.Object)
    assert oracle.is_strict(value)
    (pin,) = value.all("pin")
    assert oracle.judge_record(pin.value) == _as_record(found.pin)
    line = encode_line(found)
    assert decode_line(line) == found
    assert encode_line(found) == line
    assert line.decode().splitlines() == [line.decode()]


Reader = Callable[[str], object]


def _config_target(extension: str, read_loosely: Reader, tokens: Sequence[bytes]) -> Target:
    """The laws of a configuration in one format."""
    parse = choose_parser(f"c.{extension}")

    def check(data: bytes) -> None:
        try:
            text = _decode(data)
            document = parse(text)
            found = read_configuration(document, file="c")
        except ConfigurationError as error:
            _told(error)
            return
        told = {
            key: value
            for key, value in (("mode", found.mode), ("backend", found.backend))
            if value is not None
        }
        try:
            loose = read_loosely(text)
        except Exception:  # noqa: BLE001 - another's reader: tags that it can't read, dates that are none, its slips
            loose = None
        if isinstance(loose, dict):
            table = loose.get("sandbox", {})
            assert {key: table[key] for key in ("mode", "backend") if key in table} == told
        # What is found says the same again in each format (JSON text is YAML, too).
        again = json.dumps({"sandbox": told})
        toml = "[sandbox]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())
        for other, spelled in (("json", again), ("yaml", again), ("toml", toml)):
            assert read_configuration(choose_parser(f"c.{other}")(spelled), file="c") == found

    return Target(check, tokens)


def check_mounts(data: bytes) -> None:
    """A table of any bytes is read; what is read of it goes round, and can be asked."""
    mounts = parse_mounts(data)
    assert parse_mounts(b"\n".join(map(_spelled, mounts))) == mounts
    table = MountTable(mounts)
    last = {mount.identifier: mount for mount in mounts}
    for mount in list(last.values())[:20]:
        assert table.get(mount.identifier) == mount
        above = table.by_path(mount.point)
        assert above is not None
        assert len(above.point) <= max(len(mount.point), 1)
        below = table.below(mount, mount.point)
        assert len(below) == len(set(below)) <= len(last)
        assert all(other.point.startswith(mount.point.rstrip("/") + "/") for other in below)
        assert mount.place(mount.point).device == mount.device


def _spelled(mount: Mount) -> bytes:
    """A mount's line, as the kernel writes it."""
    root, point = (
        os.fsencode(field).replace(b"\\", rb"\134").replace(b" ", rb"\040").replace(b"\n", rb"\012")
        for field in (mount.root, mount.point)
    )
    device = os.fsencode(mount.device)
    return b"%d %d %b %b %b rw" % (mount.identifier, mount.parent, device, root, point)


def check_placement(data: bytes) -> None:
    """Each item has a violation for just those trees that can change it, and one for a second name."""
    items, trees = facts_in(data)
    found = judge_placement(items, trees)
    for violation in found:
        assert describe_violation(violation).isprintable()
    expected = [tree.path for item in items for tree in trees if is_violated(item, tree)]
    against_items = found[: len(found) - sum(1 for v in found if v.role == "launch_tree")]
    assert [v.tree for v in against_items if v.reason is not Reason.HARD_LINKS] == expected
    assert len([v for v in found if v.reason is Reason.HARD_LINKS]) <= len(items)
    # One item or tree less never adds a violation.
    for fewer in (judge_placement(items[1:], trees), judge_placement(items, trees[1:])):
        left = list(found)
        for violation in fewer:
            left.remove(violation)


_JSON_TOKENS: Final = [
    *b'{ } [ ] : , " \\ 0 1 2 - . e E'.split(b" "),
    *(b" ", b"\t", b"\n", b"\r", b"\x0b", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc3\xa9"),
    *(b"NaN", b"Infinity", b"-Infinity", b"true", b"false", b"null", b"1.0", b"1e999", b"01", b"-0", b"{}"),
    *(rb"\ud800", rb"\udc00", rb"\ud83d\ude00", rb"\u0000", rb"\u0031", rb"\/", rb"\x", b"\xed\xa0\x80"),
]
_RECORD_TOKENS: Final = [
    *(b'"schema"', b'"schema":1,', b'"schema":2,', b'"schema":3,', b'"mode"', b'"source"', b'"recorded_at"'),
    *(
        b'"backend"',
        b'"required"',
        b'"disabled"',
        b'"preferred"',
        b'"created"',
        b'"accepted"',
        rb'"m\u006fde"',
    ),
    b'{"schema":1,"mode":"required","source":"created","recorded_at":"x"}',
]
_STATE_TOKENS: Final = [
    *_JSON_TOKENS,
    *_RECORD_TOKENS,
    *(
        b'"sandbox_pin":',
        rb'"\u0073andbox_pin":',
        b'"protocol":',
        b'"protocol":11,',
        b'"protocol":12,',
        b'"a":',
    ),
    *(
        b'"protocol":9999999999,',
        b'"sandbox_pin":{},',
        b'"sandbox_pin":null,',
        b'{"a":{"a":[{"a":1,"a":2}]}}',
    ),
]
_RUN_STATE_TOKENS: Final = [
    *(b'"run":"r"', b'"kind":"local"', b'"kind":"remote"', b'"status":"ready"', b'"status":"blocked"'),
    *(b'"workspace":', b'"created_at":', b'"parent":', b'"command":', b'"launch":', b'"pid":', b'"boot":'),
]
_LINE_TOKENS: Final = [
    *_JSON_TOKENS,
    *_RECORD_TOKENS,
    *(b'"event":"launch_ended"', b'"event":"pin_accepted"', b'"event":"nap"', b'"at":"x"', b'"run":"r"'),
    *(b'"kind":"local"', b'"pin":', b'"before":null', b'"disputed":null', b'"request":', b'"mode_from":'),
    *(
        b'{"from":"program"}',
        b'{"from":"file","path":"p"}',
        b'"ran":true',
        b'"exit_code":0',
        b'"signal":null',
    ),
]
_CONFIG_TOKENS: Final = [
    *(b"sandbox", b"Sandbox", b"sandbx", b"mode", b"backend", b"required", b"disabled", b"preferred", b"off"),
    *(
        b"bubblewrap",
        b"\n",
        b" ",
        b"\t",
        b'"',
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b":",
        b",",
        b".",
        b"=",
        b"#",
        b"\0",
    ),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"0", b"1e999", b"true", b"null", b"9" * 4400),
]
_TOML_TOKENS: Final = [
    *_CONFIG_TOKENS,
    *(
        b"[sandbox]\n",
        b"[[sandbox]]\n",
        b'mode = "required"\n',
        b"sandbox.mode",
        b'"""',
        b"'''",
        b"\\U0001F600",
    ),
    *(
        b"2001-01-01T00:00:00Z",
        b"2001-99-99",
        b"0x1f",
        b"1_000",
        b"inf",
        b"nan",
        b"\r\n",
        b"\\",
        b"a.b.c = 1\n",
    ),
]
_YAML_TOKENS: Final = [
    *_CONFIG_TOKENS,
    *(
        b"sandbox:\n  mode: required\n",
        b"- ",
        b"? ",
        b": ",
        b"<<: ",
        b"&a ",
        b"*a",
        b"!!int ",
        b"!e ",
        b"|\n",
        b">-\n",
    ),
    *(
        b"---\n",
        b"...\n",
        b"%YAML 1.1\n",
        b"%TAG ! tag:x,2000:\n",
        b"!!python/object:os.system ",
        b"\\UFFFFFFFF",
    ),
    *(
        b"!<tag:%FF> ",
        b"a: &b [*a, *a]\n",
        b"2001-99-99",
        b"190:20:30",
        b"0o7",
        b"~",
        b"on",
        b"\r",
        b"@",
        b"`",
    ),
]
_MOUNT_TOKENS: Final = [
    *(b" ", b"\n", b"/", b"0", b"1", b"25", b"8:1", rb"\040", rb"\134", rb"\012", rb"\777", b"\\", b"9" * 30),
    *(b"36 35 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw\n", b"/srv", b"\xff", b"\xd9\xa3", b"\xc2\xb2"),
    *(b"9" * 4301, b"\r", b"\x85", b"\0"),
]
_PLACEMENT_TOKENS: Final = [bytes([byte]) for byte in range(0, 256, 5)]


def _in_state(record: bytes) -> bytes:
    return b'{"a":[1],"sandbox_pin":%b,"protocol":12}' % record


def _in_run_state(record: bytes) -> bytes:
    own = b'"run":"r","kind":"local","status":"ready","workspace":"/w","created_at":"x"'
    return b'{"protocol":12,%b,"sandbox_pin":%b}' % (own, record)


def _in_line(record: bytes) -> bytes:
    head = b'"event":"launch_ended","at":"x","run":"r","kind":"local"'
    return b'{%b,"pin":%b,"ran":true,"exit_code":0,"signal":null}' % (head, record)


TARGETS: Final[dict[str, Target]] = {
    "pin": Target(check_pin, [*_JSON_TOKENS, *_RECORD_TOKENS], bytes),
    "state": Target(check_state, _STATE_TOKENS, _in_state),
    "run_state": Target(check_run_state, [*_STATE_TOKENS, *_RUN_STATE_TOKENS], _in_run_state),
    "line": Target(check_line, _LINE_TOKENS, _in_line),
    "config_toml": _config_target("toml", tomllib.loads, _TOML_TOKENS),
    "config_json": _config_target("json", json.loads, _CONFIG_TOKENS),
    "config_yaml": _config_target("yaml", yaml.safe_load, _YAML_TOKENS),
    "mounts": Target(check_mounts, _MOUNT_TOKENS),
    "placement": Target(check_placement, _PLACEMENT_TOKENS),
}
