"""The HTTP service on the command line: serve."""

from __future__ import annotations

import tempfile
from typing import Annotated

from cyclopts import App, Parameter

from varts._validation import needs_extra
from varts.cli.experiment_flags import STORE, Url
from varts.cli.flags import FilePath, Whole

NOTES = """\
One process is enough: requests that arrive together share a transaction, and
more processes would only make these batches smaller. On SIGTERM and Ctrl-C it
answers the requests it has accepted and ends. On SIGHUP it reads the token file
again.

Examples:

    varts serve
    varts serve --demo
    varts serve --store sqlite:///shop.db --port 8000
    varts token new shop --scopes decide,reward >> tokens.toml
    varts serve --host 0.0.0.0 --token-file tokens.toml --store-file store-url \\
        --public-url https://varts.example.com --log json
"""
serve = App(name="serve", help_epilogue=NOTES)


@serve.default
def serve_store(
    *,
    store: Url = STORE,
    store_file: Annotated[FilePath | None, Parameter(env_var="VARTS_STORE_FILE")] = None,
    host: Annotated[str, Parameter(env_var="VARTS_HOST")] = "127.0.0.1",
    port: Annotated[Whole, Parameter(env_var="VARTS_PORT")] = 8321,
    uds: Annotated[FilePath | None, Parameter(env_var="VARTS_UDS")] = None,
    token_file: Annotated[FilePath | None, Parameter(env_var="VARTS_TOKEN_FILE")] = None,
    no_auth: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    public_url: Annotated[str | None, Parameter(env_var="VARTS_PUBLIC_URL")] = None,
    allow_origin: Annotated[
        list[str] | None, Parameter(env_var="VARTS_ALLOW_ORIGIN", negative=())
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, Parameter(env_var="VARTS_TRUSTED_PROXY", negative=())
    ] = None,
    read_only: Annotated[
        bool, Parameter(env_var="VARTS_READ_ONLY", negative=(), show_default=False)
    ] = False,
    log: Annotated[str, Parameter(env_var="VARTS_LOG", metavar="json|text")] = "text",
    drain: Annotated[float, Parameter(env_var="VARTS_DRAIN", metavar="SECONDS")] = 10.0,
    max_connections: Annotated[Whole, Parameter(env_var="VARTS_MAX_CONNECTIONS")] = 4096,
    max_connections_per_address: Annotated[
        Whole, Parameter(env_var="VARTS_MAX_CONNECTIONS_PER_ADDRESS")
    ] = 256,
    idle_timeout: Annotated[
        float, Parameter(env_var="VARTS_IDLE_TIMEOUT", metavar="SECONDS")
    ] = 30.0,
    request_timeout: Annotated[
        float, Parameter(env_var="VARTS_REQUEST_TIMEOUT", metavar="SECONDS")
    ] = 10.0,
    write_timeout: Annotated[
        float, Parameter(env_var="VARTS_WRITE_TIMEOUT", metavar="SECONDS")
    ] = 10.0,
    max_header_bytes: Annotated[Whole, Parameter(env_var="VARTS_MAX_HEADER_BYTES")] = 64_000,
    demo: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    webhook: Annotated[str | None, Parameter(env_var="VARTS_WEBHOOK", metavar="URL")] = None,
    webhook_secret_file: Annotated[
        FilePath | None, Parameter(env_var="VARTS_WEBHOOK_SECRET_FILE")
    ] = None,
    webhook_state: Annotated[FilePath | None, Parameter(env_var="VARTS_WEBHOOK_STATE")] = None,
) -> None:
    """Serve the experiments of a store over HTTP: decide, reward, report, and pages to watch.

    Parameters
    ----------
    store_file
        A file with the store's URL as its only line. Other users of the machine can see a password
        in --store.
    host
        The address to listen on. Any address that other machines can reach needs --token-file.
    port
        The port to listen on; 0 takes any free port.
    uds
        A Unix socket to listen on instead.
    token_file
        The accepted tokens, as `varts token new` prints them. Without it, the service makes one
        token with all scopes and prints it.
    no_auth
        Accept everybody who can reach the service; for this machine only.
    public_url
        The address that clients use, such as https://varts.example.com. The service answers to this
        name and to this machine's own names only.
    allow_origin
        A site whose pages may use the service with a token, such as https://board.example; may be
        repeated.
    trusted_proxy
        The address or network of a proxy. The service believes what it reports about its clients,
        and doesn't limit its connections; may be repeated.
    read_only
        Answer only requests that read, and write nothing to the store: a dashboard on a replica.
    log
        The format of log lines, which go to standard error.
    drain
        How long requests in progress get to finish when the service is stopped.
    max_connections
        The most connections at a time. Beyond that, the one that has been idle longest is closed.
    max_connections_per_address
        The same for one address, or for one /64 network with IPv6.
    idle_timeout
        How long a connection may stay open between two requests.
    request_timeout
        How long a client may take to send the headers of a request, and again to send its body.
    write_timeout
        How long a client may read nothing of a response before its connection is closed.
    max_header_bytes
        The largest headers of a request, including its path.
    demo
        Show a shop whose experiments learn while you watch, with simulated visitors. The store is
        temporary, unless --store names one, which must have no experiments.
    webhook
        An https URL that gets a POST when a stop rule is met, a guardrail is violated or rewards
        stop arriving.
    webhook_secret_file
        A file whose only line is the secret that signs these requests.
    webhook_state
        A file that keeps what was announced. Without it, a condition that holds when the service
        starts isn't announced.
    """
    try:
        from varts.serve import server
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{needs_extra('varts serve', 'serve')} ({error.name} is missing)"
        ) from None
    from varts.serve.settings import Settings

    url = store if store_file is None else store_file.read_text(encoding="utf-8").strip()
    with tempfile.TemporaryDirectory(prefix="varts-") as folder:
        server.serve(
            Settings(
                store=f"sqlite:///{folder}/demo.db" if demo and url == STORE else url,
                host=host,
                port=port,
                uds=uds,
                token_file=token_file,
                no_auth=no_auth,
                public_url=public_url,
                allow_origins=tuple(allow_origin or ()),
                trusted_proxies=tuple(trusted_proxy or ()),
                read_only=read_only,
                log=log,
                drain=drain,
                max_connections=max_connections,
                max_connections_per_address=max_connections_per_address,
                idle_timeout=idle_timeout,
                request_timeout=request_timeout,
                write_timeout=write_timeout,
                max_header_bytes=max_header_bytes,
                demo=demo,
                webhook=webhook,
                webhook_secret_file=webhook_secret_file,
                webhook_state=webhook_state,
            )
        )
