"""No link leads nowhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from docs.blocks import ROOT
from docs.pages import Page, all_pages, anchor, read_page

PAGES: Final = {page.name: page for page in all_pages()}
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_PATH: Final = re.compile(r"`((?:benchmarks|demo|docs|requirements|src|tests|typings|\.ci)/[\w./-]*)`")


def links() -> Iterator[object]:
    """Each relative link of each page."""
    for page in PAGES.values():
        for target in _LINK.findall(page.prose):
            if not re.match(r"https?:", target):
                yield pytest.param(page, target, id=f"{page.name}: {target}")


@pytest.mark.parametrize(("page", "target"), tuple(links()))
def test_a_link_leads_to_a_file_and_an_anchor_that_are_there(page: Page, target: str) -> None:
    """The site has no page for what lies outside of ``docs/``: ``docs/site.py`` makes such a link text."""
    name, _, fragment = target.partition("#")
    file = (ROOT / page.name).parent / name if name else ROOT / page.name
    assert file.exists()
    inside = file.resolve().relative_to(ROOT)
    if fragment:
        found = PAGES.get(str(inside)) or read_page(file)
        assert fragment in {anchor(heading) for heading in found.headings}


def test_the_site_s_menu_has_each_page_once() -> None:
    """A page that is in no menu is found by nobody."""
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"(\S+\.md)$", menu, flags=re.MULTILINE)
    assert sorted(listed) == sorted(name.removeprefix("docs/") for name in PAGES if name.startswith("docs/"))


@pytest.mark.parametrize("page", tuple(PAGES.values()), ids=tuple(PAGES))
def test_a_file_that_is_named_is_there(page: Page) -> None:
    """A path of the project that a page names in its text."""
    missing = [name for name in _PATH.findall(page.prose) if not Path(ROOT, name.rstrip("/")).exists()]
    assert not missing


@pytest.mark.parametrize(
    "page", [page for page in PAGES.values() if page.name != "CHANGELOG.md"], ids=lambda page: page.name
)
def test_no_two_headings_of_a_page_have_one_anchor(page: Page) -> None:
    """A link to one of them would lead to the other. A change log has the same ones in each version."""
    anchors = [anchor(heading) for heading in page.headings]
    assert len(anchors) == len(set(anchors))
