"""Servers on loopback that don't behave."""

import socket
import threading
import time
from contextlib import suppress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Hostile:
    """A server that answers every connection in the same way.

    Args:
        behave: Called with each connection, in a thread of its own; None never accepts one.
        host: The address of this machine that it listens on.
    """

    def __init__(self, behave, host="127.0.0.1"):
        self.connections = 0
        self.requests = []
        self.over = threading.Event()
        self._behave, self._open, self._threads = behave, [], []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=64)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self._listener.getsockname()[1]}"

    def __enter__(self):
        if self._behave is not None:
            self._start(self._accept)
        return self

    def __exit__(self, *error):
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while not self.over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection):
        with suppress(OSError):
            self._behave(self, connection)


def read_request(server, connection):
    """Read one request; returns False at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    headers = dict(
        line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line
    )
    size = int(headers.get(b"content-length", 0))
    while len(body) < size:
        body += connection.recv(65536)
    server.requests.append((head, headers, body))
    return True


def silent(server, connection):
    """Reads the request and never answers."""
    read_request(server, connection)
    server.over.wait()


def deaf(server, connection):
    """Never reads."""
    server.over.wait()


def gone(server, connection):
    """Closes after the request."""
    read_request(server, connection)
    connection.close()


def drip(*parts):
    """Sends these parts, and the last one over and over, a byte every 20 ms."""

    def behave(server, connection):
        read_request(server, connection)
        for part in parts[:-1]:
            connection.sendall(part)
        while True:
            for byte in parts[-1]:
                connection.sendall(bytes([byte]))
                time.sleep(0.02)

    return behave


drip_status = drip(b"HTTP/1.1 200 ", b"O")
drip_headers = drip(HEAD, b"X-Header: y\r\n")
drip_body = drip(HEAD + b"Content-Length: 100000\r\n\r\n", b" ")
drip_chunks = drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")


def endless(server, connection):
    """Sends blanks as fast as it can."""
    read_request(server, connection)
    connection.sendall(HEAD + b"\r\n")
    while True:
        connection.sendall(b" " * 65536)


def raw(*answer):
    """Answers each request with these bytes, then closes."""

    def behave(server, connection):
        if read_request(server, connection):
            connection.sendall(b"".join(answer))
        connection.close()

    return behave


def fixed(body, status=200, headers=b""):
    """Answers every request with this body."""

    def behave(server, connection):
        size = f"Content-Length: {len(body)}\r\n".encode()
        head = HEAD.replace(b"200 OK", f"{status} Status".encode()) + headers + size
        while read_request(server, connection):
            connection.sendall(head + b"\r\n" + body)

    return behave


HANGING = {
    "never accepts": None,
    "never answers": silent,
    "never reads": deaf,
    "drips the status": drip_status,
    "drips headers": drip_headers,
    "drips the body": drip_body,
    "drips chunks": drip_chunks,
    "never ends": endless,
}
BROKEN = {
    "closes": gone,
    "truncates the body": raw(HEAD, b"Content-Length: 100\r\n\r\n", b'{"decisions": ['),
    "truncates a chunk": raw(HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"ff\r\n{"),
    "truncates the headers": raw(HEAD),
    "sends more than it says": raw(HEAD, b"Content-Length: 1\r\n\r\n", b'{"decisions": []}'),
    "says two lengths": raw(HEAD, b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
    "says a negative length": raw(HEAD, b"Content-Length: -1\r\n\r\n{}"),
    "says no number": raw(HEAD, b"Content-Length: x\r\n\r\n{}"),
    "speaks no HTTP": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "sends binary": raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "answers with a page": fixed(b"<html>"),
    "answers with nothing": fixed(b""),
    "answers with a list": fixed(b"[]"),
    "answers with null": fixed(b"null"),
    "answers with wrong types": fixed(b'{"decisions": [{"id": 7}], "results": {}, "points": 3}'),
    "answers with a deep nest": fixed(b"[" * 200_000),
    "answers with a huge number": fixed(b'{"version": ' + b"9" * 5000 + b"}"),
    "answers without UTF-8": fixed(b'{"arm": "\xff\xfe"}'),
    "is compressed": fixed(b"\x1f\x8b\x08\x00", headers=b"Content-Encoding: gzip\r\n"),
    "redirects": fixed(b"", 302, b"Location: http://127.0.0.1:9/\r\n"),
    "fails with a page": fixed(b"<html>", 500),
    "fails with a problem": fixed(b'{"type": "/problems/store", "detail": "oh"}', 500),
    "fails with a wrong problem": fixed(b'{"type": 7, "detail": {}}', 418),
    "fails with a deep nest": fixed(b'{"a":' * 200_000, 500),
}
