"""Typed usage of the public names: checked, never run. Each misuse names the error that must appear."""

from typing import assert_never, assert_type

from sandbox_pin import (
    Accept,
    Decision,
    Disputed,
    Refuse,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    Strength,
    Strengthen,
    Unchanged,
    Unpinned,
    Upgrade,
    create_pin,
    decide,
    decode_pin,
    describe_pin,
    encode_pin,
    mode_strength,
    pin_in_force,
    read_pin,
    replace_pin,
)

request = SandboxRequest(mode=SandboxMode.REQUIRED)
pin = create_pin(request, kind=RunKind.LOCAL, at="2026-01-01T00:00:00Z")
in_force = pin_in_force(pin, None, kind=RunKind.LOCAL)
decision = decide(in_force, request, kind=RunKind.LOCAL, accept_config_change=False, at="x")

INFERRED = (
    assert_type(pin, SandboxPin),
    assert_type(mode_strength(SandboxMode.REQUIRED, RunKind.LOCAL), Strength),
    assert_type(decode_pin(b"{}"), SandboxPin | None),
    assert_type(encode_pin(pin), bytes),
    assert_type(describe_pin(pin), str),
    assert_type(read_pin(b"{}", pinned_since=None), SandboxPin | Unpinned),
    assert_type(replace_pin(b"{}", pin), bytes),
    assert_type(in_force, SandboxPin | Disputed | Unpinned),
    assert_type(decision, Decision),
)


def after(made: Decision) -> SandboxPin | Disputed:
    """A match over all decisions is exhaustive, and every decision has the pin after it."""
    match made:
        case Refuse():
            return made.pin
        case Accept() | Strengthen() | Upgrade() | Unchanged():
            return made.pin
        case _:
            assert_never(made)


def forgets_one(made: Decision) -> SandboxPin | Disputed:
    """A forgotten decision is an error."""
    match made:
        case Accept() | Strengthen() | Upgrade() | Unchanged():
            return made.pin
        case _:
            assert_never(made)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


MISUSED = (
    mode_strength("required", RunKind.LOCAL),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    SandboxRequest(SandboxMode.REQUIRED),  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
)
pin.mode = SandboxMode.DISABLED  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
decide(  # pyright: ignore[reportUnusedCallResult]
    in_force, request, kind=RunKind.LOCAL, accept_config_change=False, at="x"
)
if decide(  # type: ignore[truthy-bool]
    in_force, request, kind=RunKind.LOCAL, accept_config_change=False, at="x"
):
    pass
