"""One configuration file, opened once: what is read of it, and all that is refused and never defaulted."""

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin.core.configuration import Configuration
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.errors import ConfigurationError, SandboxPinError
from sandbox_pin.shell.config import MAXIMUM_SIZE, load_configuration

EXTENSIONS = ["toml", "json", "yaml", "yml"]
REQUIRED = {
    "toml": '[sandbox]\nmode = "required"\n',
    "json": '{"sandbox": {"mode": "required"}}\n',
    "yaml": "sandbox:\n  mode: required\n",
    "yml": "sandbox: {mode: required}\n",
}
NOBODY = 65534

Write = Callable[[str, str | bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a configuration file with that extension, and gives its path."""

    def write_file(extension: str, content: str | bytes) -> str:
        path = tmp_path / f"orchestrator.{extension}"
        _ = path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


def refusal(path: str | Path) -> ConfigurationError:
    """The error that the file gets, quickly: it may have been made to be slow."""
    begun = time.monotonic()
    with pytest.raises(ConfigurationError) as caught:
        _ = load_configuration(str(path))
    assert time.monotonic() - begun < 30
    assert caught.value.file == str(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000 + len(str(path))
    return caught.value


# What is read


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_each_format_is_read_by_its_extension(extension: str, write: Write) -> None:
    """The same table, the same request; and the very file that was read is named by its identity."""
    path = write(extension, REQUIRED[extension])
    facts = Path(path).stat()
    loaded = load_configuration(path)
    assert loaded.configuration == Configuration(file=path, mode=SandboxMode.REQUIRED)
    assert (loaded.device, loaded.inode) == (facts.st_dev, facts.st_ino)


def test_the_identity_is_the_targets_where_the_path_is_a_link(write: Write, tmp_path: Path) -> None:
    """Placement judges the file whose bytes were parsed."""
    target = write("toml", REQUIRED["toml"])
    link = tmp_path / "link.toml"
    link.symlink_to(target)
    loaded = load_configuration(str(link))
    assert loaded.inode == Path(target).stat().st_ino
    assert loaded.configuration.file == str(link)


def test_the_identity_stays_that_of_the_parsed_file_when_another_takes_its_name(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file put in its place after the opening is neither parsed nor judged."""
    path = write("toml", REQUIRED["toml"])
    inode = Path(path).stat().st_ino
    weaker = tmp_path / "weaker"
    _ = weaker.write_text('[sandbox]\nmode = "disabled"\n')
    open_file = os.open

    def open_then_swap(name: str, flags: int) -> int:
        descriptor = open_file(name, flags)
        _ = weaker.replace(path)
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr("os.open", open_then_swap)
        loaded = load_configuration(path)
    assert loaded.configuration.mode is SandboxMode.REQUIRED
    assert loaded.inode == inode


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        ("toml", "agents = 3\n"),
        ("toml", "[sandbox]\n"),
        ("json", '{"agents": 3}'),
        ("json", '{"sandbox": {}}'),
        ("yaml", "agents: 3\n"),
        ("yaml", "sandbox: {}\n"),
        ("yaml", "? [a, b]\n: 3\n"),
    ],
)
def test_a_file_without_our_key_says_nothing(extension: str, content: str, write: Write) -> None:
    """That is no error: the default applies, and its provenance names the file."""
    path = write(extension, content)
    assert load_configuration(path).configuration == Configuration(file=path)


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        ("json", '{"limit": NaN, "most": -Infinity, "name": "\\ud800", "sandbox": {"mode": "required"}}'),
        ("toml", 'limit = nan\nday = 2026-01-01\nurl = "https://a.b/c"\n[sandbox]\nmode = "required"'),
        (
            "yaml",
            "limit: .nan\nday: 2026-99-99\nname: !env HOME\n1: one\non: {push: ~}\nsandbox: {mode: required}",
        ),
        ("yaml", "base: &base {a: 1, b: &c [x]}\nother: {<<: *base, a: 2, d: *c}\nsandbox: {mode: required}"),
        ("yaml", "? {a: 1}\n: x\n? {a: 1}\n: y\nsandbox:\n  mode: 'required'\n"),
        ("yaml", "%YAML 1.1\n---\nsandbox: {!!str mode: !!str required}\n...\n"),
        ("yaml", "anchor: &word required\nsandbox: {mode: *word}"),
        ("yaml", "defaults: &ours {mode: required}\nsandbox: *ours"),
        ("yaml", "defaults: &ours {mode: required}\nsandbox: {<<: *ours}"),
        ("yaml", "defaults: &all {sandbox: {mode: required}, a: 1}\n<<: *all\na: 2"),
        ("yaml", "<<: [{sandbox: {mode: required}}, {b: 1}]"),
    ],
)
def test_the_orchestrators_part_is_left_alone(extension: str, content: str, write: Write) -> None:
    """Its numbers, tags, keys and ordinary anchors are nothing to us."""
    assert load_configuration(write(extension, content)).configuration.mode is SandboxMode.REQUIRED


