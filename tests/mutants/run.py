"""Makes mutants of the product, one small change each, and says which of them no test notices.

``python tests/mutants/run.py [functions|tables]``: both where none is named. ``functions`` are those of
``core/``, ``shell/apply.py`` and ``shell/run_log.py``, changed by mutmut (``[tool.mutmut]`` in
``pyproject.toml``); ``tables`` is all that stands in modules and classes outside of functions, which mutmut
skips, and the order of the calls in ``shell/durable.py``, changed by ``tables.py``, which asks mypy about
those that no test notices.

Everything happens in a copy in a temporary folder. Ends with status 1 where fewer than 95 % are killed, or
where one survives that ``equivalent.md`` does not list. The figures are appended, as JSON lines, to the file
that the environment's ``SANDBOX_PIN_FIGURES`` names.
"""

import argparse
import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mutants.mutant import Mutant  # noqa: E402 - found from here as from the tests
from mutants.tables import mutate_tables  # noqa: E402 - the same

ROOT: Final = HERE.parents[1]
LISTED: Final = HERE / "equivalent.md"
GOAL: Final = 0.95

_COPIED: Final = ("src", "tests", "typings", "docs", "pyproject.toml", "README.md", "LICENSE")
_SURVIVED: Final = frozenset({0, 5, 33, 34})  # mutmut's codes: passed; nothing collected; no tests; skipped
_UNKNOWN: Final = frozenset({None, 2, 35})  # not checked, interrupted, suspicious

# Derandomized and without shrinking: whether a mutant is killed is no matter of luck, and found is enough.
_PROFILE: Final = """

from hypothesis import HealthCheck, Phase

settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")
"""


def make_copy(folder: Path) -> Path:
    """A copy of the project that may be broken."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            _ = shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            _ = shutil.copy(source, folder / name)
    with (folder / "tests" / "conftest.py").open("a", encoding="utf-8") as file:
        _ = file.write(_PROFILE)
    return folder


def mutate_functions(folder: Path, jobs: int) -> list[Mutant]:
    """Lets mutmut make and try its mutants."""
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    found = list(read_functions(folder / "mutants" / "src" / "sandbox_pin"))
    if done.returncode != 0 or not found:
        sys.stderr.write(done.stdout.decode(errors="replace")[-8000:])
        raise SystemExit("mutmut failed")
    return found


def read_functions(package: Path) -> Iterable[Mutant]:
    """What mutmut found, out of the files that it keeps."""
    for meta in sorted(package.rglob("*.meta")):
        codes: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        source = meta.with_suffix("")
        tree = ast.parse(source.read_text(encoding="utf-8"))
        functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for key, code in codes.items():
            if code in _UNKNOWN:
                raise SystemExit(f"mutmut did not come to an end with {key}: {code}")
            name = key.rpartition(".")[2]
            before = functions[f"{name.rpartition('__mutmut_')[0]}__mutmut_orig"]
            change = f"{_readable(name)}: {told_change(before, functions[name])}"
            module = source.relative_to(package).as_posix()
            yield Mutant(module=module, change=change, killed=code not in _SURVIVED)


def _readable(name: str) -> str:
    """A function's own name: ``x__kind__mutmut_1`` is of ``_kind``, ``xǁCǁf__mutmut_1`` of ``C.f``."""
    function = name.rpartition("__mutmut_")[0]
    return function.removeprefix("xǁ").replace("ǁ", ".") if "ǁ" in function else function.removeprefix("x_")


def told_change(before: ast.AST, after: ast.AST) -> str:
    """The lines that differ, each after its sign."""
    lines = (ast.unparse(node).split("\n") for node in (before, after))
    # The first line is the name, which differs in each of mutmut's functions.
    old, new = ([line.strip() for line in some if not line.startswith("def ")] for some in lines)
    told = difflib.unified_diff(old, new, n=0, lineterm="")
    kept = [f"{line[0]} {line[1:]}" for line in told if line[0] in "+-" and line[:3] not in {"+++", "---"}]
    return " ".join(kept)


def listed() -> list[str]:
    """The mutants that are known to change nothing: each stands between two lines of three backquotes."""
    found: list[str] = []
    inside = False
    for line in LISTED.read_text(encoding="utf-8").split("\n"):
        if line == "```":
            inside = not inside
        elif inside:
            found.append(line)
    return found


def main() -> int:
    """Makes, tries and tells."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", nargs="*", choices=["functions", "tables", []])
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    told = arguments.parse_args()
    failed = False
    known = listed()
    for what in told.what or ["functions", "tables"]:
        began = time.monotonic()
        with TemporaryDirectory() as folder:
            copy = make_copy(Path(folder))
            mutate = mutate_functions if what == "functions" else mutate_tables
            mutants = mutate(copy, told.jobs)
        failed |= not tell(what, mutants, known, time.monotonic() - began)
    return int(failed)


def tell(what: str, mutants: list[Mutant], known: list[str], seconds: float) -> bool:
    """Prints the figures, and whether they are good enough."""
    modules = sorted({mutant.module for mutant in mutants})
    figures = os.environ.get("SANDBOX_PIN_FIGURES")
    for module in [*modules, "all"]:
        some = [mutant for mutant in mutants if module in {"all", mutant.module}]
        killed = sum(mutant.killed for mutant in some)
        share = f"{100 * killed / len(some):5.1f} %"
        sys.stdout.write(f"{what} of {module:28} {len(some):5} made {killed:5} killed {share}\n")
        if figures is not None:
            row = {"suite": "mutants", "what": what, "module": module, "made": len(some), "killed": killed}
            with Path(figures).open("a", encoding="utf-8") as file:
                _ = file.write(json.dumps({**row, "seconds": round(seconds, 1)}) + "\n")
    survivors = [mutant for mutant in mutants if not mutant.killed]
    unlisted = [mutant for mutant in survivors if mutant.key not in known]
    for mutant in unlisted:
        sys.stdout.write(f"survived, and is not listed: {mutant.key}\n")
    sys.stdout.write(f"{what}: {len(survivors)} survived, {len(unlisted)} unlisted, in {seconds:.0f} s\n")
    return not unlisted and len(survivors) <= (1 - GOAL) * len(mutants)


if __name__ == "__main__":
    sys.exit(main())
