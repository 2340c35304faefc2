"""Values, texts and an independent reader, shared by the laws of the core."""

import json
from itertools import starmap
from typing import Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sandbox_pin import (
    FromDefault,
    FromFile,
    FromFlag,
    FromProgram,
    PinSource,
    PinV1,
    PinV2,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    StateError,
    encode_pin,
)
from sandbox_pin.core.event import (
    Entry,
    LaunchEnded,
    LaunchStarted,
    Parent,
    PinAccepted,
    PinStrengthened,
    PinUpgraded,
    RunCreated,
    RunRecovered,
)

AT: Final = "2026-01-01T00:00:00Z"
LATER: Final = "2026-02-02T00:00:00Z"

kinds: Final = st.sampled_from(RunKind)
modes: Final = st.sampled_from(SandboxMode)
sources: Final = st.sampled_from(PinSource)

LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""All that ``str.splitlines`` takes for the end of a line."""

_hard: Final = st.sampled_from(f'{LINE_ENDS}"\\/\0\x7f\u202eé€😀{{}}[]:,')
_writable: Final = _hard | st.characters(codec="utf-8")
_anything: Final = _hard | st.sampled_from("\ud800\udbff\udc80\udfff") | st.characters(exclude_categories=())

texts: Final = st.text(_writable, max_size=20)
"""Texts that UTF-8 can hold."""

any_texts: Final = st.text(_anything, max_size=30)
"""Any text at all: lone surrogates too."""

short_texts: Final = st.text(_writable, min_size=1, max_size=64)
times: Final = st.just(AT) | short_texts
backends: Final = st.sampled_from(["bubblewrap", "other", "third"])

pins_v1: Final = st.builds(PinV1, mode=modes, source=sources, recorded_at=times)
pins_v2: Final = st.builds(
    PinV2, mode=modes, source=sources, recorded_at=times, backend=backends | short_texts
)
pins: Final[SearchStrategy[SandboxPin]] = pins_v1 | pins_v2

# Few values, so that two draws often meet.
held_pins: Final[SearchStrategy[SandboxPin]] = st.builds(
    PinV1, mode=modes, source=sources, recorded_at=st.sampled_from([AT, LATER])
) | st.builds(PinV2, mode=modes, source=sources, recorded_at=st.sampled_from([AT, LATER]), backend=backends)

provenances: Final = (
    st.builds(FromFlag, flag=texts)
    | st.builds(FromFile, path=texts)
    | st.builds(FromDefault, file=st.none() | texts)
    | st.builds(FromProgram)
)
requests: Final = st.builds(
    SandboxRequest,
    mode=modes,
    mode_from=provenances,
    backend=st.none() | backends,
    backend_from=provenances,
)


_common: Final = {"at": times, "run": st.text(_writable, min_size=1, max_size=30), "kind": kinds, "pin": pins}
_changed: Final = {
    **_common,
    "before": st.none() | pins,
    "disputed": st.none() | pins,
    "request": requests,
    "operator": texts,
}
ENTRY_STRATEGIES: Final[dict[str, SearchStrategy[Entry]]] = {
    "run_created": st.builds(
        RunCreated,
        **_common,
        workspace=texts,
        parent=st.none() | st.builds(Parent, run=st.just("r"), kind=kinds, pin=pins),
        request=requests,
        operator=texts,
    ),
    "pin_upgraded": st.builds(PinUpgraded, **_changed),
    "pin_strengthened": st.builds(PinStrengthened, **_changed),
    "pin_accepted": st.builds(PinAccepted, **_changed),
    "run_recovered": st.builds(
        RunRecovered,
        **_common,
        before=st.none() | pins,
        kept=st.lists(texts, max_size=2).map(tuple),
        workspace=st.none() | texts,
        operator=texts,
    ),
    "launch_started": st.builds(
        LaunchStarted,
        **_common,
        asked=modes,
        enforced=st.booleans(),
        backend=st.none() | texts,
        why_not=st.none() | texts,
        program=texts,
        workspace=texts,
        writable=st.lists(texts, max_size=2).map(tuple),
    ),
    "launch_ended": st.builds(
        LaunchEnded,
        **_common,
        ran=st.booleans(),
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | texts,
    ),
}
entries: Final[SearchStrategy[Entry]] = st.one_of(*ENTRY_STRATEGIES.values())


# JSON as text: spelled by hand, so that nothing under test takes part.

spaces: Final = st.text(" \t\n\r", max_size=3)


def spelled(text: str, escaped: frozenset[int]) -> str:
    """The JSON string of a text, the characters at these positions written as escapes."""
    return (
        '"'
        + "".join(
            f"\\u{ord(character):04x}"
            if place in escaped
            else json.dumps(character, ensure_ascii=False)[1:-1]
            for place, character in enumerate(text)
        )
        + '"'
    )


def keys(text: str) -> SearchStrategy[str]:
    """Ways to spell one key: mostly plain, else with some of its characters escaped."""
    escapes = st.frozensets(st.integers(0, len(text) - 1), max_size=3)
    return st.just(f'"{text}"') | escapes.map(lambda escaped: spelled(text, escaped))


@st.composite
def objects(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    """The text of an object with these members (key and value as JSON), with any spaces."""
    text = ",".join(
        f"{draw(spaces)}{key}{draw(spaces)}:{draw(spaces)}{value}{draw(spaces)}" for key, value in members
    )
    return f"{draw(spaces)}{{{text}{draw(spaces) if not members else ''}}}{draw(spaces)}"


def members_of(pin: SandboxPin) -> dict[str, str]:
    """The record's members, each value as JSON text."""
    members = {
        "schema": "1",
        "mode": json.dumps(pin.mode),
        "source": json.dumps(pin.source),
        "recorded_at": json.dumps(pin.recorded_at),
    }
    if isinstance(pin, PinV2):
        members.update(schema="2", backend=json.dumps(pin.backend))
    return members


