"""The pages: pure functions from what is known to HTML text.

One page a file, each with a function `page`; none knows HTTP or a store. `forms` has the fields of
every form with the functions that read them, `rendering` fills in the templates, and `Viewer` is
who asks. A page that changes while one looks at it marks its parts with `data-live`; live.js asks
for the same address again and takes those parts from the answer, so there is nothing else to serve.
"""

from varts.serve.web.forms import FORMS
from varts.serve.web.render import ANYBODY, STATIC, Viewer

__all__ = ["ANYBODY", "FORMS", "STATIC", "Viewer"]
