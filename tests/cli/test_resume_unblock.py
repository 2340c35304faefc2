"""``resume`` and ``unblock``: take up a blocked run, past its pin."""

import pytest

from cli.support import FLAG, PREFERRED, TRUE, Bench, needs_sandbox

KINDS = ["local", "remote"]


def test_resume_launches_the_last_command_again(bench: Bench) -> None:
    """The very words, empty ones and blanks included."""
    script = 'printf "%s|" "$@" >> words; test -e again || { : > again; exit 3; }'
    assert bench.run("r1", command=("sh", "-c", script, "sh", "a b", "", "--mode")).status == 3
    assert bench.state()["status"] == "blocked"
    _ = bench.succeeds("resume", "r1")
    assert (bench.workspace / "words").read_text() == "a b||--mode|" * 2
    assert bench.state()["status"] == "ready"


def test_unblock_makes_a_run_ready_and_launches_nothing(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked", command=bench.touches())
    ended = bench.succeeds("unblock", "r1")
    assert "ready" in ended.err
    assert bench.state()["status"] == "ready"
    assert bench.events() == ["run_created"]
    assert not (bench.workspace / "launched").exists()


@pytest.mark.parametrize("command", ["resume", "unblock"])
def test_a_command_is_refused_where_none_is_taken(command: str, bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked", command=bench.touches())
    for words in (("--",), ("--", *bench.touches())):
        assert "takes none" in bench.unchanged(command, "r1", *words, status=64).err


@pytest.mark.parametrize("flag", [FLAG, f"{FLAG}=disabled"])
@pytest.mark.parametrize(
    ("command", "status", "right"),
    [
        ("step", "blocked", "sandbox-pin resume r1"),
        ("resume", "ready", "sandbox-pin step r1"),
        ("unblock", "ready", "sandbox-pin step r1"),
    ],
)
def test_a_wrong_status_spends_no_consent(
    command: str, status: str, right: str, flag: str, bench: Bench
) -> None:
    """Nothing is decided: the pin, the log and the launch stay away, whatever was accepted."""
    bench.make("r1", "required", status=status, command=bench.touches())
    words = ("--", TRUE) if command == "step" else ()
    ended = bench.unchanged(command, "r1", "--mode", "disabled", flag, *words, status=64)
    assert f"the run is {status}" in ended.err
    assert right in ended.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["resume", "unblock"])
def test_a_weaker_request_is_refused_and_accepted_by_the_flag(command: str, kind: str, bench: Bench) -> None:
    bench.make("r1", "required", kind=kind, status="blocked", command=bench.touches())
    _ = bench.unchanged(command, "r1", status=77)
    _ = bench.succeeds(command, "r1", FLAG)
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("disabled", "accepted")
    assert bench.events()[:2] == ["run_created", "pin_accepted"]
    assert (bench.workspace / "launched").exists() == (command == "resume")


@pytest.mark.parametrize("command", ["resume", "unblock"])
def test_a_stronger_request_raises_the_pin(command: str, bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked", command=(TRUE,))
    _ = bench.succeeds(command, "r1", "--config", bench.config(PREFERRED))
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("preferred", "strengthened")
    assert bench.events()[1] == "pin_strengthened"


def test_unblock_needs_no_capable_host(bench: Bench) -> None:
    """The gate is asked at a launch; here there is none."""
    bench.make("r1", "required", status="blocked")
    bench.without_bubblewrap()
    _ = bench.succeeds("unblock", "r1", "--mode", "required")
    assert bench.state()["status"] == "ready"


@pytest.mark.parametrize("command", ["resume", "unblock"])
def test_a_blocked_state_from_before_pins_is_upgraded(command: str, bench: Bench) -> None:
    _ = bench.make_old(status="blocked")
    _ = bench.succeeds(command, "r1", "--mode", "preferred")
    assert (bench.pin()["mode"], bench.pin()["source"]) == ("preferred", "upgraded")
    assert bench.state()["protocol"] == 12
    assert bench.state()["status"] == "ready"
    assert bench.events()[0] == "pin_upgraded"


def test_resume_without_a_last_command_says_what_to_do(bench: Bench) -> None:
    bench.make("r1", "disabled", status="blocked")
    assert "sandbox-pin unblock r1" in bench.unchanged("resume", "r1", status=64).err


@needs_sandbox
def test_a_run_that_failed_under_the_sandbox_is_resumed_under_it(bench: Bench) -> None:
    script = "test -e again || { : > again; exit 3; }"
    assert bench.run("r1", "--mode", "required", command=("sh", "-c", script)).status == 3
    assert bench.call("resume", "r1").status == 77
    _ = bench.succeeds("resume", "r1", "--mode", "required")
    assert [entry["enforced"] for entry in bench.log() if entry["event"] == "launch_started"] == [True, True]
