"""What `whichone serve` was asked for: its options, and limits that a test or a host of one's own sets."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from whichone.options import Option

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path | None = None
    more: tuple[Path, ...] = ()  # Further folders to show, such as other benchmarks over the same corpus
    host: Annotated[str, Option("Address to listen at.")] = "127.0.0.1"
    port: Annotated[int, Option("The port it listens on."), Meta(ge=1, le=65535)] = 8000
    database: Annotated[
        str | None,
        Option(
            "Where answers are kept: postgresql://USER@HOST/NAME, or a file for SQLite.  [default: FOLDER/whichone-web.sqlite]",
            envvar="WHICHONE_DATABASE",
        ),
    ] = None
    secret: Annotated[
        str | None,
        Option(
            "The file with the secret that signs links, readable by its owner alone; servers that share a database share it.  [default: beside the database]",
            kind="written",
            envvar="WHICHONE_SECRET",
        ),
    ] = None
    no_login: Annotated[
        bool, Option("No link for the admin: an address that opens a single time, on this machine alone.")
    ] = False
    public: Annotated[bool, Option("Let anybody read; writing still needs a link.")] = False
    hosts: Annotated[
        tuple[str, ...],
        Option(
            "A host name that the server goes by; once one is given, requests for others are refused.",
            flags=("--name",),
        ),
    ] = ()
    max_upload: Annotated[
        int,
        Option("Largest file of predictions, in MiB; unpacked it may be eight times as large."),
        Meta(ge=1, le=4096),
    ] = 64
    contact: Annotated[str, Option("Whom to ask, shown wherever something is refused.")] = ""
    search: Annotated[
        str | None,
        Option("Serve an index of `namesake` for searching: a page with a box, and an API.", kind="folder"),
    ] = None
    mcp: Annotated[
        bool,
        Option(
            "With --search: tools for an assistant over standard input and output (Model Context Protocol)."
        ),
    ] = False
    log: Annotated[bool, Option("Log every request as a line of JSON on standard error.")] = False
    as_json: Annotated[
        bool,
        Option(
            "Print the address and the link or tokens as JSON, once the server listens.", flags=("--json",)
        ),
    ] = False
    cache: Path | None = None
    scoring_bytes: int = 4 * 2**30
    scoring_seconds: float = 1800.0
    submissions_a_day: int = 20
    submissions_in_all: int = 100  # To one board that hides its gold
    writes_a_second: float = 10.0
    write_burst: int = 60
    # How long a request may pause while its headers or its body arrive; the whole of a form may take twice
    # as long, an upload twenty times.
    body_seconds: float = 30.0

    @property
    def upload_bytes(self) -> int:
        return self.max_upload * 2**20

    @property
    def unpacked_bytes(self) -> int:
        return 8 * self.upload_bytes

    @property
    def loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def names(self) -> tuple[str, ...]:
        """On loopback only its own names, so that no other site's name can be pointed at it; () for any."""
        own = LOOPBACK if self.loopback else (self.host,)
        return (*own, *self.hosts) if self.loopback or self.hosts else ()

    @property
    def address(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/"

    def database_url(self) -> str:
        return self.database or str((self.folder or Path()) / "whichone-web.sqlite")

    def secret_file(self) -> Path:
        url = self.database_url()
        if self.secret:
            return Path(self.secret).resolve()
        if url.startswith(("postgresql://", "postgres://")):
            return (self.folder or Path()) / "whichone-web.secret"
        return Path(f"{url.removeprefix('sqlite:///')}.secret")