# What can't be opened or read


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """The operator named it, so its absence is never the default."""
    assert refusal(tmp_path / "absent.toml").problem == "there is no such file"
    assert refusal("").problem == "there is no such file"


def test_a_dangling_link_is_told(tmp_path: Path) -> None:
    """It is there, and yet it isn't."""
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "gone.toml")
    assert refusal(link).problem == "is a link to a file that does not exist"


def test_what_is_no_regular_file_is_told_at_once(tmp_path: Path) -> None:
    """A FIFO without a writer must not be waited for."""
    folder, fifo, plug = (tmp_path / name for name in ("folder.toml", "fifo.toml", "socket.toml"))
    folder.mkdir()
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(plug))
    assert refusal(folder).problem == "is a folder"
    assert refusal(fifo).problem == "is a FIFO"
    assert refusal("/dev/null").problem == "is a character device"
    assert refusal(plug).problem == "can't be opened: it is a socket, or a device without a driver"


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path, write: Write) -> None:
    """Each with the system's own reason."""
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    assert refusal(loop).problem == "can't be opened: Too many levels of symbolic links"
    assert refusal(tmp_path / ("x" * 300)).problem == "can't be opened: File name too long"
    assert refusal(f"{write('toml', '')}/x.toml").problem == "can't be opened: Not a directory"


@pytest.mark.parametrize("name", ["a\0b.toml", "a\udcff.toml"])
def test_a_path_that_the_log_could_not_hold_is_refused(name: str) -> None:
    """The run log is UTF-8, and says where a mode came from."""
    assert refusal(name).problem == "the path is not UTF-8, or has a NUL in it"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_file_that_may_not_be_read_is_told(write: Write, tmp_path: Path) -> None:
    """Asked as a user who may not read it."""
    path = write("toml", REQUIRED["toml"])
    Path(path).chmod(0)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # The folders above belong to root alone: go there first, then become nobody.
            os.chdir(tmp_path)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            _ = load_configuration("./orchestrator.toml")
        except SandboxPinError as error:
            _ = os.write(send, str(error).encode())
        finally:
            os._exit(0)
    os.close(send)
    message = os.read(receive, 1000).decode()
    os.close(receive)
    _ = os.waitpid(child, 0)
    assert message.startswith("./orchestrator.toml: can't be opened: Permission denied")