@st.composite
def record_texts(draw: st.DrawFn) -> str:
    """Valid records in every spelling: any order, spaces and escapes."""
    members = draw(st.permutations(list(members_of(draw(pins)).items())))
    return draw(objects([(draw(keys(key)), value) for key, value in members]))


class Part(NamedTuple):
    """One member of a state that was put together here: its key, and where its value stands."""

    key: str
    start: int
    end: int


class BuiltState(NamedTuple):
    """A state's bytes, and where each of its members stands."""

    raw: bytes
    parts: list[Part]


_nested: Final = ["{}", "[]", '{"sandbox_pin":{"sandbox_pin":1}}', '[{"protocol":1,"sandbox_pin":null}]']
_odd: Final = [
    "NaN",
    "-Infinity",
    r'"\ud800"',
    r'{"\udc80":1,"a":[NaN]}',
    "9" * 5000,
    "[" * 200 + "]" * 200,
    r'"\u0073andbox_pin"',
    "1e999",
    '{"a":1,"a":2}',
]
_ordinary: Final = [
    "0",
    "12",
    "null",
    "true",
    '""',
    '"sandbox_pin"',
    r'"\"sandbox_pin\":{}"',
    r'"ends in \\"',
    '"\u2028\U0001f600"',
]
foreign_values: Final = st.sampled_from(_ordinary) | st.sampled_from(_nested) | st.sampled_from(_odd)
pin_values: Final = (
    record_texts().map(lambda text: text.strip(" \t\n\r"))
    | st.sampled_from(["{}", "{ \n}"])
    | foreign_values
    | pins.map(lambda pin: encode_pin(pin).decode()[:-1] + ',"schema":1}')
)
foreign_keys: Final = st.sampled_from(
    ["a", "", "protocol", "sandbox_pin ", "Sandbox_pin", 'a"sandbox_pin', "sandbox-pin", "é", "\u2028", "\\"]
)


@st.composite
def states(draw: st.DrawFn, *, pin_values: SearchStrategy[str] = pin_values) -> BuiltState:
    """States that another program wrote: the pin none, one or two times, and anything beside it."""
    members: list[tuple[str, str, str]] = [
        (key, json.dumps(key, ensure_ascii=False), draw(foreign_values))
        for key in draw(st.lists(foreign_keys, max_size=3))
    ]
    members += [
        ("sandbox_pin", draw(keys("sandbox_pin")), draw(pin_values))
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2])))
    ]
    members = draw(st.permutations(members))
    raw = f"{draw(spaces)}{{".encode()
    parts: list[Part] = []
    for place, (key, spelling, value) in enumerate(members):
        raw += f"{',' if place else ''}{draw(spaces)}{spelling}{draw(spaces)}:{draw(spaces)}".encode()
        parts.append(Part(key, len(raw), len(raw) + len(value.encode())))
        raw += f"{value}{draw(spaces)}".encode()
    return BuiltState(raw + f"{draw(spaces)}}}{draw(spaces)}".encode(), parts)


# The oracle: the standard library's reader, told to keep what it would merge or convert.


class Number(str):
    """A number, as it was spelled."""

    __slots__ = ()


class Members(list[tuple[str, object]]):
    """An object's members, repeated ones included."""


class Refused(NamedTuple):
    """Any refusal, as a value, with what was told."""

    why: str = "refused"

    def __eq__(self, other: object) -> bool:
        """Refusals are equal, whatever was told."""
        return isinstance(other, Refused)

    def __hash__(self) -> int:
        """As all are equal."""
        return hash(Refused)


def refused(error: StateError) -> Refused:
    """The refusal that an error tells: a person can read it."""
    text = str(error)
    assert error.problem
    assert text.isprintable()
    return Refused(text)


_ORACLE: Final = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=Number, parse_float=Number, parse_constant=Number
)


def oracle_json(raw: bytes) -> object:
    """The value that the standard library reads, or ``Refused``; bytes of no UTF-8 are surrogates."""
    try:
        return _ORACLE.decode(raw.decode(errors="surrogateescape"))
    except (ValueError, RecursionError):
        return Refused()


def oracle_record(value: object) -> SandboxPin | Refused | None:
    """What a record's value means by the design: a pin, no pin, or a refusal."""
    if not isinstance(value, Members):
        return Refused()
    if not value:
        return None
    facts = dict(value)
    schema = facts.pop("schema", None)
    names = {"mode", "source", "recorded_at"} | ({"backend"} if schema == "2" else set())
    if len(dict(value)) != len(value) or not isinstance(schema, Number) or schema not in {"1", "2"}:
        return Refused()
    found = {
        key: text for key, text in facts.items() if isinstance(text, str) and not isinstance(text, Number)
    }
    if set(facts) != names or set(found) != names or not all(starmap(_fits, found.items())):
        return Refused()
    mode, source = SandboxMode(found["mode"]), PinSource(found["source"])
    if schema == "1":
        return PinV1(mode=mode, source=source, recorded_at=found["recorded_at"])
    return PinV2(mode=mode, source=source, recorded_at=found["recorded_at"], backend=found["backend"])


def _fits(key: str, text: str) -> bool:
    match key:
        case "mode":
            return text in set(SandboxMode)
        case "source":
            return text in set(PinSource)
        case _:
            return 1 <= len(text) <= 64 and not any(0xD800 <= ord(character) < 0xE000 for character in text)
