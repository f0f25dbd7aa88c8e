"""The command `varts`: a file a family of verbs, one function a verb, no maths."""

from varts.cli import experiments as experiments
from varts.cli import planning as planning
from varts.cli import priors as priors
from varts.cli import studies as studies  # importing a family registers its verbs
from varts.cli.shell import app as app
from varts.cli.shell import main as main
