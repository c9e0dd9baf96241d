"""`meshmsg mesh watch` on a terminal: a table that is kept up to date."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

import meshmsg as mm
from meshmsg._cli.codes import Code
from meshmsg._cli.mesh_table import SIZE, LiveTable, is_terminal, lines, rows
from meshmsg._mesh.told import Service, State
from meshmsg.mesh import Mesh
from meshmsg.mesh._outside.info import MemberInfo
from tests.support.meshes import WAIT_S, Process, node

BEGINS, ENDS = "\x1b[?25l\x1b[?7l\x1b[2J", "\x1b[?7h\x1b[?25h"
COLUMNS, LINES = 200, 20


def info(name: str, **changes: object) -> MemberInfo:
    """A node, as it is told of."""
    fields: dict[str, object] = {
        **{"name": name, "node_id": name.encode().ljust(16, b"\0"), "state": State.ALIVE},
        **{"since": 0.0, "heard": None, "rtt": 0.0012, "addresses": ("tcp://10.0.0.1:1",)},
        **{"host": "", "zone": "z", "incarnation": 1, "services": ()},
        **changes,
    }
    return MemberInfo(**fields)  # type: ignore[arg-type]


class Terminal:
    """`meshmsg mesh watch` in a terminal of its own."""

    def __init__(self, address: str, *more: str, term: str = "xterm") -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        command = [sys.executable, "-m", "meshmsg", "mesh", "watch", address, *more]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env={**os.environ, "TERM": term},
        )
        os.close(theirs)
        self.text = ""

    def _read(self) -> bool:
        ready, _, _ = select.select([self._own], [], [], WAIT_S)
        assert ready, f"nothing comes: {self.text!r}"
        try:
            data = os.read(self._own, 65536)
        except OSError:  # its other end was closed
            return False
        self.text += data.decode()
        return bool(data)

    def shows(self) -> list[str]:
        """What is to be seen now: the last whole picture."""
        pictures = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.text, re.DOTALL)
        return pictures[-1].replace("\x1b[K", "").split("\r\n") if pictures else []

    def until(self, is_so: Callable[[list[str]], bool]) -> list[str]:
        """Read until something is to be seen."""
        while not is_so(self.shows()):
            assert self._read(), f"it ended: {self.text!r}"
        return self.shows()

    def ended(self) -> tuple[int, str]:
        """Read until it has ended; return its exit code, and what it said on standard error."""
        while self._read():
            pass
        code = self.process.wait(WAIT_S)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        with suppress(OSError):
            os.close(self._own)


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A node."""
    with node("a") as a:
        yield a


@pytest.fixture
def terminal(mesh: Mesh) -> Iterator[Terminal]:
    """Who watches it."""
    made = Terminal(mesh.endpoint)
    yield made
    made.close()


def row_of(name: str, *words: str) -> Callable[[list[str]], bool]:
    """Whether a node has a row with these words."""

    def is_so(shown: list[str]) -> bool:
        return any(line.startswith(name) and all(w in line for w in words) for line in shown)

    return is_so


def test_a_table_of_all_nodes_is_kept_up_to_date(mesh: Mesh, terminal: Terminal) -> None:
    """Their services and endpoints, states and round trips; as each changes."""
    shown = terminal.until(row_of("a*", "ALIVE", mesh.endpoint))
    assert terminal.text.startswith(BEGINS)
    assert shown[0].startswith("1 node")
    assert shown[1].split() == "name id state rtt ms address zone services".split()
    with node("b", mesh.endpoint, zone="z1") as b, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        terminal.until(row_of("b ", "ALIVE", b.endpoint, "z1"))
        b.announce("orders", pull)
        terminal.until(row_of("b ", f"orders (pull) {pull.endpoint}"))
        shown = terminal.until(lambda now: bool(re.search(r"ALIVE +\d+\.\d\d +tcp", now[-1])))
        assert shown[0].startswith("2 nodes, 2 are there, as a sees it")
    shown = terminal.until(row_of("b ", "LEFT"))
    assert shown[0].startswith("2 nodes, 1 is there")


def test_a_terminal_is_left_as_it_was(terminal: Terminal) -> None:
    """By Ctrl-C: the cursor is there again, and long lines go on in the next one."""
    terminal.until(row_of("a*"))
    terminal.process.send_signal(signal.SIGINT)
    code, said = terminal.ended()
    assert (code, said) == (130, "")
    assert terminal.text.rstrip("\r\n").endswith(ENDS)


