"""Mutants of what mutmut skips: constants, tables, classes and types; and of the order of durable writes.

A worker imports pytest and hypothesis once and forks for each mutant, which is several times as fast as a new
interpreter each. First the module's own tests are asked, then, if they notice nothing, all of them, and at
last mypy, which ``make check`` runs too: a type that does not fit what is done with it is an error there.
"""

import ast
import copy
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Final

from mutants.mutant import Mutant

DURABLE: Final = "shell/durable.py"
_QUICK: Final = {
    "core/record.py": ("core/test_record.py", "core/test_messages.py"),
    "core/event.py": ("core/test_event.py", "core/test_messages.py"),
    "core/log_line.py": ("core/test_event.py", "core/test_messages.py", "shell/test_run_log_messages.py"),
    "core/placement_violation.py": ("core/test_messages.py", "core/test_placement.py"),
    "core/placement_facts.py": ("core/test_placement.py",),
    "core/decision.py": ("core/test_values.py", "core/test_rule.py", "core/test_describe.py"),
    "core/facts.py": ("core/test_words.py", "core/test_rule.py"),
    "core/modes.py": ("core/test_conformance.py",),
    "core/spelling.py": ("core/test_configuration.py", "core/test_messages.py"),
}
_CORE: Final = ("core",)
_SHELL: Final = {
    "shell/apply.py": ("shell/test_apply.py", "shell/test_values.py"),
    "shell/run_log.py": ("shell/test_run_log_messages.py", "shell/test_run_log.py", "shell/test_values.py"),
    DURABLE: ("shell/test_durable.py", "shell/test_run_log_messages.py", "shell/test_run_log.py"),
}
_SLOW: Final = ("core/test_state_space.py", "core/test_public_names.py")
_PATIENCE: Final = 1200
_MOST_SECONDS: Final = 200  # of its own; the other is by the clock
_FAILED_BEFORE: Final = 99


def mutants_of(text: str, *, inside_functions: bool) -> Iterator[tuple[str, str]]:
    """Each mutant of a module's text: what is told of it, and its text."""
    tree = ast.parse(text)
    for place, node in enumerate(ast.walk(tree)):
        for number, told in enumerate(_changes(node)):
            if not _counts(tree, node, inside_functions=inside_functions):
                break
            mutated = copy.deepcopy(tree)
            _apply(next(n for at, n in enumerate(ast.walk(mutated)) if at == place), number)
            yield f"{_home(tree, node)}: {told}", ast.unparse(ast.fix_missing_locations(mutated))


def _changes(node: ast.AST) -> list[str]:
    """What can be changed at this node, each in words; ``_apply`` knows the same numbers."""
    match node:
        case ast.Constant(value=str() | bytes() | int() as value):
            return [f"{value!r} -> {_other(value)!r}"]
        case ast.Tuple() | ast.List() | ast.Set():
            return [f"without {ast.unparse(element)}" for element in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return [
                f"without {ast.unparse(key) if key else '**'}: {ast.unparse(value)}" for key, value in pairs
            ]
        case ast.BinOp(op=ast.BitOr()):
            return [f"{ast.unparse(node)} -> {ast.unparse(side)}" for side in (node.left, node.right)]
        case ast.Call(func=ast.Name(id="Meta")):
            return [f"Meta without {keyword.arg}" for keyword in node.keywords]
        case ast.FunctionDef() | ast.Try() | ast.With() | ast.If():
            return [f"without the call {ast.unparse(call)}" for call in _calls(node)]
        case _:
            return []


def _apply(node: ast.AST, number: int) -> None:
    match node:
        case ast.Constant(value=str() | bytes() | int() as value):
            node.value = _other(value)
        case ast.Tuple() | ast.List() | ast.Set():
            del node.elts[number]
        case ast.Dict():
            del node.keys[number], node.values[number]
        case ast.BinOp():
            side = (node.left, node.right)[number]
            # In place, as whoever holds the node is not known here: x | x is x, for types and for flags.
            node.left = node.right = side
        case ast.Call():
            del node.keywords[number]
        case ast.FunctionDef() | ast.Try() | ast.With() | ast.If():
            call = _calls(node)[number]
            call.value = ast.Constant(None)
        case _:
            raise AssertionError(node)


def _other(value: str | bytes | int) -> str | bytes | int:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case bytes():
            return value + b"~"
        case str():
            return value + "~"


def _calls(node: ast.FunctionDef | ast.Try | ast.With | ast.If) -> list[ast.Expr]:
    """The statements of a block that are nothing but a call."""
    return [line for line in node.body if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)]


def _way(tree: ast.AST, node: ast.AST) -> list[ast.AST]:
    """The node and all above it, the module first."""
    if tree is node:
        return [tree]
    for child in ast.iter_child_nodes(tree):
        way = _way(child, node)
        if way:
            return [tree, *way]
    return []


