"""A hook of mkdocs.yml: what the site needs of pages that are written to be read as files too."""

import posixpath
import re
from typing import Protocol

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(?:#[^)]*)?\)")
_NAMED_FENCE = re.compile(r"^(```\w+) [\w ]+$", flags=re.MULTILINE)


class _File(Protocol):
    src_uri: str


class _Page(Protocol):
    file: _File


def on_page_markdown(markdown: str, *, page: _Page, **_: object) -> str:
    """A page's text for the site.

    A link to a file of the project that is not a page becomes its text, as the site has no such file. The
    name of a code block, by which a test finds it, is left out.
    """
    folder = posixpath.dirname(page.file.src_uri)

    def on_site(link: re.Match[str]) -> str:
        outside = posixpath.normpath(posixpath.join(folder, link[2])).startswith("..")
        return f"`{link[1]}`" if outside else link[0]

    return _LINK.sub(on_site, _NAMED_FENCE.sub(r"\1", markdown))
