"""A launch at a real terminal: what is typed reaches the command, or the shell, and never the wrong one.

Each test starts bash on a pseudo-terminal of its own, and ends it.
"""

import os
import pty
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PATIENCE: Final = 20.0
COMMAND: Final = f"{Path(sys.executable).with_name('sandbox-pin')} run --mode required --workspace ws -- "


class Terminal:
    """An interactive shell at a terminal."""

    def __init__(self, folder: Path) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            environment = {
                "PATH": os.environ["PATH"],
                "PS1": "$ ",
                "TERM": "dumb",
                "SANDBOX_PIN_RUNS": str(folder / "runs"),
            }
            os.execve("/bin/bash", ["bash", "--norc", "-i"], environment)  # noqa: S606 - no other shell
        self.seen = ""
        self.wait_for("$ ")

    def type(self, text: str) -> None:
        """Types, as at a keyboard."""
        self.seen = ""
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str) -> None:
        """Waits until the terminal shows this."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self._descriptor], [], [], 0.1)[0]:
                self.seen += os.read(self._descriptor, 4096).decode(errors="replace")

    def end(self) -> None:
        """Hangs up, and ends the shell."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._descriptor)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A shell in a folder with a workspace."""
    if not Path("/bin/bash").exists():
        pytest.skip("job control is tested with bash, which is not here")
    allowed = Path("/proc/sys/dev/tty/legacy_tiocsti")
    if allowed.exists() and allowed.read_text().strip() == "0":
        pytest.skip("this kernel refuses TIOCSTI, so that a launch shares the terminal's session")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        (Path(name) / "ws").mkdir()
        shell = Terminal(Path(name))
        try:
            yield shell
        finally:
            shell.end()


def test_ctrl_c_reaches_the_command_and_not_the_sandbox(terminal: Terminal) -> None:
    """The command may end as it likes; its own status is passed on."""
    terminal.type(COMMAND + "sh -c 'trap \"echo trap''ped; exit 3\" INT; echo rea''dy; sleep 60 & wait'\n")
    terminal.wait_for("ready")
    terminal.type("\x03")
    terminal.wait_for("trapped")
    terminal.wait_for("exit status 3, after this command was told to stop")
    terminal.type("echo status=$?\n")
    terminal.wait_for("status=3")


def test_ctrl_z_does_not_let_the_command_read_what_is_typed_into_the_shell(terminal: Terminal) -> None:
    """A command in a session of its own can't be stopped by the terminal, so neither is its controller."""
    terminal.type(COMMAND + "cat\n")
    terminal.wait_for("pinned to required")
    terminal.type("hello\n")
    terminal.wait_for("hello\r\nhello")
    terminal.type("\x1a")
    time.sleep(0.3)
    terminal.type("still here\n")
    terminal.wait_for("still here\r\nstill here")
    terminal.type("\x04")
    terminal.wait_for("$ ")


def test_a_launch_in_the_background_reads_nothing_of_the_terminal(terminal: Terminal) -> None:
    """What the operator types goes to the shell."""
    terminal.type(COMMAND + "cat > got & wait %1; echo en''ded\n")
    terminal.wait_for("ended")
    terminal.type("cat got; echo si''ze=$(wc -c < got)\n")
    terminal.wait_for("size=0")
