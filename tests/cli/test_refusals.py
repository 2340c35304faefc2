"""A weaker request: what is said, and that nothing at all is written or launched."""

import shlex

import pytest

from cli.support import (
    AT,
    DISABLED,
    FLAG,
    NO_MODE,
    PREFERRED,
    TRUE,
    Bench,
    needs_sandbox,
    snapshot,
)

COMMANDS = [("step", "ready"), ("resume", "blocked"), ("unblock", "blocked")]
KINDS = ["local", "remote"]


def _words(command: str, bench: Bench) -> tuple[str, ...]:
    return ("--", *bench.touches()) if command == "step" else ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("command", "status"), COMMANDS)
@pytest.mark.parametrize("source", ["default", "flag", "file", "file without a mode"])
def test_a_refusal_says_what_is_pinned_what_was_asked_from_where_and_what_to_do(
    source: str, command: str, status: str, kind: str, bench: Bench
) -> None:
    """Pinned mode, since when and how; requested mode and its origin; the configuration, or the flag."""
    bench.make("r1", "required", kind=kind, status=status, command=bench.touches())
    options: tuple[str, ...] = ()
    origin = "the built-in default, as no --config was given"
    if source == "flag":
        options, origin = ("--mode", "disabled"), "--mode"
    elif source == "file":
        origin = bench.config(DISABLED)
        options = ("--config", origin)
    elif source == "file without a mode":
        config = bench.config(NO_MODE)
        options, origin = ("--config", config), f"{config} has no sandbox.mode"
    ended = bench.unchanged(command, "r1", *options, *_words(command, bench), status=77)
    assert f"required (created {AT})" in ended.err
    assert "requested disabled" in ended.err
    assert origin in ended.err
    assert "to ask for as much: --mode required" in ended.err
    assert f"{FLAG}=disabled" in ended.err
    assert "Nothing was written or launched" in ended.err
    assert ended.out == ""


@pytest.mark.parametrize("option", ["--config", "--mode"])
def test_whatever_tells_of_a_refusal_names_what_the_run_was_pinned_by(option: str, bench: Bench) -> None:
    """So that it can be copied: the very file, or the very mode; from the log, for ``check`` too."""
    bench.make("r1", "disabled", status="blocked")
    pinned_by = bench.config(PREFERRED, "what pinned.toml") if option == "--config" else "preferred"
    _ = bench.succeeds("unblock", "r1", option, pinned_by)
    state, log = (str(bench.root / "r1" / name) for name in ("state.json", "run.jsonl"))
    files = ("--state", state, "--log", log, "--kind", "local", "--run", "r1")
    remedy = f"to ask for as much: {option} {shlex.quote(pinned_by)}\n"
    weaker = bench.config(DISABLED)
    for words, status in (
        (("explain", "r1", "--config", weaker), 0),
        (("step", "r1", "--config", weaker, "--", TRUE), 77),
        (("check", *files, "--config", weaker), 77),
        (("check", *files, "--config", weaker, "--dry-run"), 77),
    ):
        ended = bench.unchanged(*words, status=status)
        assert remedy in ended.out + ended.err
    (told,) = bench.unchanged("explain", "r1", "--json", status=0).objects
    assert told["pinned_by"] == bench.log()[-1]["request"]


@pytest.mark.parametrize(
    ("kind", "pinned", "requested", "refused"),
    [
        ("local", "required", "preferred", True),
        ("local", "preferred", "disabled", True),
        ("remote", "preferred", "disabled", True),
        ("remote", "required", "disabled", True),
        ("remote", "required", "preferred", False),
        ("remote", "preferred", "required", False),
        ("local", "disabled", "disabled", False),
    ],
)
def test_weaker_is_a_matter_of_strength_in_the_runs_own_kind(
    kind: str, pinned: str, requested: str, *, refused: bool, bench: Bench
) -> None:
    """A remote run's preferred is as strong as required: neither is a change, and the word stays."""
    bench.make("r1", pinned, kind=kind, status="blocked")
    if refused:
        _ = bench.unchanged("unblock", "r1", "--mode", requested, status=77)
    else:
        _ = bench.succeeds("unblock", "r1", "--mode", requested)
    assert (bench.pin()["mode"], bench.pin()["source"]) == (pinned, "created")


@pytest.mark.parametrize(("command", "status"), COMMANDS)
def test_the_flag_for_another_mode_than_the_requests_accepts_nothing(
    command: str, status: str, bench: Bench
) -> None:
    """A file changed after the refusal is not accepted unseen; the message says which mode was meant."""
    bench.make("r1", "required", status=status, command=bench.touches())
    ended = bench.unchanged(command, "r1", f"{FLAG}=preferred", *_words(command, bench), status=77)
    assert f"{FLAG}=preferred accepts preferred alone, and the request is disabled" in ended.err
    config = bench.config(PREFERRED)
    ended = bench.unchanged(
        command, "r1", "--config", config, f"{FLAG}=disabled", *_words(command, bench), status=77
    )
    assert "accepts disabled alone, and the request is preferred" in ended.err


@pytest.mark.parametrize("value", ["", "Disabled", "off", "yes", "true", "1"])
def test_the_flag_with_what_is_no_mode_is_a_wrong_call(value: str, bench: Bench) -> None:
    bench.make("r1", "required")
    ended = bench.unchanged("step", "r1", f"{FLAG}={value}", "--", *bench.touches(), status=64)
    assert "disabled, preferred, required" in ended.err