def test_a_file_whose_reading_fails_is_told(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken disk is no reason for the default, and the descriptor is closed."""
    path = write("toml", REQUIRED["toml"])
    descriptors = len(list(Path("/proc/self/fd").iterdir()))

    def fail(_: int) -> os.stat_result:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("os.fstat", fail)
        assert refusal(path).problem == "can't be read: Input/output error"
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@pytest.mark.parametrize("name", ["config", "config.ini", "config.toml.bak", "config.TOML", ".toml"])
def test_another_extension_is_refused_and_the_supported_ones_named(name: str, tmp_path: Path) -> None:
    """No format is guessed from what is in the file."""
    path = tmp_path / name
    _ = path.write_text(REQUIRED["toml"])
    error = refusal(path)
    assert "extension" in error.problem
    assert error.expected == "one of .toml, .json, .yaml, .yml"


# Size


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_file_of_exactly_the_maximum_size_is_read_and_one_byte_more_refused(
    extension: str, write: Write
) -> None:
    """The limit itself is allowed."""
    content = REQUIRED[extension].encode()
    path = write(extension, content + b"\n" * (MAXIMUM_SIZE - len(content)))
    assert load_configuration(path).configuration.mode is SandboxMode.REQUIRED
    path = write(extension, content + b"\n" * (MAXIMUM_SIZE - len(content) + 1))
    assert refusal(path).problem == "is over 1 MiB"


def test_a_sparse_file_is_refused_unread(write: Write) -> None:
    """A terabyte that takes no room on the disk."""
    path = write("toml", "")
    os.truncate(path, 2**40)
    assert refusal(path).problem == "is over 1 MiB"


@pytest.mark.parametrize(
    ("grown_by", "problem"),
    [(1, "was written to while it was read"), (2 * MAXIMUM_SIZE, "is over 1 MiB")],
)
def test_a_file_that_grows_while_it_is_read_is_refused(
    grown_by: int, problem: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its size is asked first, and never trusted; and half a file may lack our table."""
    path = write("toml", "agents = 3\n")
    ask = os.fstat

    def ask_then_grow(descriptor: int) -> os.stat_result:
        facts = ask(descriptor)
        with Path(path).open("ab") as stream:
            _ = stream.write(b"\n" * grown_by)
        return facts

    with monkeypatch.context() as patched:
        patched.setattr("os.fstat", ask_then_grow)
        assert refusal(path).problem == problem


# Encoding


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        ("utf-8-sig", "begins with a byte order mark"),
        ("utf-16", "begins with a byte order mark"),
        ("utf-32", "begins with a byte order mark"),
        ("utf-16-le", "has a NUL byte in it"),
        ("utf-16-be", "has a NUL byte in it"),
    ],
)
def test_another_encoding_is_refused_the_same_in_every_format(
    extension: str, encoding: str, problem: str, write: Write
) -> None:
    """Two readers that disagree about a mark read two files."""
    error = refusal(write(extension, REQUIRED[extension].encode(encoding)))
    assert error.problem == problem
    assert error.expected == "UTF-8 without a byte order mark"


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_bytes_that_are_no_text_are_refused(extension: str, write: Write) -> None:
    """Latin-1, surrogates in UTF-8, and a NUL at the end of an otherwise good file."""
    good = REQUIRED[extension].encode()
    assert refusal(write(extension, b"\xe9" + good)).problem == "is not UTF-8, at byte 0"
    assert refusal(write(extension, b"\xed\xa0\x80" + good)).problem == "is not UTF-8, at byte 0"
    assert refusal(write(extension, good + b"\0")).problem == "has a NUL byte in it"


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_byte_order_mark_further_on_hides_no_key(extension: str, write: Write) -> None:
    """Before a key it is a part of the key, or no syntax at all."""
    _ = refusal(write(extension, REQUIRED[extension].replace("sandbox", "\ufeffsandbox")))


