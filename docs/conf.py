"""Settings of the documentation's site, which `make docs` builds with Sphinx into build/docs.

The pages are plain Markdown that a forge shows as well; MyST reads them. Nothing is fetched while the site is built or read:
the theme has no web fonts, and no inventory of another site is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

import autochron

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]

project = "autochron"
author = "The autochron developers"
project_copyright = author
version = release = autochron.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns: list[str] = []

# --- Markdown ---

myst_heading_anchors = 4
myst_number_code_blocks: list[str] = []
# Blocks that only look like code, such as a drawing or a line with "…", have the language `text`.
highlight_language = "text"

# --- Python ---

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
# A single backtick in a docstring is code, as in Markdown.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# The prompt is not copied, nor is what a command prints.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

# --- HTML ---

html_theme = "furo"
html_title = f"autochron {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    # The text of a table is dark on light and light on dark, by the reader's system.
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7ab8ff", "color-brand-content": "#7ab8ff"},
}


class OutsideLinks(SphinxPostTransform):
    """Show a link to a file or folder of the repository outside docs/ as its text with the path in the repository.

    On a forge these links lead to the file. The site has no copy of it.
    """

    default_priority = 5  # before Sphinx resolves references and collects downloads

    def run(self, **kwargs: object) -> None:
        """Replace such links by their text, with the path as the tooltip."""
        from sphinx import addnodes  # lazy: Sphinx imports this module before it is ready

        folder = Path(self.env.doc2path(self.env.docname)).parent
        for node in [
            *self.document.findall(addnodes.pending_xref),
            *self.document.findall(addnodes.download_reference),
        ]:
            target = str(node.get("reftarget", "")).partition("#")[0]
            path = Path(os.path.normpath(folder / target))
            if not path.exists():  # MyST drops the suffix of a page
                path = Path(f"{path}.md")
            if not target or ROOT / "docs" in (path, *path.parents) or not path.exists():
                continue
            shown = nodes.inline("", "", *node.children, classes=["outside"])
            shown["title"] = str(path.relative_to(ROOT))
            node.replace_self(shown)


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(OutsideLinks)
