"""The site as Markdown: every page, and llms.txt."""

import importlib.util
import re

import pytest

from tests.docs import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site():
    """docs/as_markdown.py, which `docs/conf.py` calls at the end of a build."""
    spec = importlib.util.spec_from_file_location("as_markdown", DOCS / "as_markdown.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)


TREE = "```{toctree}\n:hidden:\n\n%s\n```\n"


def test_llms_txt_has_a_sentence_about_every_page_by_section(site, tmp_path):
    write(
        tmp_path,
        index="# A tool\n\nIt measures *things*, and it tells you in plain words what they are.\n\n"
        + TREE % "guides\nnumbers",
        guides="# Guides\n\n- [one](one.md)\n\n" + TREE % "one\nThe other <other>",
        one="# One\n\n![a picture](x.png)\n\n```python\nx = 1. + 2\n```\n\n<!-- a note -->\n"
        "Short one. It is about [`a thing`](other.md), and its name takes\ntwo lines. More.\n",
        other="# Other\n\nThis page is long enough to need no second sentence, as you see. No.\n\n"
        + TREE % "below",
        below="# Below\n\n## Part\n",
        numbers="# Numbers\n",
    )
    assert site.llms_txt(tmp_path) == (
        "# A tool\n\n"
        "> It measures things, and it tells you in plain words what they are.\n\n"
        "## Guides\n\n"
        "- [Guides](guides.md)\n"
        "- [One](one.md): Short one. It is about `a thing`, and its name takes two lines.\n"
        "- [Other](other.md): This page is long enough to need no second sentence, as you see.\n"
        "- [Below](below.md)\n\n"
        "## Numbers\n\n"
        "- [Numbers](numbers.md)\n"
    )


def test_every_page_is_in_llms_txt_once(site):
    listed = re.findall(r"^- \[.+?\]\((\S+)\)", site.llms_txt(DOCS), re.MULTILINE)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(pages - {"index.md"})


def test_the_markdown_of_a_page_has_what_the_site_adds(site):
    live = site.markdown_of(DOCS / "api/live.md")
    assert "## `varts.Experiment(" in live or "## `varts.live.Experiment(" in live
    assert "### `reward(self, id: str, value: float" in live
    assert "Args:" in live and "{public}" not in live
    assert "varts experiment report" in site.markdown_of(DOCS / "command-line.md")
    assert "{toctree}" not in site.markdown_of(DOCS / "guides.md")
    changes = site.markdown_of(DOCS / "changes.md")
    assert changes.startswith("# Changelog") and "](docs/" not in changes


def test_a_site_gets_every_page_with_links_to_its_images(site, tmp_path):
    docs, target = tmp_path / "docs", tmp_path / "site"
    (docs / "more").mkdir(parents=True)
    target.mkdir()
    write(docs, index="# A tool\n\n![a](images/a.png) [b](images/b.png)\n\n" + TREE % "more/one")
    write(docs / "more", one="# One\n\n![a](../images/a.png) [index](../index.md)\n")
    site.write_site(docs, target)
    assert (target / "llms.txt").read_text() == site.llms_txt(docs)
    assert (target / "index.md").read_text() == (
        "# A tool\n\n![a](_images/a.png) [b](_images/b.png)\n"
    )
    one = (target / "more/one.md").read_text()
    assert one == "# One\n\n![a](../_images/a.png) [index](../index.md)\n"
