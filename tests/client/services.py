"""A service in this process that real connections reach, on a store with the test's clock."""

import re
import threading

import varts
from varts.client import RemoteExperiment
from varts.live import Experiment
from varts.serve.app import make_app
from varts.serve.auth import Auth, Sessions
from varts.serve.runtime import Service
from varts.serve.server import Server, listen
from varts.serve.settings import Settings
from varts.serve.tokens import Tokens, new_token


class Running:
    """One that listens on a free port; tokens are made as tests want them."""

    def __init__(self, store):
        self.store = store
        self.token, operator = new_token("operator", ["admin"])
        self._tokens = [operator]
        self._settings = Settings(port=0, drain=1)
        self.admission = Auth(Tokens(self._tokens), Sessions(secure=False))

    def __enter__(self):
        self.service = Service(self.store)
        app = make_app(self.service, self.admission, self._settings)
        self._server = Server(app, self._settings, self.service.metrics)
        self._listening = listen(self._settings)
        listener = self._listening.__enter__()
        listener.listen(128)  # whoever comes before it serves waits
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sockets = {"sockets": [listener]}
        self._thread = threading.Thread(target=self._server.run, kwargs=sockets)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._server.should_exit = True
        self._thread.join(30)
        self._listening.__exit__(None, None, None)

    def make_token(self, *scopes, **more):
        """The secret of a new token."""
        name = f"{'-'.join(scopes)}-{len(self._tokens)}"
        secret, token = new_token(name, list(scopes), **more)
        self._tokens.append(token)
        self.admission.tokens = Tokens(self._tokens)
        return secret

    def open(self, name, arms=None, **options):
        """An experiment in it, through connections of its own."""
        options.setdefault("token", self.token)
        return varts.open(name, arms, store=self.address, **options)


class Witnessed(RemoteExperiment):
    """A remote experiment whose database a test can look into.

    All verbs go over HTTP. What no service offers (the log's events, `verify`, the statistics) is
    read from its store. A report over HTTP settles nothing; the service does so every second, which
    no test has to wait for.
    """

    def __init__(self, remote, store):
        super().__init__(remote._talk, remote._connection)
        self.store = store

    @property
    def _witness(self):
        return Experiment(self.name, self.store)

    @property
    def _session(self):
        return self._witness._session

    @property
    def state(self):
        return self._witness.state

    def settle(self):
        self._witness.settle()

    def verify(self, *given, **named):
        return self._witness.verify(*given, **named)

    def report(self, *given, **named):
        self.settle()
        return super().report(*given, **named)


def slug(text):
    """A name that a service takes.

    >>> slug("test_it[a b]")
    'test_it-a-b-'
    """
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[-100:].lstrip("._-")
