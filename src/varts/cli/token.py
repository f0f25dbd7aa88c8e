"""The tokens of a service on the command line: token new, list, revoke."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from varts._validation import real
from varts.cli.app import (
    FLAGS,
    TOKEN_HELP,
    add_commands,
    cell,
    complain,
    print_json,
    say,
    show,
)
from varts.cli.flags import FilePath, Json
from varts.live.arguments import seconds

EXAMPLES = """\
Examples:

    varts token new shop --scopes decide,reward >> tokens.toml
    varts token new board --scopes read --expires 90d >> tokens.toml
    varts token new page --scopes decide --public \\
        --origin https://shop.example >> tokens.toml
"""
token = App(name="token", help=TOKEN_HELP, help_epilogue=EXAMPLES, group_commands=FLAGS)
TokenFile = Annotated[
    FilePath,
    Parameter(
        name="--token-file",
        env_var="VARTS_TOKEN_FILE",
        help="The token file that varts serve reads.",
    ),
]
RELOAD = "a running service accepts it until it reads the file again: kill -HUP its process"


def new(
    name: str,
    /,
    *,
    scopes: str,
    experiments: str = "*",
    expires: str | None = None,
    rate: float | None = None,
    public: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    origin: Annotated[list[str] | None, Parameter(negative=())] = None,
    as_json: Json = False,
) -> None:
    """Make a token. Prints its entry for the token file, and the token itself on standard error.

    The file keeps a hash of the token. You see the token itself only once, here.

    Example: varts token new shop --scopes decide,reward >> tokens.toml

    Example: varts token new board --scopes read --expires 90d >> tokens.toml

    Parameters
    ----------
    name
        The name of the token in logs.
    scopes
        One or more of read, decide, reward and admin, separated by commas; admin includes all.
    experiments
        The experiments that the token may use: names or patterns, separated by commas.
    expires
        How long the token is valid, such as 90d.
    rate
        The most requests per second: 10,000 by default, or 10 per address for a public token.
    public
        The token will be in a web page: it can only decide, with ids that the service generates,
        and reward with the receipts of those decisions.
    origin
        A site whose pages may use the token, such as https://shop.example; may be repeated.
    """
    from varts.serve.tokens import new_token

    options: dict[str, object] = {"experiments": _split(experiments), "public": public}
    if expires is not None:
        lasts = real("expires", seconds("expires", expires), above=0, at_most=1e10)
        now = datetime.now(UTC).replace(microsecond=0)
        options["expires"] = now + timedelta(seconds=lasts)
    if rate is not None:
        options["rate"] = rate
    if origin is not None:
        options["origins"] = tuple(origin)
    secret, made = new_token(name, _split(scopes), **options)
    if as_json:
        print_json({"name": made.name, "token": secret, "entry": made.to_toml()})
        return
    say(*made.to_toml().split("\n"))
    sys.stdout.flush()
    complain(f"varts: token {secret}")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def list_tokens(*, token_file: TokenFile = Path("tokens.toml"), as_json: Json = False) -> None:
    """List the tokens in a token file. The file doesn't have the tokens themselves.

    Example: varts token list --token-file tokens.toml
    """
    from varts.serve.tokens import read_tokens

    now = datetime.now(UTC)
    table = Table("name", "scopes", "experiments", "expires", "rate", box=None, pad_edge=False)
    for one in read_tokens(token_file):
        expires = None if one.expires is None else one.expires.isoformat(timespec="seconds")
        if as_json:
            kind = {"public": one.public, "origins": list(one.origins)}
            scopes = {"scopes": list(one.scopes), "experiments": list(one.experiments)}
            limits = {"expires": expires, "expired": one.is_over(now), "rate": one.rate}
            print_json({"name": one.name, **scopes, **limits, **kind})
            continue
        ends = "-" if expires is None else f"{expires} (expired)" if one.is_over(now) else expires
        what = ", ".join(one.scopes) + (" (public)" if one.public else "")
        patterns = ", ".join(one.experiments)
        table.add_row(*map(cell, (one.name, what, patterns, ends, f"{one.rate:g}/s")))
    if not as_json:
        show(table, uncut=True)


def revoke(
    name: str, /, *, token_file: TokenFile = Path("tokens.toml"), as_json: Json = False
) -> None:
    """Remove a token from a token file. Everything else in the file stays as it is.

    The file is replaced in one step, with the same permissions.

    Example: varts token revoke board --token-file tokens.toml

    Parameters
    ----------
    name
        The name of the token.
    """
    from varts.serve.tokens import revoke_token

    revoke_token(token_file, name)
    if as_json:
        print_json({"name": name, "revoked": True, "file": str(token_file)})
    else:
        say(f"{name}: revoked in {token_file}; {RELOAD}")


add_commands(
    token,
    {"Commands": [("new", new, None), ("list", list_tokens, None), ("revoke", revoke, None)]},
)
