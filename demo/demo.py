"""The point of sandbox-pin in one real run: a real repository, a real sandbox, an agent that wants out.

Everything happens in a scratch folder, which is removed at the end. Exits with 0 where all went as the story
says, with 69 on a host that can't enforce a sandbox, and with 1 where something else happened.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

UNENFORCEABLE = 69
REFUSED = 77
HERE = Path(__file__).parent
SANDBOX_PIN = Path(sys.executable).with_name("sandbox-pin")


def main() -> int:
    """Tells the story."""
    if shutil.which("git") is None:
        tell(
            "This demo works in a real git repository, and there is no git here. Install git, and try again."
        )
        return 1
    # Not in /tmp: a sandboxed launch has a private one, in which it may write as it likes, for nobody to see.
    with tempfile.TemporaryDirectory(prefix="sandbox-pin-demo-", dir="/var/tmp") as name:
        return story(Path(name).resolve())


def story(scratch: Path) -> int:
    """Runs each scene in the scratch folder, and stops where one goes another way."""
    workspace, configuration = scratch / "project", scratch / "sandbox.toml"
    configuration.write_text('[sandbox]\nmode = "required"\n')
    make_repository(workspace)
    in_workspace = ["--workspace", str(workspace)]
    configured = ["--config", str(configuration)]
    agent = ["--", "sh", "agent.sh"]

    tell(
        f"""
        A project lies in {workspace}.
        Beside it, {configuration.name} says: sandbox.mode = "required".

        1. A run begins. It is pinned to "required", and its agent is launched inside bubblewrap. The agent
           does its work, then tries to write outside of its workspace and to rewrite the configuration.
        """
    )
    status = sandbox_pin(scratch, "run", "--id", "greet", *configured, *in_workspace, *agent)
    if status == UNENFORCEABLE:
        tell(
            """
            This host can't enforce a sandbox (see above), so the agent was not launched at all: that is what
            "required" means. On a host with user namespaces the story goes on.
            """
        )
        return UNENFORCEABLE
    if status != 0:
        return surprise(status, 0)
    intact = configuration.read_text() == '[sandbox]\nmode = "required"\n'
    if (scratch / "escaped.txt").exists() or not intact:
        tell("The agent got out: that is not the story that this demo tells.")
        return 1
    commits = git(workspace, "log", "--format=%s").splitlines()
    tell(f"Its commit is in the project: {commits[0]!r}. Outside, nothing changed.")

    tell("2. The next step. Somebody forgets --config, so the built-in default, disabled, would apply.")
    status = sandbox_pin(scratch, "step", "greet", *agent)
    if status != REFUSED:
        return surprise(status, REFUSED)

    tell(
        "3. The operator decides to go on weaker all the same, and says so in the open, for this mode alone."
    )
    free = ["--", "sh", "-c", 'echo "agent: this time I run without a sandbox"']
    status = sandbox_pin(scratch, "step", "greet", "--accept-config-change=disabled", *free)
    if status != 0:
        return surprise(status, 0)

    tell("4. What the run is held to now, and how it came to that.")
    status = sandbox_pin(scratch, "status", "greet") or sandbox_pin(scratch, "log", "greet")
    if status != 0:
        return surprise(status, 0)
    tell("Weaker was refused until the operator accepted it, and the log says who, when and why.")
    return 0


def make_repository(workspace: Path) -> None:
    """A real git repository with one commit, and the agent's script in it."""
    workspace.mkdir()
    (workspace / "hello.py").write_text('print("hello")\n')
    shutil.copy(HERE / "agent.sh", workspace / "agent.sh")
    git(workspace, "init", "--quiet")
    git(workspace, "config", "user.name", "A scripted agent")
    git(workspace, "config", "user.email", "agent@example.invalid")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "Begin")


def git(workspace: Path, *arguments: str) -> str:
    """Runs git there, untouched by the user's own settings."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(workspace), *arguments]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


def sandbox_pin(scratch: Path, *arguments: str) -> int:
    """Shows a command line as it would be typed, runs it for real, and gives its exit status."""
    typed = shlex.join(arguments).replace(f"{scratch}/", "")
    print(f"   $ sandbox-pin {typed}", flush=True)
    environment = {**os.environ, "SANDBOX_PIN_RUNS": str(scratch / "runs")}
    done = subprocess.run(
        [SANDBOX_PIN, *arguments],
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(textwrap.indent(done.stdout, "   "), end="")
    print(f"   [exit status {done.returncode}]\n", flush=True)
    return done.returncode


def surprise(status: int, expected: int) -> int:
    """Ends a story that went another way."""
    tell(f"Expected exit status {expected}, and got {status}: that is not the story that this demo tells.")
    return 1


def tell(text: str) -> None:
    """Prints a paragraph."""
    print(textwrap.dedent(text).strip() + "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
