"""What a parsed configuration file says about the sandbox, and every way in which it says no clear thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_pin.core.configuration import KNOWN_BACKENDS, Configuration, mode_from_text, read_configuration
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.errors import ConfigurationError

FILE = "/etc/orchestrator.toml"
MODES = [mode.value for mode in SandboxMode]


def refusal(document: object) -> ConfigurationError:
    """The error that the document gets."""
    with pytest.raises(ConfigurationError) as caught:
        _ = read_configuration(document, file=FILE)
    assert caught.value.file == FILE
    return caught.value


@pytest.mark.parametrize("mode", SandboxMode)
def test_each_mode_is_read_as_it_is_spelled(mode: SandboxMode) -> None:
    """The three words, and nothing else, are modes."""
    document = {"sandbox": {"mode": mode.value}}
    assert read_configuration(document, file=FILE) == Configuration(file=FILE, mode=mode)


@pytest.mark.parametrize("backend", KNOWN_BACKENDS)
def test_a_known_backend_is_read(backend: str) -> None:
    """A backend needs no mode beside it."""
    document = {"sandbox": {"backend": backend}}
    assert read_configuration(document, file=FILE) == Configuration(file=FILE, backend=backend)


@pytest.mark.parametrize(
    "document", [{"sandbox": {}}, {"agents": 3}, {"agents": {"sandbox": "required"}}, {1: 2}]
)
def test_a_file_that_says_nothing_about_the_sandbox_is_no_error(document: object) -> None:
    """Only a file without any key is: a whole one may have nothing for us."""
    assert read_configuration(document, file=FILE) == Configuration(file=FILE)


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (None, "null"),
        (True, "the boolean true"),
        (False, "the boolean false"),
        (1, "a number"),
        pytest.param(10**5000, "a number", id="a number of 5001 digits"),
        (1.5, "a number"),
        ("sandbox", "text"),
        ([{"sandbox": {"mode": "required"}}], "a list"),
        (b"", "a value of type bytes"),
    ],
)
def test_the_top_level_is_a_table(document: object, found: str) -> None:
    """Whatever else it is, is told."""
    assert refusal(document).problem == f"the top level is {found}"


def test_a_file_without_any_key_is_refused() -> None:
    """It looks like a file that was cut off, and would give the weakest mode."""
    error = refusal({})
    assert error.problem == "the file has no key at all"
    assert error.remedy == "To run with the built-in default, leave --config out"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "null"),
        (True, "the boolean true"),
        (0, "a number"),
        (0.5, "a number"),
        ("required", "text"),
        ([{"mode": "required"}], "a list"),
        ([], "a list"),
    ],
)
def test_sandbox_is_a_table(value: object, found: str) -> None:
    """Each other type is told apart, and how to write it instead."""
    error = refusal({"sandbox": value})
    assert error.field == "sandbox"
    assert error.problem == f"found {found}"
    assert error.remedy == "Write the mode inside it, as sandbox.mode"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "null"),
        (True, "the boolean true"),
        (False, "the boolean false"),
        (1, "a number"),
        (1.0, "a number"),
        (["required"], "a list"),
        ({"required": True}, "a table"),
    ],
)
def test_a_mode_of_another_type_is_never_converted(value: object, found: str) -> None:
    """``off`` in YAML is the boolean false, and no mode."""
    error = refusal({"sandbox": {"mode": value}})
    assert error.field == "sandbox.mode"
    assert error.problem == f"found {found}"
    assert error.expected == "one of disabled, preferred, required"
    assert ("booleans" in str(error)) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("Required", "required"),
        (" required", "required"),
        ("required\n", "required"),
        ("REQUIRED", "required"),
        ("require", "required"),
        ("requierd", "required"),
        ("prefer", "preferred"),
        ("disable", "disabled"),
        ("off", None),
        ("", None),
        ("true", None),
        ("required" * 100, None),
    ],
)
def test_another_spelling_of_a_mode_is_refused_and_a_near_word_named(text: str, nearest: str | None) -> None:
    """A word that is near none gets no guess, only the three."""
    error = refusal({"sandbox": {"mode": text}})
    assert error.field == "sandbox.mode"
    assert error.expected == "one of disabled, preferred, required"
    assert error.remedy == (nearest and f"The nearest is {nearest}")


def test_a_mode_on_the_command_line_is_held_to_the_same_words() -> None:
    """The flag is named in place of a file."""
    assert mode_from_text("preferred", field="--mode") is SandboxMode.PREFERRED
    with pytest.raises(ConfigurationError) as caught:
        _ = mode_from_text("Preferred", field="--mode")
    assert str(caught.value) == (
        "--mode: unknown mode 'Preferred'; expected one of disabled, preferred, required. "
        "The nearest is preferred"
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("bwrap", "unknown backend 'bwrap'"),
        ("Bubblewrap", "unknown backend 'Bubblewrap'"),
        ("", "unknown backend ''"),
        ("x" * 200, f"unknown backend '{'x' * 64}...'"),
        (None, "found null"),
        (["bubblewrap"], "found a list"),
        (True, "found the boolean true"),
    ],
)
def test_an_unknown_backend_is_refused(value: object, problem: str) -> None:
    """A backend that is not known can enforce nothing."""
    error = refusal({"sandbox": {"mode": "required", "backend": value}})
    assert error.field == "sandbox.backend"
    assert error.problem == problem
    assert error.expected == "bubblewrap"


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("Mode", "mode"),
        ("mode ", "mode"),
        ("mod", "mode"),
        ("moed", "mode"),
        ("backends", "backend"),
        ("back-end", "backend"),
        ("accept_config_change", "backend"),
        ("", "mode"),
    ],
)
def test_an_unknown_key_of_the_table_is_refused_and_the_nearest_named(key: str, nearest: str) -> None:
    """The accept flag is no key, as no other word is."""
    error = refusal({"sandbox": {"mode": "required", key: "required"}})
    assert error.field == f"sandbox.{key}"
    assert error.problem == f"unknown key {key!r}"
    assert error.remedy == f"The nearest is {nearest}"


def test_a_key_of_the_table_that_is_no_text_is_refused() -> None:
    """YAML allows such keys."""
    assert refusal({"sandbox": {1: "required"}}).problem == "a key is a number"


@pytest.mark.parametrize("beside", [{}, {"sandbox": {"mode": "disabled"}}])
@pytest.mark.parametrize(
    "key",
    [
        "Sandbox",
        "SANDBOX",
        "sand_box",
        "sand-box",
        "sandbox ",
        " sandbox",
        "\ufeffsandbox",
        "sandbox\u200b",
        "sandbox2",
    ],
)
def test_the_tables_name_in_another_dress_is_refused(key: str, beside: dict[str, object]) -> None:
    """Even beside the right one: of the two, the reader would take the one that is not meant."""
    error = refusal({**beside, key: {"mode": "required"}})
    assert error.field == key
    assert error.problem == f"the key {key!r} looks like 'sandbox' but is another"


@pytest.mark.parametrize(
    "key", ["sandbx", "sanbdox", "sandboxx", "snadbox", "sandbix", "Sandbx", "asandbox", "andbox"]
)
def test_one_slip_from_the_tables_name_is_refused_only_where_the_table_is_missing(key: str) -> None:
    """Beside the table, the key is the orchestrator's."""
    assert refusal({key: "required"}).field == key
    document = {key: "required", "sandbox": {"mode": "preferred"}}
    assert read_configuration(document, file=FILE).mode is SandboxMode.PREFERRED