# Syntax, in each format


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        *((extension, "") for extension in EXTENSIONS),
        *((extension, " \n\n") for extension in EXTENSIONS),
        ("toml", "# [sandbox]\n"),
        ("json", "{}"),
        ("yaml", "# sandbox:\n"),
        ("yaml", "{}"),
        ("yaml", "---\n"),
    ],
)
def test_a_file_without_any_key_is_refused(extension: str, content: str, write: Write) -> None:
    """Whatever it is made of."""
    problem = refusal(write(extension, content)).problem
    assert problem in ("the file has no key at all", "the top level is null")


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        ("toml", "[sandbox\nmode = 1"),
        ("toml", "[sandbox]\nmode = required"),
        ("toml", '[sandbox]\nmode = "requ'),
        ("json", '{"sandbox": {"mode": "required"}'),
        ("json", '{"sandbox": {"mode": "required"}} {}'),
        ("json", '{"sandbox": {"mode": "required",}}'),
        ("json", "// comment\n{}"),
        ("yaml", "sandbox: {mode: required"),
        ("yaml", "sandbox: 'requ"),
        ("yaml", "sandbox: *nowhere"),
        ("yaml", "a: 1\n---\nsandbox: {mode: required}\n"),
        ("yaml", "sandbox:\n\tmode: required"),
        ("yaml", 'a: "\\UFFFFFFFF"'),
        ("yaml", f"%YAML {'9' * 5000}.1\n---\na: 1"),
        ("yaml", "a: \x07"),
    ],
)
def test_a_file_that_can_not_be_parsed_is_refused(extension: str, content: str, write: Write) -> None:
    """Broken between two steps, it is neither the default nor the last good value."""
    assert "can't be parsed as " in refusal(write(extension, content)).problem


@pytest.mark.parametrize("extension", ["json", "yaml"])
@pytest.mark.parametrize(
    "content", ["[]", "3", '"sandbox"', "null", "true", '[{"sandbox": {"mode": "required"}}]']
)
def test_a_top_level_that_is_no_table_is_refused(extension: str, content: str, write: Write) -> None:
    """TOML has none such."""
    assert refusal(write(extension, content)).problem.startswith("the top level is ")


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        ("toml", '[sandbox]\nmode = "required"\nmode = "disabled"'),
        ("toml", '[sandbox]\nmode = "required"\n[sandbox]\nbackend = "bubblewrap"'),
        ("toml", 'sandbox.mode = "required"\nsandbox = {}'),
        ("toml", "[a]\nb = {c = 1, c = 2}"),
        ("json", '{"sandbox": {"mode": "required"}, "sandbox": {"mode": "disabled"}}'),
        ("json", '{"sandbox": {"mode": "required", "mode": "disabled"}}'),
        ("json", '{"sandbox": {"mode": "required", "m\\u006fde": "disabled"}}'),
        ("json", '{"a": [{"b": {"c": 1, "c": 1}}]}'),
        ("yaml", "sandbox: {mode: required}\nsandbox: {mode: disabled}"),
        ("yaml", "sandbox: {mode: required}\n'sandbox': {mode: disabled}"),
        ("yaml", "sandbox: {mode: required, 'mode': disabled}"),
        ("yaml", "a: [{b: {c: 1, c: 1}}]"),
        ("yaml", "k: &k c\na: {*k : 1, c: 2}"),
        ("yaml", "? {a: 1, a: 2}\n: 1"),
        # Which of the two holds is for the merge key's rules to say, and readers differ in them.
        ("yaml", "a: &a {mode: required}\nsandbox: {<<: *a, mode: disabled}"),
        ("yaml", "sandbox: {<<: [{mode: required}, {mode: disabled}]}"),
        ("yaml", "<<: {sandbox: {mode: required}}\nsandbox: {mode: disabled}"),
        ("yaml", "a: {<<: {b: 1}, <<: {c: 1}}"),
        ("yaml", "a: {<<: {b: 1, b: 2}}"),
        ("yaml", "sandbox: {mode: required}\n!custom sandbox: {mode: disabled}"),
    ],
)
def test_a_repeated_key_is_refused_at_any_depth(extension: str, content: str, write: Write) -> None:
    """Readers take the first, or the last: nobody may edit one while the other holds."""
    problem = refusal(write(extension, content)).problem
    assert "is there twice" in problem or extension == "toml"