def _counts(tree: ast.AST, node: ast.AST, *, inside_functions: bool) -> bool:
    """Whether this place is looked at here: no docstring, no ``__all__``, no function's body."""
    way = _way(tree, node)
    docstring = len(way) > 1 and isinstance(way[-2], ast.Expr)
    in_function = any(isinstance(above, ast.FunctionDef) for above in way)
    in_subscript = isinstance(node, ast.Tuple) and isinstance(way[-2], ast.Subscript)
    exported = any(isinstance(above, ast.Assign) and "__all__" in ast.unparse(above) for above in way)
    call_or_flag = isinstance(node, ast.FunctionDef | ast.Try | ast.With | ast.If | ast.BinOp)
    if docstring or in_subscript or exported:
        return False
    return (call_or_flag and inside_functions) if in_function else True


def _home(tree: ast.AST, node: ast.AST) -> str:
    """The name that the place is known by: its class, its constant, its field."""
    names: list[str] = []
    for above in _way(tree, node):
        match above:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.append(name)
            case _:
                pass
    return ".".join(names) or "module"


def mutate_tables(folder: Path, jobs: int) -> list[Mutant]:
    """Makes and tries them all, some at a time."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "mutants.tables", str(folder), str(number), str(jobs)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
            stdout=subprocess.PIPE,
        )
        for number in range(jobs)
    ]
    found: list[Mutant] = []
    for worker in workers:
        said, _ = worker.communicate()
        if worker.returncode != 0:
            raise SystemExit("a worker failed")
        found += [Mutant(**json.loads(line)) for line in said.decode().split("\n") if line.startswith("{")]
    return sorted(found)


def work(folder: Path, number: int, jobs: int) -> None:
    """One worker's share, each mutant told on a line."""
    package = folder / f"src-{number}" / "sandbox_pin"
    package.parent.mkdir()
    _ = subprocess.run(["cp", "-r", str(folder / "src" / "sandbox_pin"), str(package)], check=True)
    for name in ("hypothesis", "pytest", "msgspec", "click"):
        _ = import_module(name)  # each child has it then

    modules = [*sorted(f"core/{path.name}" for path in (package / "core").glob("*.py")), *_SHELL]
    for module in modules:  # as each mutant is written, without comments: what is found then is no mutant's
        text = (package / module).read_text(encoding="utf-8")
        _ = (package / module).write_text(ast.unparse(ast.parse(text)), encoding="utf-8")
    if not _passes(folder, package, dict.fromkeys((*_CORE, *chain(*_SHELL.values())))):
        raise SystemExit("the tests fail without any mutant")
    if not _typed(folder, package):
        raise SystemExit("mypy finds errors without any mutant")
    place = 0
    for module in modules:
        text = (package / module).read_text(encoding="utf-8")
        for change, mutated in mutants_of(text, inside_functions=module == DURABLE):
            place += 1
            if place % jobs != number:
                continue
            _ = (package / module).write_text(mutated, encoding="utf-8")
            own = module.replace("/", "/test_")
            quick = _QUICK.get(module, (own,) if (folder / "tests" / own).exists() else ())
            killed = not (
                (not quick or _passes(folder, package, quick))
                and _passes(folder, package, _SHELL.get(module, _CORE))
                and _typed(folder, package)
            )
            sys.stdout.write(json.dumps({"module": module, "change": change, "killed": killed}) + "\n")
            sys.stdout.flush()
        _ = (package / module).write_text(text, encoding="utf-8")


def _typed(folder: Path, package: Path) -> bool:
    """Whether mypy finds no error in the package, nor in its use as the documentation shows it."""
    cache = folder / f"mypy-{package.parent.name}"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, package, "tests/typing/usage.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(package.parent)},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(f"mypy failed: {done.stdout.decode()}")
    return done.returncode == 0


def _passes(folder: Path, package: Path, tests: Iterable[str]) -> bool:
    """Whether these tests pass, in a process of their own."""
    child = os.fork()
    if child == 0:
        code = _FAILED_BEFORE
        try:
            _ = signal.alarm(_PATIENCE)
            resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
            os.chdir(folder)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (1, 2):
                _ = os.dup2(nothing, descriptor)
            sys.path.insert(0, str(package.parent))
            os.environ["PYTHONPATH"] = str(package.parent)
            # Two texts of one size, written in one second, would share their compiled form.
            sys.dont_write_bytecode = True
            import pytest  # noqa: PLC0415 - not in whoever asks for the mutants alone

            # hypothesis is there before pytest can look at its assertions: that is the point of it.
            options = [
                "-W",
                "ignore:Module already imported",
                "-x",
                "-q",
                "-p",
                "no:randomly",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "-p",
                "no:cov",
            ]
            skipped = [f"--ignore=tests/{name}" for name in _SLOW]
            code = int(pytest.main([*options, *skipped, *(f"tests/{name}" for name in tests)]))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
