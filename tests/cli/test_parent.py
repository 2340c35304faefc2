"""``--parent``: a child has at least its parent's strength, each in its own kind."""

import pytest

from cli.support import AT, FLAG, TRUE, Bench, needs_sandbox


def _child(bench: Bench, kind: str, *options: str) -> tuple[str, ...]:
    remote = ("--remote",) if kind == "remote" else ()
    workspace = ("--workspace", str(bench.workspace))
    return (
        "run",
        "--id",
        "child",
        *workspace,
        "--parent",
        "parent",
        *remote,
        *options,
        "--",
        *bench.touches(),
    )


@needs_sandbox
@pytest.mark.parametrize(
    ("parent_kind", "parent_mode", "kind", "mode", "pinned"),
    [
        ("local", "disabled", "local", "disabled", "disabled"),
        ("local", "preferred", "local", "disabled", "preferred"),
        ("local", "required", "local", "preferred", "required"),
        ("local", "preferred", "local", "required", "required"),
        ("local", "preferred", "remote", "disabled", "preferred"),
        ("local", "required", "remote", "disabled", "preferred"),
        ("local", "required", "remote", "required", "required"),
        ("remote", "preferred", "local", "disabled", "required"),
        ("remote", "preferred", "local", "preferred", "required"),
        ("remote", "required", "remote", "disabled", "preferred"),
        ("remote", "required", "remote", "preferred", "preferred"),
        ("remote", "disabled", "local", "disabled", "disabled"),
    ],
)
def test_a_weaker_request_is_raised_to_the_child_kinds_weakest_mode_of_that_strength(
    parent_kind: str, parent_mode: str, kind: str, mode: str, pinned: str, bench: Bench
) -> None:
    """Without the flag; that is no refusal, as there is nothing yet that could be weakened. It is told."""
    bench.make("parent", parent_mode, kind=parent_kind)
    ended = bench.succeeds(*_child(bench, kind, "--mode", mode))
    assert (bench.pin("child")["mode"], bench.pin("child")["source"]) == (pinned, "created")
    created = bench.log("child")[0]
    assert created["parent"] == {
        "run": "parent",
        "kind": parent_kind,
        "pin": {"schema": 1, "mode": parent_mode, "source": "created", "recorded_at": AT},
    }
    assert created["request"]["mode"] == mode
    assert ("held up by its parent parent" in ended.err) == (pinned != mode)
    assert bench.state("child")["parent"] == "parent"
    assert bench.events("parent") == ["run_created"]


@pytest.mark.parametrize(
    ("parent_kind", "kind", "floor"),
    [("local", "local", "required"), ("local", "remote", "preferred"), ("remote", "local", "required")],
)
@pytest.mark.parametrize("flag", [FLAG, f"{FLAG}=disabled"])
def test_lower_only_by_the_flag_and_that_is_in_the_childs_log(
    parent_kind: str, kind: str, floor: str, flag: str, bench: Bench
) -> None:
    bench.make("parent", "required", kind=parent_kind)
    _ = bench.succeeds(*_child(bench, kind, "--mode", "disabled", flag))
    assert (bench.pin("child")["mode"], bench.pin("child")["source"]) == ("disabled", "accepted")
    created, accepted = bench.log("child")[:2]
    assert (created["event"], created["pin"]["mode"]) == ("run_created", floor)
    assert (accepted["event"], accepted["before"]["mode"]) == ("pin_accepted", floor)
    assert bench.pin("parent")["mode"] == "required"


@needs_sandbox
def test_the_flag_for_another_mode_accepts_nothing(bench: Bench) -> None:
    bench.make("parent", "required")
    _ = bench.succeeds(*_child(bench, "local", "--mode", "disabled", f"{FLAG}=preferred"))
    assert bench.pin("child")["mode"] == "required"
    assert "pin_accepted" not in bench.events("child")


def test_the_parents_pin_in_force_counts_not_its_state_alone(bench: Bench) -> None:
    """A parent whose state was put back from an old copy is held to what its log says."""
    bench.make("parent", "required")
    pin = {"schema": 1, "mode": "disabled", "source": "created", "recorded_at": AT}
    bench.damage("parent", sandbox_pin=pin)
    bench.without_bubblewrap()
    assert bench.call(*_child(bench, "local")).status == 69
    assert not (bench.root / "child").exists()


def test_a_child_that_its_parent_holds_up_meets_the_gate_at_that_mode(bench: Bench) -> None:
    bench.make("parent", "required")
    bench.without_bubblewrap()
    assert bench.call(*_child(bench, "local", "--mode", "disabled")).status == 69
    assert not (bench.root / "child").exists()
    assert not (bench.workspace / "launched").exists()


def test_a_parent_without_a_pin_yet_holds_no_child(bench: Bench) -> None:
    _ = bench.make_old("parent")
    ended = bench.unchanged(*_child(bench, "local"), status=64)
    assert "no pin yet" in ended.err
    _ = bench.succeeds("step", "parent", "--", TRUE)
    _ = bench.succeeds(*_child(bench, "local"))


def test_a_damaged_parent_holds_no_child(bench: Bench) -> None:
    bench.make("parent", "required")
    bench.damage("parent", sandbox_pin={})
    _ = bench.unchanged(*_child(bench, "local", FLAG), status=65)
