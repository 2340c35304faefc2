"""From the text of a YAML file to a plain value: only what is ours is built.

The whole file is composed into a graph of nodes, and checked there: one document, no key twice in a mapping,
no alias bomb, no Python object. Values are made of the table ``sandbox`` alone. The rest may carry tags
(``!env``) that only the orchestrator can read, so it stays a graph, and is let go.

Imports PyYAML, which comes with the extra ``yaml``: to be imported only where a YAML file is read.
"""

from collections.abc import Iterator

import yaml

from sandbox_pin.core.configuration import TABLE
from sandbox_pin.core.spelling import abridged, quoted
from sandbox_pin.errors import ConfigurationError

_MOST_NODES = 50_000
"""Of a document with every alias written out. PyYAML composes about 25 000 a second."""

_MOST_LEVELS = 100
_MOST_DIGITS = 4300  # What Python converts, and so what the other two formats take.

_TAG = "tag:yaml.org,2002:"
_STANDS_FOR: dict[str, object] = {
    f"{_TAG}null": None,
    f"{_TAG}int": 0,
    f"{_TAG}float": 0.0,
    f"{_TAG}seq": [],
    f"{_TAG}map": {},
}


def parse_yaml(text: str) -> object:
    """The top level of a YAML document, with the value of ``sandbox`` built and every other value left out.

    Of the others, a text is kept as it is and all else becomes ``None``. Keys are the text that stands in the
    file, so that ``on`` and ``1``, which YAML takes for something else, are keys like any other.

    Raises:
        ConfigurationError: the text is no YAML, or more than one document; a key is repeated in a mapping; it
            is nested too deep, or too large with its aliases written out; a tag would make a Python object.
    """
    try:
        root = _Loader(text).get_single_node()
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The last two are PyYAML's own slips, over "\\UFFFFFFFF" and a %YAML version of 5000 digits.
        raise ConfigurationError(
            f"can't be parsed as YAML: {_reason(error)}", expected="one YAML document"
        ) from error
    return {} if root is None else _build_top(root)


class _Loader(yaml.SafeLoader):
    """A safe loader that bounds what it composes, and takes each key once."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._level = 0
        self._nodes = 0
        self._sizes: dict[yaml.Node | None, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Composes the next node, and counts it: an alias counts for as many as it stands for."""
        if self.check_event(yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if node not in self._sizes:
                raise ConfigurationError("an alias stands inside the value of its own anchor")
            self._count(self._sizes[node])
            return node
        before = self._nodes
        self._count(1)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise ConfigurationError(f"it is nested more than {_MOST_LEVELS} levels deep")
        node = super().compose_node(parent, index)
        self._level -= 1
        self._sizes[node] = self._nodes - before
        if node is not None:
            _refuse_unsafe(node)
        return node

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise ConfigurationError(f"it has more than {_MOST_NODES} values, with its aliases written out")


def _refuse_unsafe(node: yaml.Node) -> None:
    """Refuses what no reader should be asked to build, wherever it stands in the file."""
    if node.tag.startswith(f"{_TAG}python/"):
        raise ConfigurationError(f"the tag {quoted(node.tag)} would make a Python object{_at(node)}")
    if node.tag == f"{_TAG}int" and len(_text(node) or "") > _MOST_DIGITS:
        raise ConfigurationError(f"a number has more than {_MOST_DIGITS} digits{_at(node)}")
    if isinstance(node, yaml.MappingNode):
        keys = set[tuple[str, str]]()
        for key, _ in _entries(node):
            text = _text(key)
            # A key that is itself a list or a mapping is never ours, and is not compared.
            if text is not None and (key.tag, text) in keys:
                raise _repeated(key)
            keys.add((key.tag, text or ""))


def _build_top(root: yaml.Node) -> object:
    if not isinstance(root, yaml.MappingNode):
        return _build_value(root)
    top: dict[object, object] = {}
    for key, value in _merged_entries(root):
        text = _text(key)
        if text == TABLE:
            if TABLE in top:
                raise _repeated(key)
            top[TABLE] = _build_table(value)
        elif text is None:
            top[key] = None
        else:
            top[text] = _text(value) if value.tag == f"{_TAG}str" else None
    return top


def _build_table(node: yaml.Node) -> object:
    """The table ``sandbox``, merge keys carried out. A merged key may not be said again, unlike elsewhere."""
    if not isinstance(node, yaml.MappingNode):
        return _build_value(node)
    table: dict[str, object] = {}
    for key, value in _merged_entries(node):
        text = _text(key)
        if text is None:
            raise ConfigurationError(
                "a key is a list or a mapping", field=TABLE, expected="a word as each key"
            )
        if text in table:
            raise _repeated(key)
        table[text] = _build_value(value)
    return table


def _build_value(node: yaml.Node) -> object:
    """A value of our table. Only a text can be right there, so of all else nothing but the type is built."""
    text = _text(node)
    if node.tag == f"{_TAG}str":
        return text
    if node.tag == f"{_TAG}bool":
        return (text or "").casefold() in ("true", "yes", "on")
    if node.tag not in _STANDS_FOR:
        raise ConfigurationError(f"a value has the type {quoted(node.tag)}{_at(node)}", field=TABLE)
    return _STANDS_FOR[node.tag]


def _merged_entries(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The entries of a mapping, those of its merge key (``<<``) among them.

    It comes to an end, and soon: the loader has refused cycles, and counted every alias written out.
    """
    for key, value in _entries(node):
        if key.tag != f"{_TAG}merge":
            yield key, value
            continue
        for source in _items(value) if isinstance(value, yaml.SequenceNode) else [value]:
            if not isinstance(source, yaml.MappingNode):
                raise ConfigurationError(f"a merge key takes mappings alone{_at(key)}")
            yield from _merged_entries(source)


def _entries(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    entries: list[tuple[yaml.Node, yaml.Node]] = node.value
    return entries


def _items(node: yaml.SequenceNode) -> list[yaml.Node]:
    items: list[yaml.Node] = node.value
    return items


def _text(node: yaml.Node) -> str | None:
    """The text of a scalar as it stands in the file, ``None`` for a list or a mapping."""
    text: str | None = node.value if isinstance(node, yaml.ScalarNode) else None
    return text


def _repeated(key: yaml.Node) -> ConfigurationError:
    return ConfigurationError(
        f"the key {quoted(_text(key) or '')} is there twice in one mapping{_at(key)}",
        expected="each key once",
        remedy="Keep the one that is meant: readers differ in which of the two they take",
    )


def _at(node: yaml.Node) -> str:
    return f", at line {node.start_mark.line + 1}" if node.start_mark else ""


def _reason(error: Exception) -> str:
    """What PyYAML found, on one line: its own messages quote the source over several."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        problem = abridged(error.problem or error.context or "")
        return f"{problem}, at line {error.problem_mark.line + 1}"
    return abridged(str(error))