@pytest.mark.parametrize("value", ["off", "no", "false", "on", "yes", "true"])
def test_a_yaml_boolean_is_no_mode(value: str, write: Write) -> None:
    """Not even ``off``: the three words are named."""
    error = refusal(write("yaml", f"sandbox: {{mode: {value}}}"))
    assert error.problem == f"found the boolean {'true' if value in ('on', 'yes', 'true') else 'false'}"
    assert error.expected == "one of disabled, preferred, required"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("~", "found null"),
        ("", "found null"),
        ("1", "found a number"),
        ("0.5", "found a number"),
        ("[required]", "found a list"),
        ("{required: }", "found a table"),
        ("y", "unknown mode 'y'"),
        ("'true'", "unknown mode 'true'"),
        ("' required'", "unknown mode ' required'"),
        ("2026-01-01", "a value has the type 'tag:yaml.org,2002:timestamp', at line 2"),
        ("!env MODE", "a value has the type '!env', at line 2"),
        ("!!binary cmVxdWlyZWQ=", "a value has the type 'tag:yaml.org,2002:binary', at line 2"),
        ("!!int x", "found a number"),
    ],
)
def test_a_yaml_value_of_another_type_is_no_mode(value: str, problem: str, write: Write) -> None:
    """Nothing is converted, and no tag is followed."""
    assert refusal(write("yaml", f"sandbox:\n  mode: {value}\n")).problem == problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("sandbox:", "found null"),
        ("sandbox: required", "found text"),
        ("sandbox: [{mode: required}]", "found a list"),
        ("sandbox: {on: required}", "unknown key 'on'"),
        ("sandbox: {[mode]: required}", "a key is a list or a mapping"),
        ("sandbox: {<<: required}", "a merge key takes mappings alone, at line 1"),
        ("sandbx: required", "the key 'sandbx' looks like 'sandbox' but is another"),
        ('"sandbox ": {mode: required}', "the key 'sandbox ' looks like 'sandbox' but is another"),
        ("<<: {Sandbox: {mode: required}}", "the key 'Sandbox' looks like 'sandbox' but is another"),
        (
            "sandbox.mode: off",
            "the key 'sandbox.mode' is one flat key, not 'mode' inside the table 'sandbox'",
        ),
    ],
)
def test_what_is_meant_for_us_in_yaml_is_never_passed_over(content: str, problem: str, write: Write) -> None:
    """The strict reading is the same as in the other formats."""
    assert refusal(write("yaml", content)).problem == problem


@pytest.mark.parametrize(
    "content",
    [
        "a: !!python/object/apply:os.system [exit 1]",
        "a: {b: [!!python/name:os.system x]}",
        "!!python/tuple [1]: a",
    ],
)
def test_a_tag_that_makes_python_objects_is_refused_anywhere(content: str, write: Write) -> None:
    """Even where nothing is built: the orchestrator's reader might build it."""
    assert "would make a Python object" in refusal(write("yaml", content)).problem


def test_without_pyyaml_the_message_says_how_to_install_it(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YAML is an extra; a file that can't be read is still no default."""
    path = write("yaml", REQUIRED["yaml"])
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "yaml", None)
        patched.delitem(sys.modules, "sandbox_pin.shell.config_yaml", raising=False)
        error = refusal(path)
    assert error.remedy == "Install it with: pip install 'sandbox-pin[yaml]'"


# Made to be slow


LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 30)
)


