"""Misuse of the public names: checked, never run. A comment says what each checker finds in the next line.

Where a checker does not see a misuse, the comment does not name it; that silence is held too (``check.py``).
"""

from typing import assert_never

from sandbox_pin import (
    Accept,
    Decision,
    FromFlag,
    RunKind,
    SandboxMode,
    SandboxPin,
    SandboxRequest,
    Strengthen,
    Unchanged,
    Upgrade,
    create_pin,
    decide,
    decode_pin,
    encode_pin,
    mode_strength,
    pin_in_force,
    read_pin,
    replace_pin,
)
from sandbox_pin.shell import apply_decision, apply_request
from sandbox_pin.testing import (
    MemoryLog,
    OrchestratorUnderTest,
    build_entry,
    build_pin,
    build_request,
    check_witness_holds,
)

LOCAL = RunKind.LOCAL
request = SandboxRequest(mode=SandboxMode.REQUIRED)
pin = build_pin()
made = decide(pin, request, kind=LOCAL, accept_config_change=False, at="x")
log = MemoryLog()


# A mode or a kind as a plain string

# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(SandboxRequest(mode="required"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(mode_strength("required", LOCAL))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(mode_strength(SandboxMode.REQUIRED, "local"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(create_pin(request, kind="local", at="x"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(build_pin(mode="required"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(build_request(mode="required"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(build_entry(kind="local"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(FromFlag(flag=SandboxMode))


# Positional arguments

# expect mypy=call-arg pyright=reportCallIssue
# expect ty=missing-argument,too-many-positional-arguments pyrefly=unexpected-positional-argument
print(SandboxRequest(SandboxMode.REQUIRED))
# expect mypy=call-arg pyright=reportCallIssue,reportUnknownArgumentType
# expect ty=missing-argument,too-many-positional-arguments pyrefly=unexpected-positional-argument
print(create_pin(request, LOCAL, "x"))
# expect mypy=call-arg pyright=reportCallIssue,reportUnknownArgumentType
# expect ty=missing-argument,too-many-positional-arguments pyrefly=unexpected-positional-argument
print(decide(pin, request, LOCAL, False, "x"))
# expect mypy=call-arg pyright=reportCallIssue,reportUnknownArgumentType
# expect ty=missing-argument,too-many-positional-arguments pyrefly=unexpected-positional-argument
print(pin_in_force(pin, None, LOCAL))
# expect mypy=call-arg pyright=reportCallIssue,reportUnknownArgumentType
# expect ty=too-many-positional-arguments pyrefly=bad-argument-count
print(build_pin(SandboxMode.REQUIRED))


# A forgotten arm


def forgets_refuse(decision: Decision) -> SandboxPin:
    """Ends in ``assert_never``, and one decision reaches it."""
    match decision:
        case Accept() | Strengthen() | Upgrade() | Unchanged():
            return decision.pin
        case _:
            # expect mypy=arg-type pyright=reportArgumentType
            # expect ty=type-assertion-failure pyrefly=bad-argument-type
            assert_never(decision)


def forgets_refuse_without_a_last_arm(decision: Decision) -> None:
    """Has no ``assert_never``."""
    # expect mypy=exhaustive-match pyright=reportMatchNotExhaustive
    match decision:
        case Accept() | Strengthen() | Upgrade() | Unchanged():
            print(decision.pin)


# A decision, or a pin, dropped or taken for a truth value

# expect pyright=reportUnusedCallResult
decide(pin, request, kind=LOCAL, accept_config_change=False, at="x")
# expect pyright=reportUnusedCallResult
create_pin(request, kind=LOCAL, at="x")
# expect pyright=reportUnusedCallResult
apply_request(request, state=pin, log=log, save=print, kind=LOCAL, run="r", accept_config_change=False)
# expect mypy=truthy-bool
if made:
    print("launched")
# expect mypy=truthy-bool
if decide(pin, request, kind=LOCAL, accept_config_change=False, at="x"):
    print("launched")
# expect mypy=truthy-bool
if not apply_request(
    request, state=pin, log=log, save=print, kind=LOCAL, run="r", accept_config_change=False
):
    print("refused")


# What is frozen

# expect mypy=misc pyright=reportAttributeAccessIssue ty=invalid-assignment pyrefly=read-only
pin.mode = SandboxMode.DISABLED
# expect mypy=misc pyright=reportAttributeAccessIssue ty=invalid-assignment pyrefly=read-only
request.mode = SandboxMode.DISABLED
# expect mypy=misc pyright=reportAttributeAccessIssue ty=invalid-assignment pyrefly=read-only
made.pin = pin


# No pin is a value of its own, never None

# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(decide(None, request, kind=LOCAL, accept_config_change=False, at="x"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(pin_in_force(None, None, kind=LOCAL))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(replace_pin(b"{}", None))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(replace_pin(b"{}", decode_pin(b"{}")))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(encode_pin(read_pin(b"{}")))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(apply_decision(made, state=None, log=log, save=print, run="r", operator="o"))
# expect mypy=union-attr pyright=reportAttributeAccessIssue,reportUnknownArgumentType,reportUnknownMemberType
# expect ty=missing-union-attribute pyrefly=missing-attribute
print(read_pin(b"{}").mode)


# What a decision does not say

# expect mypy=union-attr pyright=reportAttributeAccessIssue,reportUnknownArgumentType,reportUnknownMemberType
# expect ty=missing-union-attribute pyrefly=missing-attribute
print(made.entry)
# expect mypy=union-attr pyright=reportAttributeAccessIssue,reportUnknownArgumentType,reportUnknownMemberType
# expect ty=missing-union-attribute pyrefly=missing-attribute
print(made.weaker)


# Consent is said, each time

# expect mypy=call-arg pyright=reportCallIssue,reportUnknownArgumentType
# expect ty=missing-argument pyrefly=missing-argument
print(decide(pin, request, kind=LOCAL, at="x"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(decide(pin, request, kind=LOCAL, accept_config_change="yes", at="x"))


# A log of one method, and an adapter that forgets one


class AppendsOnly:
    """Has no ``last_entry``."""

    def append(self, entry: object, /) -> None:
        """Takes anything."""


class Forgetful:
    """Has ``start`` alone."""

    def start(self, request: SandboxRequest, /) -> None:
        """Starts."""


# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
print(apply_decision(made, state=pin, log=AppendsOnly(), save=print, run="r", operator="o"))
# expect mypy=arg-type pyright=reportArgumentType ty=invalid-argument-type pyrefly=bad-argument-type
check_witness_holds(Forgetful)
# expect mypy=assignment pyright=reportAssignmentType ty=invalid-assignment pyrefly=bad-assignment
adapter: OrchestratorUnderTest = Forgetful()
