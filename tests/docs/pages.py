"""The pages that a reader sees, taken apart: headings, code blocks, links."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from docs.blocks import ROOT

PAGES: Final = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
"""The README and its neighbours, and all below ``docs/``."""

_FENCE: Final = re.compile(r'^(`{3,})(\w*)(?: title="([^"]+)"| ([\w ]+))?$')
_HEADING: Final = re.compile(r"^#{1,6} (.+)$")
_DRAWN: Final = re.compile(r"^<!-- (drawn: |end of )([\w-]+) -->$")


class Block(Struct, frozen=True, kw_only=True):
    """A code block.

    Attributes:
        language: the word behind its fence; empty where there is none.
        title: the file that it is the text of; ``None``: no file's.
        text: its lines, each with its end.
        heading: the heading that it stands under.
        line: the line that its fence is on, from 1.
        name: a name of its own, by which another test finds it; ``None``: it has none.
        drawn: the part that ``docs/generate.py`` draws it for; ``None``: it was written by hand.
    """

    language: str
    title: str | None
    text: str
    heading: str
    line: int
    name: str | None
    drawn: str | None


class Page(Struct, frozen=True, kw_only=True):
    """A page.

    Attributes:
        name: its path from the project's folder.
        headings: the texts of its headings, in order.
        blocks: its code blocks, in order.
        prose: its text without the code blocks.
    """

    name: str
    headings: tuple[str, ...]
    blocks: tuple[Block, ...]
    prose: str


def read_page(path: Path) -> Page:
    """Takes a page apart."""
    headings: list[str] = []
    blocks: list[Block] = []
    prose: list[str] = []
    drawn: str | None = None
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    for number, line in lines:
        if fence := _FENCE.match(line):
            text: list[str] = []
            for _, inside in lines:
                if inside == fence[1]:
                    break
                text.append(f"{inside}\n")
            else:
                raise AssertionError(f"{path}: the block of line {number} has no end")
            block = Block(
                language=fence[2],
                title=fence[3],
                text="".join(text),
                heading=headings[-1] if headings else "",
                line=number,
                name=fence[4],
                drawn=drawn,
            )
            blocks.append(block)
            continue
        prose.append(line)
        if heading := _HEADING.match(line):
            headings.append(heading[1])
        elif mark := _DRAWN.match(line):
            drawn = mark[2] if mark[1] == "drawn: " else None
    return Page(
        name=str(path.relative_to(ROOT)),
        headings=tuple(headings),
        blocks=tuple(blocks),
        prose="\n".join(prose),
    )


def all_pages() -> Iterator[Page]:
    """Each page of the project."""
    yield from map(read_page, PAGES)


def anchor(heading: str) -> str:
    """The anchor of a heading, as both GitHub and Python-Markdown make it of plain words."""
    letters = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"\s", "-", letters)