def test_no_environment_variable_gives_the_flag(bench: Bench) -> None:
    bench.make("r1", "required")
    for name in (
        "ACCEPT_CONFIG_CHANGE",
        "SANDBOX_PIN_ACCEPT_CONFIG_CHANGE",
        "SANDBOX_PIN_STEP_CONSENT",
        "SANDBOX_PIN_CONSENT",
        "CONSENT",
    ):
        bench.monkeypatch.setenv(name, "disabled")
    _ = bench.unchanged("step", "r1", "--", *bench.touches(), status=77)


@pytest.mark.parametrize("key", ["accept_config_change", "accept-config-change", "accept"])
@pytest.mark.parametrize(
    "table", ['[sandbox]\nmode = "disabled"\n{} = true\n', "[sandbox]\n{} = 'disabled'\n"]
)
def test_no_configuration_key_gives_the_flag(key: str, table: str, bench: Bench) -> None:
    bench.make("r1", "required")
    config = bench.config(table.format(key))
    ended = bench.unchanged("step", "r1", "--config", config, "--", *bench.touches(), status=78)
    assert f"sandbox.{key}" in ended.err


def test_the_flag_is_for_one_command_only(bench: Bench) -> None:
    bench.make("r1", "required")
    _ = bench.succeeds("step", "r1", "--mode", "preferred", FLAG, "--", TRUE)
    _ = bench.unchanged("step", "r1", "--mode", "disabled", "--", TRUE, status=77)


def test_another_backend_than_the_pinned_one_is_the_operators_to_decide(bench: Bench) -> None:
    """Of two backends none is the stronger: each fact that is weaker is named."""
    bench.make("r1", "required", kind="remote", backend="other", status="blocked")
    config = bench.config('[sandbox]\nmode = "preferred"\nbackend = "bubblewrap"\n')
    ended = bench.unchanged("unblock", "r1", "--config", config, status=77)
    assert f"backend: pinned other, requested bubblewrap (from {config})" in ended.err
    _ = bench.succeeds("unblock", "r1", "--config", config, FLAG)
    assert (bench.pin()["schema"], bench.pin()["backend"]) == (2, "bubblewrap")


def test_a_refusal_by_a_real_process_touches_nothing(bench: Bench) -> None:
    bench.make("r1", "required")
    before = snapshot(bench.home)
    ended = bench.real("step", "r1", "--", *bench.touches())
    assert ended.status == 77
    assert snapshot(bench.home) == before


# From inside a launch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "words",
    [
        ("step", "r1", FLAG, "--", TRUE),
        ("step", "r1", f"{FLAG}=disabled", "--", TRUE),
        ("resume", "r1", FLAG),
        ("unblock", "r1", FLAG),
        ("run", "--id", "r2", FLAG, "--", TRUE),
        ("recover", "r1"),
    ],
)
def test_the_flag_and_recover_are_refused_where_the_marker_is_set(
    words: tuple[str, ...], kind: str, bench: Bench
) -> None:
    bench.make(
        "r1", "required", kind=kind, status="blocked" if words[0] in {"resume", "unblock"} else "ready"
    )
    bench.monkeypatch.setenv("SANDBOX_PIN_LAUNCH", "r0")
    ended = bench.unchanged(*words, status=77)
    assert "inside a launch" in ended.err
    assert "r0" in ended.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_launch_that_calls_the_flag_or_recover_itself_is_refused(kind: str, bench: Bench) -> None:
    """Real processes: the marker is handed to the launch, the folder of runs and the flag are not."""
    bench.make("r1", "required", kind=kind)
    bench.make("r2", "required", kind=kind)
    bench.damage("r2", sandbox_pin=None)
    before = snapshot(bench.root / "r1"), snapshot(bench.root / "r2")
    script = (
        f"sandbox-pin step --runs {bench.root} r1 {FLAG} -- touch launched; echo $? > flag;"
        f"sandbox-pin recover --runs {bench.root} r2; echo $? > recover;"
        f"sandbox-pin status --runs {bench.root} r1; echo $? > status"
    )
    remote = ("--remote",) if kind == "remote" else ()
    ended = bench.real(
        "run", "--id", "r3", "--workspace", str(bench.workspace), *remote, "--", "sh", "-c", script
    )
    assert ended.status == 0
    said = {name: (bench.workspace / name).read_text() for name in ("flag", "recover", "status")}
    assert said == {"flag": "77\n", "recover": "77\n", "status": "0\n"}
    assert not (bench.workspace / "launched").exists()
    assert (snapshot(bench.root / "r1"), snapshot(bench.root / "r2")) == before


@needs_sandbox
def test_a_launch_in_the_sandbox_can_not_even_see_the_runs(bench: Bench) -> None:
    bench.make("r1", "required")
    script = (
        f"sandbox-pin unblock --runs {bench.root} r1 {FLAG}; echo $? > flag; ls {bench.root}; echo $? > seen"
    )
    ended = bench.run("r3", "--mode", "required", command=("sh", "-c", script))
    assert ended.status == 0, ended
    assert (bench.workspace / "flag").read_text() in {"77\n", "127\n"}
    assert (bench.workspace / "seen").read_text() != "0\n"
