"""The pages: pure functions from what is known to HTML text.

Each page has a function `page`; none of them knows HTTP or a store. `forms` has the fields of every
form with the functions that read them, `render` fills in the templates, and `handlers` answers
requests. A page that changes while somebody looks at it marks its parts with `data-live`. live.js
asks for the same address again and takes those parts from the answer.
"""

from varts.serve.auth import Actor
from varts.serve.web.forms import FORMS
from varts.serve.web.render import STATIC

__all__ = ["FORMS", "STATIC", "Actor"]