SLOW = [
    ("toml: a key of 100 000 parts", ".".join("a" * 100_000) + " = 1", "dotted parts"),
    ("toml: a header of 100 000 parts", "[" + " . ".join("a" * 100_000) + "]", "dotted parts"),
    ("toml: 65 quoted parts in a table", "x = [{" + ".".join(["'a'"] * 65) + " = 1}]", "dotted parts"),
    ("toml: 65 parts after a string", 'x = ["""""", {a' + '."a"' * 64 + " = 1}]", "dotted parts"),
    ("toml: 65 parts after five quotes", 'x = [""" """"", {' + ".".join("a" * 65) + "=1}]", "dotted parts"),
    ("toml: 65 parts after five ticks", "x = [''' ''''', {" + ".".join("a" * 65) + "=1}]", "dotted parts"),
    ("toml: lists in lists", "x = " + "[" * 100_000, "nested"),
    ("toml: tables in tables", "x = " + "{a=" * 100_000, "nested"),
    ("toml: a string without an end", 'x = """' + '\\"""' * 200_000, "can't be parsed"),
    ("toml: and with a backslash as its last", 'x = """' + '\\"""\n' * 200_000 + "\\", "can't be parsed"),
    ("toml: escaped quotes at line ends", '\\"\\\n' * 250_000, "can't be parsed"),
    ("toml: a number of 5000 digits", "x = " + "9" * 5000, "4300 digits"),
    ("json: lists in lists", "[" * 1_000_000, "nested"),
    ("json: tables in tables", '{"a":' * 200_000, "nested"),
    ("json: a number of 5000 digits", '{"a": ' + "9" * 5000 + "}", "4300 digits"),
    ("yaml: aliases that explode", LAUGHS, "aliases written out"),
    ("yaml: aliases that explode, merged", LAUGHS + "sandbox: {<<: *a29}", "aliases written out"),
    ("yaml: an alias inside its own anchor", "a: &a [*a]", "its own anchor"),
    ("yaml: an anchor that holds itself as a key", "&a {*a : 1}", "its own anchor"),
    ("yaml: an anchor merged into itself", "a: &a {<<: *a}", "its own anchor"),
    ("yaml: lists in lists", "[" * 100_000, "nested"),
    ("yaml: lists in lists, by dashes", "- " * 100_000, "nested"),
    ("yaml: keys in keys", "? " * 100_000, "nested"),
    ("yaml: half a million values", "a: [" + "1," * 500_000 + "]", "50000 values"),
    ("yaml: a number of 5000 digits", "a: " + "9" * 5000, "4300 digits"),
]


@pytest.mark.parametrize(
    ("extension", "content", "reason"),
    [pytest.param(name[:4], content, reason, id=name) for name, content, reason in SLOW],
)
def test_a_file_made_to_be_slow_is_refused_quickly(
    extension: str, content: str, reason: str, write: Write
) -> None:
    """Each would take minutes, all the memory, or end in an exception of another kind."""
    assert reason in refusal(write(extension, content)).problem


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("x." * 63 + "y = 1", id="64 parts are allowed"),
        pytest.param('version = "' + "1." * 500 + '0"', id="dots in a string"),
        pytest.param("version = '" + "1." * 500 + "0'", id="dots in a literal string"),
        pytest.param('text = """\n' + "a." * 500 + '""" # "', id="dots in a long string"),
        pytest.param("text = '''\n" + "a." * 500 + "\" '''", id="dots in a long literal string"),
        pytest.param('text = "\\"' + "a." * 500 + '"', id="dots after an escaped quote"),
        pytest.param('text = """\\"""' + "a." * 500 + '"""', id="dots after escaped quotes"),
        pytest.param("# it's " + "a." * 500 + "\nx = 1", id="dots in a comment"),
        pytest.param("floats = [" + "1.5, " * 500 + "]", id="a list of floats"),
        pytest.param("floats = [" + "1.5,\n" * 500 + "]", id="a list of floats over many lines"),
        pytest.param('"' + "a." * 500 + '".b = 1', id="dots in a quoted key"),
    ],
)
def test_an_ordinary_file_with_many_dots_is_read(content: str, write: Write) -> None:
    """Only the parts of one name are counted."""
    path = write("toml", content + '\n[sandbox]\nmode = "required"\n')
    assert load_configuration(path).configuration.mode is SandboxMode.REQUIRED


