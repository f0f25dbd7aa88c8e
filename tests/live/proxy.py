"""A network between a client and PostgreSQL or a service that a test can break."""

import select
import socket
import struct
import threading
from contextlib import suppress

import sqlalchemy as sa

POLL_SECONDS = 0.02
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards TCP connections on 127.0.0.1 to a server.

    `silence()` breaks it without a word: sockets stay open, the kernel acknowledges what is sent,
    and nothing arrives. After `forward()` new connections work again. On old ones, what was sent
    meanwhile arrives late; after `silence(lose=True)` nothing ever does, as behind a firewall that
    has forgotten them. `cut()` resets all connections.

    Args:
        url: A URL of a PostgreSQL server, with `host=` the folder of its Unix socket, or the http
            address of a service.
    """

    def __init__(self, url):
        self._target = sa.make_url(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._peers, self._lost = {}, []  # by socket, the other one; sockets that nobody reads
        self._asked, self._done, self._turn = None, threading.Event(), threading.Lock()
        self._silent = self._closed = False
        self.accepted = 0  # connections so far
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._do(self._close)
        self._thread.join(10)

    def url(self, **options):
        """The URL of the same database or service through this proxy."""
        port = self._listener.getsockname()[1]
        if self._target.drivername == "http":
            return f"http://127.0.0.1:{port}"
        through = self._target.set(host="127.0.0.1", port=port, password=None, query={})
        return through.update_query_dict({k: str(v) for k, v in options.items()}).render_as_string()

    def silence(self, lose=False):
        """Deliver nothing from now on; with `lose`, also not later on the present connections."""
        self._do(lambda: self._go_silent(lose))

    def forward(self):
        """Deliver again."""
        self._do(lambda: setattr(self, "_silent", False))

    def cut(self):
        """Reset all connections, on both sides."""
        self._do(self._cut)

    def _do(self, action):
        """Let the thread do it between two packets."""
        with self._turn:
            self._done.clear()
            self._asked = action
            assert self._done.wait(10)

    def _run(self):
        while not self._closed:
            sources = [] if self._silent else [self._listener, *self._peers]
            for source in select.select(sources, [], [], POLL_SECONDS)[0]:
                if source is self._listener:
                    self._accept()
                elif source in self._peers:
                    self._pass_on(source)
            if self._asked is not None:
                action, self._asked = self._asked, None
                action()
                self._done.set()

    def _accept(self):
        client, _ = self._listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            server = self._connect()
        except OSError:  # it is down: so is this
            client.close()
            return
        self._peers |= {client: server, server: client}
        self.accepted += 1

    def _connect(self):
        if self._target.drivername == "http":
            return socket.create_connection((self._target.host, self._target.port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._target.query['host']}/.s.PGSQL.5432")
        return server

    def _pass_on(self, source):
        target = self._peers[source]
        with suppress(OSError):
            data = source.recv(65536)
            if data:
                target.sendall(data)
                return
        for one in (source, target):
            self._peers.pop(one, None)
            one.close()

    def _go_silent(self, lose):
        self._silent = True
        if lose:
            self._lost += self._peers
            self._peers.clear()

    def _cut(self):
        for one in (*self._peers, *self._lost):
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            one.close()
        self._peers, self._lost = {}, []

    def _close(self):
        self._cut()
        self._listener.close()
        self._closed = True
