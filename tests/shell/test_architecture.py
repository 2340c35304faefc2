"""Where the dangerous calls are made: each in one place, where one look shows what it goes through."""

import ast
from pathlib import Path
from typing import Final

import sandbox_pin

SOURCE: Final = Path(sandbox_pin.__file__).parent


def calls(path: Path) -> set[str]:
    """The names that a file calls or hands on: ``os.fork`` and ``spawn`` for ``from ... import spawn``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Import):
            found |= {f"import {name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"import {node.module}", *(f"import {node.module}.{name.name}" for name in node.names)}
    return found


CALLS: Final = {str(path.relative_to(SOURCE)): calls(path) for path in sorted(SOURCE.rglob("*.py"))}


def files_with(*names: str) -> set[str]:
    """The files that use one of these names."""
    return {file for file, found in CALLS.items() if found & set(names)}


def test_the_scan_sees_the_source() -> None:
    assert {"shell/spawn.py", "shell/apply.py", "cli/main.py", "core/rule.py"} <= set(CALLS)
    assert files_with("os.fork")


STARTS_A_PROCESS: Final = [
    *(f"os.{name}" for name in ("fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp")),
    *(f"os.exec{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *(f"os.spawn{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *(f"import {name}" for name in ("subprocess", "multiprocessing", "pty", "asyncio", "_posixsubprocess")),
]


def test_one_file_starts_processes() -> None:
    assert files_with(*STARTS_A_PROCESS) == {
        "shell/spawn.py",
        "shell/audit_workers.py",  # forks of itself that only read; no program is started
    }


def test_one_file_starts_an_agent_s_process_and_one_tries_the_host() -> None:
    assert files_with("spawn") == {"shell/launch.py", "shell/host.py"}
    assert files_with("fork_held") == {"shell/spawn.py", "shell/guardian.py"}
    assert files_with("guard") == {"shell/launch.py"}
    assert files_with("hold_launch") == {"shell/launch.py", "shell/logged_launch.py"} - {"shell/launch.py"}


def test_the_file_that_launches_knows_no_mode() -> None:
    """It takes a gate decision."""
    assert not CALLS["shell/launch.py"] & {"SandboxMode", "mode_strength", "pass_gate"}


RENAMES_OR_FLUSHES: Final = {
    "shell/durable.py": "the place for it",
    "shell/run_log.py": "a log is appended to, and flushed before the append returns",
    "shell/run_creation.py": "a new run's folder is renamed into place whole",
    "shell/new_start.py": "a folder in a file's place is kept aside, under another name",
}


def test_durable_writes_are_made_in_one_place_and_the_named_exceptions() -> None:
    names = [f"os.{name}" for name in ("rename", "renames", "replace", "fsync", "fdatasync", "sync")]
    assert files_with(*names) == set(RENAMES_OR_FLUSHES)
    assert files_with("os.fsync", "os.fdatasync") == {"shell/durable.py", "shell/run_log.py"}
    assert files_with("os.write", "os.pwrite", "os.writev") - {"shell/durable.py"} <= {
        "shell/spawn.py",  # the pipes between a controller and its held child
        "shell/guardian.py",  # the same
        "cli/main.py",
        "cli/terminal.py",
    }


CHANGES_A_PIN: Final = {
    "shell/continue_run.py": "carries a decision out",
    "shell/start_run.py": "carries the decision on a new run out",
    "shell/embedding.py": "carries a decision out over an orchestrator's own state and log",
}


def test_a_changed_pin_goes_through_one_place() -> None:
    """``apply_decision`` is what every command calls; the log's entry of a change is made there alone."""
    assert files_with("apply_decision") - {"shell/apply.py", "shell/__init__.py"} == set(CHANGES_A_PIN)
    assert files_with("change_entry") == {"shell/apply.py"}
    assert (
        files_with("import sandbox_pin.core.state.replace_pin", "replace_pin")
        - {
            "__init__.py",
            "core/state.py",
            "core/run_state.py",  # a new state
            "shell/check.py",  # hands it to apply_request
            "shell/recover.py",  # starts a damaged state anew, under required
            "testing/state_in_file.py",  # plays whoever puts an old copy back
        }
        == set()
    )


def test_nothing_of_the_core_reads_a_clock_or_a_file() -> None:
    forbidden = {
        f"import {name}" for name in ("os", "sys", "time", "datetime", "random", "pathlib", "socket", "io")
    }
    assert {file for file in files_with(*forbidden) if file.startswith("core/")} == set()