LONG = "a" * 5000


@pytest.mark.parametrize(
    ("extension", "content", "place"),
    [
        pytest.param("toml", f"[{LONG}]\n[{LONG}]", "line 2", id="a table declared twice"),
        pytest.param("toml", f"{LONG} = 1\n{LONG}.b = 2", "end of document", id="a value taken for a table"),
        pytest.param("json", f'{{"{LONG}": 1, "{LONG}": 2}}', "twice", id="a key said twice"),
        pytest.param("json", f'{{"{LONG}" 1}}', "column 5005", id="a colon left out"),
        pytest.param("yaml", f"- *{LONG}", "line 1", id="an alias of nothing"),
        pytest.param("yaml", f"- &{LONG} 1\n- &{LONG} 2", "line 2", id="an anchor set twice"),
        pytest.param("yaml", f"- !{LONG}!x 1", "line 1", id="a tag handle of nothing"),
        pytest.param("yaml", f"%TAG !{LONG}! x\n" * 2 + "--- 1", "line 2", id="a directive given twice"),
        pytest.param("yaml", f"sandbox: !{LONG} x", "line 1", id="a tag that is not known"),
    ],
)
def test_a_name_as_long_as_its_file_leaves_the_message_short(
    extension: str, content: str, place: str, write: Write
) -> None:
    """A parser quotes what it stumbled over, which may be a megabyte; the place, put last, stays."""
    error = refusal(write(extension, content))
    assert len(error.problem) < 300
    assert place in error.problem


def test_an_ordinary_large_yaml_file_is_read(write: Write) -> None:
    """Thousands of values, and an anchor used a hundred times, are no attack."""
    content = "base: &base {a: 1, b: [1, 2, 3]}\n"
    content += "".join(
        f"agent{number}: {{<<: *base, name: agent, url: 'http://x'}}\n" for number in range(1000)
    )
    assert (
        load_configuration(write("yaml", content + REQUIRED["yaml"])).configuration.mode
        is SandboxMode.REQUIRED
    )


# No document whatever

# Words, and the signs that change what follows: letters alone would seldom get past the first error.
TOKENS = st.sampled_from(
    [
        "sandbox",
        "mode",
        "required",
        "off",
        "<<:",
        "-",
        "?",
        ":",
        "{",
        "}",
        "[",
        "]",
        "=",
        ".",
        ",",
        "&a",
        "*a",
        "!t",
        "!!int",
        "#",
        "|",
        "%YAML",
        "---",
        "1",
        "0x",
        "~",
        "\\",
        '"',
        "'",
        '"""',
    ]
) | st.sampled_from(["\n", " ", ": ", "- ", "\x85", "\x07"])


@given(parts=st.lists(TOKENS | st.text(max_size=3), max_size=30), extension=st.sampled_from(EXTENSIONS))
def test_nothing_but_a_configuration_error_leaves(
    parts: list[str], extension: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands in the file."""
    path = tmp_path_factory.getbasetemp() / f"any.{extension}"
    _ = path.write_bytes("".join(parts).encode())
    try:
        told = load_configuration(str(path)).configuration.file
    except ConfigurationError as error:
        told = str(error)
    assert told.startswith(str(path))


@given(
    rest=st.dictionaries(
        st.text(st.characters(categories=["Lo", "Nd"])), st.integers() | st.text() | st.booleans()
    ),
    mode=st.sampled_from(SandboxMode),
)
def test_json_reads_the_same_as_yaml(
    rest: dict[str, object], mode: SandboxMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As JSON is YAML: two readers that disagree would read two modes."""
    content = json.dumps({**rest, "sandbox": {"mode": mode.value}})
    for extension in ("json", "yaml"):
        path = tmp_path_factory.getbasetemp() / f"same.{extension}"
        _ = path.write_text(content, encoding="utf-8")
        assert load_configuration(str(path)).configuration.mode is mode
