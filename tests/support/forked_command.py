"""A `whichone`, a `python -c` and a `python FILE` that start at once: forked from a process that has imported the package.

The command itself is the real one, in a process of its own, with the caller's arguments, folder, environment and
streams; only the second of importing is saved. Run as a program with a socket's path, this file is that process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("cli", "runs", "report", "measures", "benchmarks", "knowledge", "corpus", "papers.amber")
LIBRARIES = ("pandas", "duckdb", "ibis.backends.duckdb", "matplotlib.pyplot", "rich.table")
COMMANDS = ("whichone", "forked-python")
CLIENT = """#!{python} -IS
import json, os, socket, sys
request = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({place!r})
    socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(request)
    os._exit(int(server.recv(16)))
"""


@contextlib.contextmanager
def quick_commands(folder: Path, *modules: str) -> Iterator[Path]:
    """A folder to put first on the path; what is called `whichone` or `forked-python` in it is forked.

    `modules` are imported before; without any, the rooms and libraries that most commands need.
    """
    place = folder / "socket"
    (folder / "bin").mkdir()
    for name in COMMANDS:
        program = folder / "bin" / name
        program.write_text(CLIENT.format(python=sys.executable, place=str(place)))
        program.chmod(0o755)
    command = [sys.executable, __file__, str(place), *modules]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield folder / "bin"
        finally:
            server.kill()


def _serve(place: str, *modules: str) -> None:
    for module in modules or _all_modules():
        importlib.import_module(module)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                break
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    arguments, folder, environment = json.loads(_read(connection, int.from_bytes(size, "big")))
    command = os.fork()
    if command:
        ended = os.pidfd_open(command)
        if ended not in select.select([connection, ended], [], [])[0]:  # the caller was killed
            os.kill(command, signal.SIGKILL)
        _, status = os.waitpid(command, 0)
        code = os.waitstatus_to_exitcode(status)
        connection.sendall(str(code if code >= 0 else 128 - code).encode())
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(_finished(arguments))


def _finished(arguments: list[str]) -> int:
    """The exit code of a command; a process ends sooner when it does not free all that was imported."""
    code: object = None
    try:
        if Path(arguments[0]).name == "forked-python":
            _run_python(*arguments[1:])
        else:
            from whichone.cli import run

            sys.argv = arguments
            run()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # waits for threads, as the interpreter does
    atexit._run_exitfuncs()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    return int(code or 0)


def _run_python(program: str, *arguments: str) -> None:
    if program == "-c":
        program, *arguments = arguments
        name, folder, text = "-c", "", program
    else:
        name, folder, text = program, str(Path(program).parent), Path(program).read_text("utf-8")
    sys.argv = [name, *arguments]
    sys.path.insert(0, folder)
    main = types.ModuleType("__main__")
    main.__file__ = name
    sys.modules["__main__"] = main
    exec(compile(text, name, "exec"), main.__dict__)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data


def _all_modules() -> Iterator[str]:
    for room in ROOMS:
        package = importlib.import_module(f"whichone.{room}")
        yield from (module.name for module in pkgutil.iter_modules(package.__path__, f"whichone.{room}."))
    yield from LIBRARIES


if __name__ == "__main__":
    _serve(*sys.argv[1:])
