"""How `make docs` builds the site: Sphinx, the Markdown of this folder and the docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import index
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import varts

sys.path.insert(0, str(Path(__file__).parent))  # Sphinx doesn't do so
from as_markdown import command_reference, public_names, public_path, write_site

project = "varts"
author = copyright = "The varts developers"
version = release = varts.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
smartquotes = False  # a flag keeps its two dashes

# The pages are plain Markdown that also reads well where it is not built.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# Types stand once, beside the parameters that `Args:` documents.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True

# Only the lines that a reader types are copied from a block, without the prompt.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

html_theme = "pydata_sphinx_theme"
html_title = "varts"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
toc_object_entries_show_parents = "hide"  # `decide()`, as there is no room for more
html_show_sourcelink = False
html_copy_source = False
html_use_index = html_domain_indices = False  # the search finds names, too
html_theme_options = {
    "logo": {"text": "varts"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


class PublicNames(SphinxDirective):
    """All public names of some modules, so that no page has to list them."""

    required_arguments = 1
    optional_arguments = 19

    def run(self) -> list[nodes.Node]:
        lines = [
            f".. {documenter(home, name)}:: {public_path(home, name)}\n"
            for home in self.arguments
            for name in public_names(home)
        ]
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def documenter(home: str, name: str) -> str:
    """The directive that documents such a value."""
    value = getattr(import_module(home), name)
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, Exception) else "autoclass"
    return "autofunction" if inspect.isfunction(value) else "autodata"


def add_commands(app: Sphinx, page: str, source: list[str]) -> None:
    """Every command with its flags, from the command line itself."""
    if page == "command-line":
        source[0] += command_reference()


OUTSIDE = re.compile(r"\]\((\.\./[^)#]*\.md)(?:#[^)]*)?\)")


def link_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to Markdown files outside this folder are to files, not to pages of the site.

    A file has no headings to link to, so the part of the link after # goes.
    """
    folder = Path(app.env.doc2path(page)).parent

    def link(found: re.Match[str]) -> str:
        outside = Path(app.srcdir) not in (folder / found[1]).resolve().parents
        return f"](path:{found[1]})" if outside else found[0]

    source[0] = OUTSIDE.sub(link, source[0])


def write_markdown(app: Sphinx, error: Exception | None) -> None:
    """The pages as Markdown, and llms.txt, for programs that read the site."""
    if error is None and app.builder.format == "html":
        write_site(Path(app.srcdir), Path(app.outdir))


TERM = re.compile(r"^\*\*(.+?)\*\*: .*\]\((\S+)\.md(?:#(\S+))?\)$", re.MULTILINE)


def explain_terms(app: Sphinx, tree: nodes.document) -> None:
    """A search for a term of the glossary, or for its first word, finds the page it links to."""
    glossary = (Path(app.srcdir) / "glossary.md").read_text(encoding="utf-8")
    page = app.env.docname
    for term, target, heading in TERM.findall(glossary):
        if target == page:
            slugs = app.env.metadata[page]["myst_slugs"]
            place = slugs[heading][1] if heading else ""
            words = {term, term.split()[0]}
            entries = [("single", word, place, "main", None) for word in sorted(words)]
            tree += index(entries=entries)


CODE = re.compile(r"(``.+?``|`[^`]+`)")
MARKUP = re.compile(r"[*|]|(?<=\w)_(?=\W|$)")
STARRED = re.compile(r"\s*\*{1,2}\w+:")  # `*args:` in a list of parameters


def read_as_markdown(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Docstrings are written like the pages: one backtick makes code, a star is a star."""
    in_example = False
    for at, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if in_example or STARRED.match(line):
            continue
        parts = CODE.split(line)
        parts[::2] = [MARKUP.sub(r"\\\g<0>", text) for text in parts[::2]]
        parts[1::2] = [f"``{code.strip('`')}``" for code in parts[1::2]]
        lines[at] = "".join(parts)


def leave_out(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """The fields of a named tuple: they are its parameters, and documented as these."""
    return True if (getattr(value, "__doc__", "") or "").startswith("Alias for field") else None


def setup(app: Sphinx) -> None:
    app.add_directive("public", PublicNames)
    app.connect("autodoc-process-docstring", read_as_markdown, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", leave_out)
    app.connect("source-read", add_commands)
    app.connect("source-read", link_files)
    app.connect("doctree-read", explain_terms)
    app.connect("build-finished", write_markdown)
