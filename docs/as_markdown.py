"""The site as Markdown, for programs that read: every page beside its HTML, and llms.txt.

llms.txt lists the pages by section with a sentence about each (https://llmstxt.org). The sections
are those of the `toctree` of index.md, so a new page needs no change here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import varts
from varts.cli import load_commands

TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PUBLIC = re.compile(r"^```\{public\} (.+)\n```$", re.MULTILINE)
INCLUDE = re.compile(r"^```\{include\} (\S+)\n:relative-docs: (\S+)\n```$", re.MULTILINE)
IMAGE = re.compile(r"(\[[^\]]*\]\()(?:[^)\s]*/)?([^/)\s]+\.png\))")  # shown, or linked
BLOCK = re.compile(r"^([`:]{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
SENTENCE = re.compile(r".+?[.!?](?=\s|$)|.+", re.DOTALL)
ENOUGH = 60  # characters; a shorter first sentence, such as "You run a shop.", gets another one


def write_site(docs: Path, site: Path) -> None:
    """Write llms.txt and every page as Markdown into a built site.

    Args:
        docs: The folder of the pages.
        site: The folder of the site.
    """
    (site / "llms.txt").write_text(llms_txt(docs), encoding="utf-8")
    for page in sorted(docs.rglob("*.md")):
        target = site / page.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        images = "../" * (len(page.relative_to(docs).parts) - 1) + "_images/"
        text = IMAGE.sub(rf"\1{images}\2", markdown_of(page))
        target.write_text(text, encoding="utf-8")


def llms_txt(docs: Path) -> str:
    """Return the list of all pages, by section.

    Args:
        docs: The folder of the pages.
    """
    index = docs / "index.md"
    parts = [f"# {title(index)}", f"> {summary(index)}"]
    for section in children(index):
        pages = [section, *below(section)]
        parts += [f"## {title(section)}", "\n".join(line(p, docs) for p in pages)]
    return "\n\n".join(parts) + "\n"


def line(page: Path, docs: Path) -> str:
    """Return the line of a page in the list: a link, and its summary if it has text."""
    link = f"- [{title(page)}]({page.relative_to(docs).as_posix()})"
    return f"{link}: {about}" if (about := summary(page)) else link


def children(page: Path) -> list[Path]:
    """Return the pages in the toctrees of a page."""
    found = []
    for tree in TOCTREE.findall(page.read_text(encoding="utf-8")):
        entries = [line.strip() for line in tree.splitlines()]
        names = [line for line in entries if line and not line.startswith(":")]
        # An entry is a name, or a title and the name: `Late rewards <delays>`.
        names = [re.sub(r"^.*<(.+)>$", r"\1", name) for name in names]
        found += [page.parent / f"{name}.md" for name in names]
    return found


def below(page: Path) -> Iterator[Path]:
    """Yield the pages below a page, at any depth."""
    for child in children(page):
        yield child
        yield from below(child)


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return plain(re.search(r"^# (.+)$", markdown_of(page), re.MULTILINE)[1])


def summary(page: Path) -> str:
    """Return what a page is about: its first sentence, or more if that is short.

    It is empty for a page without text, such as a list of links.
    """
    text = COMMENT.sub("", BLOCK.sub("", markdown_of(page)))
    paragraphs = (part.strip() for part in text.split("\n\n"))
    prose = (part for part in paragraphs if part and part[0] not in "#|>-*!")
    said = ""
    for sentence in SENTENCE.findall(plain(next(prose, ""))):
        said = f"{said} {sentence.strip()}".strip()
        if len(said) >= ENOUGH:
            break
    return said


def plain(text: str) -> str:
    """Return text on one line, without links and emphasis."""
    return " ".join(LINK.sub(r"\1", text).replace("*", "").split())


def markdown_of(page: Path) -> str:
    """Return a page as Markdown: what the site adds to it is there, and directives are gone."""
    text = page.read_text(encoding="utf-8")
    for path, links_from in INCLUDE.findall(text):
        included = (page.parent / path).read_text(encoding="utf-8")
        text = INCLUDE.sub(lambda _, new=included: new, text, count=1)
        text = text.replace(f"]({links_from}", "](")
    text = PUBLIC.sub(lambda found: reference(found[1].split()), text)
    text = TOCTREE.sub("", text).rstrip() + "\n"
    return text + command_reference() if page.name == "command-line.md" else text


def command_reference() -> str:
    """Return every command with its flags, from the command line itself."""
    text = load_commands().generate_docs()
    return "\n" + text[text.index("**Before an experiment**") :]


def reference(homes: list[str]) -> str:
    """Return the signatures and docstrings of all public names of some modules."""
    entries = []
    for home in homes:
        for name in public_names(home):
            value = getattr(import_module(home), name)
            entries.append(entry("##", public_path(home, name), value))
            if inspect.isclass(value):
                own = {n: member for n, member in vars(value).items() if not n.startswith("_")}
                entries += [entry("###", n, member) for n, member in own.items()]
    return "\n\n".join(filter(None, entries))


def entry(heading: str, name: str, value: object) -> str:
    """Return the signature and the docstring of a value, or nothing if it has no docstring."""
    documented = getattr(value, "__func__", value)  # that of a class method
    if not (inspect.isclass(value) or inspect.isroutine(documented) or isinstance(value, property)):
        return ""
    text = inspect.getdoc(documented)
    if not text:
        return ""
    try:
        annotated = str(inspect.signature(documented))
        parameters = re.sub(r"(: |-> )'([^']*)'", r"\1\2", annotated)  # annotations are strings
    except (TypeError, ValueError):  # a property, or written in C
        parameters = ""
    return f"{heading} `{name}{parameters}`\n\n{text}"


def public_names(home: str) -> list[str]:
    """Return what `varts` offers from a module; of a module that is itself public, all it has."""
    names = {name for name, module in varts._home.items() if module == home}
    if home.removeprefix("varts.") in varts.__all__:
        module = import_module(home)
        own = [n for n, value in vars(module).items() if getattr(value, "__module__", "") == home]
        names |= {n for n in getattr(module, "__all__", own) if not n.startswith("_")}
    return sorted(names, key=str.lower)


def public_path(home: str, name: str) -> str:
    """Return a name as users write it."""
    return f"varts.{name}" if name in varts._home else f"{home}.{name}"
