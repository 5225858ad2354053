"""How the server was asked to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


@dataclass(frozen=True)
class Settings:
    folder: Path | None = None
    more: tuple[Path, ...] = ()
    """Further folders to show, such as other benchmarks over the same corpus."""
    host: str = "127.0.0.1"
    port: int = 8000
    database: str | None = None
    secret: Path | None = None
    """The file with the secret that signs links; beside the database when it is not given."""
    login: bool = True
    """False lets whoever opens the page on this machine in as its admin."""
    public: bool = False
    """Whether anybody may read; writing needs a token all the same."""
    contact: str = ""
    """Whom to ask, shown wherever something is refused."""
    cache: Path | None = None
    upload_bytes: int = 64 * 2**20
    unpacked_bytes: int = 512 * 2**20
    scoring_bytes: int = 4 * 2**30
    scoring_seconds: float = 1800.0
    submissions_a_day: int = 20
    writes_a_second: float = 10.0
    write_burst: int = 60
    body_seconds: float = 30.0
    """How long a request may pause while its headers or its body arrive."""
    log: bool = False
    """Whether every request is logged, as a line of JSON."""
    hosts: tuple[str, ...] = ()
    """Names that the server goes by, beside its own address."""

    @property
    def loopback(self) -> bool:
        return self.host in LOOPBACK

    def database_url(self) -> str:
        return self.database or str((self.folder or Path()) / "whichone-web.sqlite")

    def secret_file(self) -> Path:
        if self.secret is not None:
            return self.secret
        url = self.database_url()
        if url.startswith(("postgresql://", "postgres://")):
            return (self.folder or Path()) / "whichone-web.secret"
        path = Path(url.removeprefix("sqlite:///"))
        return path.with_name(f"{path.name}.secret")