@pytest.mark.parametrize("key", ["sandboxes", "sandboxing", "snbox", "box", "mode", "", "x" * 100_000])
def test_a_key_further_from_the_tables_name_is_the_orchestrators(key: str) -> None:
    """Two slips are another word."""
    assert read_configuration({key: "required"}, file=FILE) == Configuration(file=FILE)


@pytest.mark.parametrize("beside", [{}, {"sandbox": {"mode": "disabled"}}])
@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("sandbox.mode", "required", "mode"),
        ("sandbox.mode", False, "mode"),
        ("Sandbox.Mode", "required", "mode"),
        ("sandbox:mode", "required", "mode"),
        ("sandbox/mode", "anything", "mode"),
        ("sandbox_mode", "required", "mode"),
        ("SANDBOX_MODE", "Preferred", "mode"),
        ("sandboxMode", "disabled", "mode"),
        ("sandbox.backend", "bubblewrap", "backend"),
        ("sandbox_backend", "bubblewrap", "backend"),
    ],
)
def test_a_value_of_ours_under_a_flat_key_is_refused(
    key: str, value: object, name: str, beside: dict[str, object]
) -> None:
    """It would be passed over; the message says to nest it."""
    error = refusal({**beside, key: value})
    assert error.field == key
    assert error.remedy == f"Nest it: move the value to '{name}' inside 'sandbox'"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sandbox_mode", "workspace-write"),
        ("sandbox_mode", True),
        ("sandbox_backend", {"name": "bubblewrap"}),
        ("sandbox.example.org", "required"),
        ("sandbox_timeout", "required"),
    ],
)
def test_a_flat_key_with_words_that_are_not_ours_is_the_orchestrators(key: str, value: object) -> None:
    """Some agents have a ``sandbox_mode`` of their own."""
    assert read_configuration({key: value}, file=FILE) == Configuration(file=FILE)


def test_no_message_grows_with_the_file() -> None:
    """A key may be as long as its file."""
    for document in [{" " * 1_000_000 + "sandbox": {}}, {"sandbox": {"k" * 1_000_000: 1}}]:
        assert len(str(refusal(document))) < 500


WORDS = st.sampled_from(
    ["sandbox", "Sandbox", "sandbx", "sandbox.mode", "sandbox_mode", "mode", "backend", *MODES]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | WORDS
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=8,
)


@given(document=DOCUMENTS)
def test_no_document_gets_anything_but_a_configuration_or_its_error(document: object) -> None:
    """No other exception leaves the reader, and every error has its file and can be shown."""
    try:
        told = read_configuration(document, file=FILE).file
    except ConfigurationError as error:
        told = str(error)
    assert told.startswith(FILE)
    assert told.isprintable()


@given(document=st.dictionaries(st.text(), SCALARS, min_size=1), mode=st.sampled_from(MODES))
def test_the_rest_of_the_file_never_changes_what_ours_says(document: dict[str, object], mode: str) -> None:
    """It can be refused as a look-alike; it can't weaken."""
    try:
        configuration = read_configuration({**document, "sandbox": {"mode": mode}}, file=FILE)
    except ConfigurationError:
        return
    assert configuration.mode == mode


@given(
    position=st.integers(0, 6),
    letter=st.characters(categories=["Ll"]),
    slip=st.sampled_from(["insert", "leave out", "replace", "exchange"]),
)
def test_every_single_slip_of_a_finger_is_caught(position: int, letter: str, slip: str) -> None:
    """Whichever slip, wherever in the word."""
    name = "sandbox"
    match slip:
        case "insert":
            key = name[:position] + letter + name[position:]
        case "leave out":
            key = name[:position] + name[position + 1 :]
        case "replace":
            key = name[:position] + letter + name[position + 1 :]
        case _:
            key = name[:position] + name[position : position + 2][::-1] + name[position + 2 :]
    if key != name and len(letter.casefold()) == 1:
        _ = refusal({key: {"mode": "required"}})