def test_a_node_that_dies_ends_the_table_and_is_told() -> None:
    """As without a terminal; and the terminal is as it was."""
    with Process("x") as its:
        terminal = Terminal(its.endpoint)
        try:
            terminal.until(row_of("x*"))
            its.kill()
            code, said = terminal.ended()
        finally:
            terminal.close()
    assert code == Code.FAILED
    assert said == f"meshmsg: {its.endpoint}: the node left or died, and tells no more\n"
    assert ENDS in terminal.text


@pytest.mark.parametrize(("more", "term"), [(["--json"], "xterm"), ([], "dumb")])
def test_json_and_a_terminal_that_knows_no_commands_get_lines(
    mesh: Mesh, more: list[str], term: str
) -> None:
    """As who is no terminal does."""
    terminal = Terminal(mesh.endpoint, *more, term=term)
    try:
        while "\n" not in terminal.text:
            assert terminal._read()
    finally:
        terminal.close()
    assert "\x1b" not in terminal.text
    assert "UP" in terminal.text


class Screen(io.StringIO):
    """A terminal, or none."""

    def __init__(self, *, is_one: bool = True) -> None:
        super().__init__()
        self._is_one = is_one

    def isatty(self) -> bool:
        """Say whether it is."""
        return self._is_one


def shown(screen: Screen) -> list[str]:
    """The last picture."""
    picture = screen.getvalue().split("\x1b[H")[-1].removesuffix(ENDS)
    return picture.replace("\x1b[K", "").replace("\x1b[J", "").split("\n")


def test_more_nodes_than_lines_are_counted() -> None:
    """A table never scrolls: at the limit all are to be seen, and one more is left out."""
    fits, screen = SIZE[1] - 2, Screen()
    several = [info(f"n{number:02}") for number in range(fits + 1)]
    with LiveTable(screen) as table:
        table.all(several[:fits])
        assert len(shown(screen)) == SIZE[1]
        assert shown(screen)[-1].startswith(f"n{fits - 1:02}")
        table.changed(several[fits])
        assert len(shown(screen)) == SIZE[1]
        assert shown(screen)[-1] == "and 2 more: `meshmsg mesh ls` lists them"
    assert screen.getvalue().endswith(ENDS)


def test_what_a_node_calls_itself_commands_no_terminal() -> None:
    """Nor does its zone, or the name of a service."""
    screen, evil = Screen(), "\x1b[2J\x07\r\n\x9b"
    service = Service(evil, "pull", "zmtp", ("tcp://10.0.0.1:2",))
    with LiveTable(screen) as table:
        table.all([info(evil, zone=evil, services=(service,))])
    drawn = "".join(shown(screen))
    assert not any(c in drawn for c in "\x1b\x07\r\n\x9b")
    assert drawn.count(r"\x1b[2J") == 4


def test_states_change_in_place_and_who_is_forgotten_by_the_node_goes() -> None:
    """An event changes one row; all are taken anew now and then."""
    screen = Screen()
    with LiveTable(screen) as table:
        table.all([info("a"), info("b")])
        table.changed(info("b", state=State.UNREACHABLE, rtt=None))
        assert "UNREACHABLE" in shown(screen)[-1]
        assert shown(screen)[0].startswith("2 nodes, 1 is there, as a sees it")
        table.all([info("a")])
        assert [line.split()[0] for line in shown(screen)[2:]] == ["a*"]


def test_cells_stand_below_each_other() -> None:
    """Whatever is in them; the one that was asked has a star."""
    table = rows([info("a", zone="long zone"), info("node")], info("node").node_id)
    first, second, third = lines(table)
    assert second.index("long zone") == first.index("zone") == len(third) - len("z")
    assert third.startswith("node*")
    assert first.startswith("name ")


def test_a_weight_is_told_that_is_not_that_of_most() -> None:
    """A service that is to get no new work, or more of it, looks so."""
    several = [Service(f"s{w}", "pull", "zmtp", ("tcp://h:1",), weight=w) for w in (0, 1, 3)]
    (_, cells) = rows([info("a", services=tuple(several))], b"")
    assert cells[-1] == (
        "s0 (pull, weight 0) tcp://h:1, s1 (pull) tcp://h:1, s3 (pull, weight 3) tcp://h:1"
    )


@pytest.mark.parametrize(
    ("is_one", "term", "says"),
    [(True, "xterm", True), (True, "dumb", False), (True, None, False), (False, "xterm", False)],
)
def test_a_table_is_for_terminals_that_have_commands(
    is_one: bool, term: str | None, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else there are lines."""
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    assert is_terminal(Screen(is_one=is_one)) is says
