"""Keys for CURVE and their files: what is written, who may read it, what is refused and how it is
told; and that a secret shows in no text that is not asked for it.

Not here: pyzmq reads ours and we its (tests/interop/test_key_files.py); Z85 itself (tests/c).
"""

from __future__ import annotations

import copy
import logging
import os
import pickle
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.safe import FILE_MAX

PUBLIC = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
SECRET = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
"""The pair of the examples in libzmq's manual (zmq_curve)."""
BOTH = (
    f'metadata\n    name = "x"\ncurve\n    public-key = "{PUBLIC}"\n    secret-key = "{SECRET}"\n'
)

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium on this machine")


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    """Write a file of keys as somebody else did."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_a_pair_is_a_pair_and_new_each_time() -> None:
    """The public key is that of the secret one."""
    first, second = mm.keygen(), mm.keygen()
    assert len({first.public, first.secret, second.public, second.secret}) == 4
    assert len(first.public) == len(first.secret) == 40
    assert first.public_file is first.secret_file is None


def test_files_say_what_the_pair_is(tmp_path: Path) -> None:
    """The secret file has both keys, the public one has not the secret."""
    pair = mm.keygen(tmp_path / "server", metadata={"name": "etl one", "e-mail": "a@example.org"})
    assert pair.public_file == tmp_path / "server.key"
    assert pair.secret_file == tmp_path / "server.key_secret"
    both, public = read_keys(pair.secret_file), read_keys(pair.public_file)
    assert (both.public, both.secret) == (pair.public, pair.secret)
    assert both.metadata == {"name": "etl one", "e-mail": "a@example.org"} == public.metadata
    assert (public.public, public.secret) == (pair.public, None)
    assert str(pair.secret) not in pair.public_file.read_text(encoding="utf-8")
    assert sorted(os.listdir(tmp_path)) == ["server.key", "server.key_secret"]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_a_secret_file_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """0600 from its first moment; the public one is for everybody whom the umask lets."""
    before = os.umask(mask)
    try:
        pair = mm.keygen(tmp_path / "a")
    finally:
        os.umask(before)
    assert pair.secret_file
    assert pair.public_file
    assert stat.S_IMODE(pair.secret_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(pair.public_file.stat().st_mode) == 0o644 & ~mask


@pytest.mark.parametrize("there", ["a.key", "a.key_secret"])
def test_keys_that_are_there_are_not_replaced(tmp_path: Path, there: str) -> None:
    """Neither file is touched, and the other is not left behind."""
    (tmp_path / there).symlink_to(tmp_path / "nowhere")  # not even what a link would name
    with pytest.raises(FileExistsError, match="take another name"):
        mm.keygen(tmp_path / "a")
    assert os.listdir(tmp_path) == [there]


def test_without_the_public_file_the_secret_one_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the disk is full."""
    link = os.link

    def refused(source: Path, target: Path) -> None:
        if target.suffix == ".key":
            raise OSError(28, "No space left on device")
        link(source, target)

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(OSError, match="No space"):
        mm.keygen(tmp_path / "a")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "metadata",
    [{"": "x"}, {"a b": "x"}, {"public-key": "x"}, {"secret-key2": "x"}, {"a": "x\ncurve"}]
    + [{"a": '"'}, {"a": " x"}],
)
def test_metadata_that_would_be_read_otherwise_is_refused(metadata: dict[str, str]) -> None:
    """Before anything is made."""
    with pytest.raises(mm.UsageError, match="metadata"):
        mm.keygen(metadata=metadata)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_secret_that_others_can_reach_is_refused_with_the_chmod(
    tmp_path: Path, mode: int
) -> None:
    """As pyzmq writes it."""
    path = written(tmp_path / "a.key_secret", BOTH, mode)
    with pytest.raises(mm.UsageError, match=f"mode {mode:04o}.*chmod 600 {path}") as caught:
        read_keys(path)
    assert SECRET not in shown(caught.value)
    path.chmod(0o400)
    assert read_keys(path).secret == SECRET


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    """Who owns it can read it, and change it."""
    path = written(tmp_path / "a.key_secret", BOTH)
    os.chown(path, 12345, -1)
    with pytest.raises(mm.UsageError, match="belongs to user 12345"):
        read_keys(path)


def test_a_public_file_may_be_read_by_everybody(tmp_path: Path) -> None:
    """And its keys stand where others put them, in either quotes or none."""
    for text in (
        f'# x\n\nmetadata\n    public-key-of = "me"\ncurve\n    public-key = "{PUBLIC}"\n',
        f"metadata\ncurve\n    public-key = '{PUBLIC}'\n",
        f"curve\n\tpublic-key={PUBLIC}\r\n",
        f"public-key = {PUBLIC}",
    ):
        path = written(tmp_path / "a.key", text, 0o666)
        assert read_keys(path).public == PUBLIC


WRONG = {
    "no public-key": "",
    "no public-key is in it": f"metadata\n    public-key = {PUBLIC}\n",
    "line 2: public-key has 39 characters; a key in Z85 has 40": (
        f"curve\npublic-key = {PUBLIC[1:]}"
    ),
    "line 1: secret-key has at 3 a character that Z85 has not": (
        f"secret-key = {SECRET[:2]}~{SECRET[3:]}"
    ),
    "line 1: secret-key has at 36 to 40 five": f"secret-key = {SECRET[:35]}#####",
    "line 3: secret-key is there twice": (
        f"public-key = {PUBLIC}\nsecret-key = {SECRET}\nsecret-key = {SECRET}"
    ),
    "are no pair": f"public-key = {SECRET}\nsecret-key = {SECRET}",
    f"at most {FILE_MAX}": BOTH + "#" * FILE_MAX,
}


def shown(error: BaseException) -> str:
    """Return all that an error tells, local variables included, as some loggers do."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in told.format() if "meshmsg/_security" in frame]
    assert frames
    return "".join(frames) + str(error)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_file_is_told_where_and_never_quoted(tmp_path: Path, what: str) -> None:
    """Neither in the text nor in a local variable of the traceback."""
    path = written(tmp_path / "a.key_secret", WRONG[what])
    with pytest.raises(mm.UsageError) as caught:
        read_keys(path)
    assert what in str(caught.value)
    assert str(path) in str(caught.value)
    assert SECRET[:20] not in shown(caught.value)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    """A pipe that nobody writes to, too."""
    path = tmp_path / "a"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(mm.UsageError, match="is no file"):
        read_keys(path)


def test_a_file_that_is_not_there_is_told_as_always(tmp_path: Path) -> None:
    """The system's own error, with the path."""
    with pytest.raises(FileNotFoundError, match=r"nowhere\.key"):
        read_keys(tmp_path / "nowhere.key")


def texts(pair: mm.KeyPair, tmp_path: Path) -> list[str]:
    """Return what logs and traces would show of a pair and of a file of keys."""
    found = read_keys(
        written(tmp_path / "a", f"public-key={pair.public}\nsecret-key={pair.secret}")
    )
    record = logging.LogRecord("x", 10, "x", 1, "%s %r", (pair, [pair]), None)
    return [f"{pair} {pair!r} {[pair]} {pair.secret!r} {found}", record.getMessage()]


def test_a_secret_is_in_no_text_that_is_not_asked_for_it(tmp_path: Path) -> None:
    """Of the pair, of a file's content, of a log record; asked for, it is a `str`."""
    pair = mm.keygen()
    secret = str(pair.secret)
    assert len(secret) == 40
    for text in texts(pair, tmp_path):
        assert secret not in text
        assert pair.public in text


@pytest.mark.parametrize("what", [lambda p: p, lambda p: p.secret, lambda p: [{"a": p}]])
@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_keys_are_not_pickled(
    what: Callable[[mm.KeyPair], object], how: Callable[[object], object]
) -> None:
    """Jobs are: a key goes as the path of its file."""
    thing = what(mm.keygen())
    if how is copy.copy and isinstance(thing, list):
        return  # which copies no key
    with pytest.raises(mm.UsageError, match="path of their file"):
        how(thing)


def program(text: str) -> str:
    """Run a program and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_meshmsg_looks_for_no_library() -> None:
    """Neither PyNaCl nor ssl, and no shared object of theirs."""
    assert (
        program(
            "import sys, meshmsg\n"
            "loaded = {name.partition('.')[0] for name in sys.modules}\n"
            "assert not loaded & {'nacl', 'ssl', '_ssl', 'hashlib', '_hashlib'}, loaded\n"
            "maps = open('/proc/self/maps').read()\n"
            "assert 'libssl' not in maps and 'sodium' not in maps\n"
            "print('none')"
        )
        == "none\n"
    )


def test_pynacls_copy_is_taken_first_and_the_systems_without_it() -> None:
    """Where the one or the other is; the keys are the same."""
    pytest.importorskip("nacl")
    tell = "print(any('libsodium.so' in line for line in open('/proc/self/maps')), mm.has('curve'))"
    assert program(f"import meshmsg as mm\nassert mm.has('curve')\n{tell}") == "False True\n"
    without = (
        "import sys; sys.modules['nacl'] = None\nimport meshmsg as mm\nhas = mm.has('curve')\n"
    )
    assert program(f"{without}{tell}") in ("True True\n", "False False\n")


def test_without_libsodium_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the error of who needs it."""
    monkeypatch.setattr("meshmsg._security.keys.missing", lambda protection: "nothing is there")
    with pytest.raises(mm.ResourceError, match="nothing is there"):
        mm.keygen()


def test_a_protection_that_nobody_knows_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(mm.UsageError, match='"curve" or "tls"'):
        mm.has("ssl")  # type: ignore[arg-type]


def test_tls_is_there_if_python_has_a_new_openssl() -> None:
    """The same library, then."""
    ssl = pytest.importorskip("ssl")
    if ssl.OPENSSL_VERSION_INFO >= (3, 0) and "libssl.so" in Path("/proc/self/maps").read_text():
        assert mm.has("tls")


def test_keys_for_a_folder_that_is_not_there_are_told_to_make_it(tmp_path: Path) -> None:
    """By its name, not by that of a file nobody asked for."""
    folder = tmp_path / "missing"
    with pytest.raises(FileNotFoundError) as failed:
        mm.keygen(folder / "server")
    assert f"the folder {folder} does not exist; make it first" in str(failed.value)
    assert failed.value.filename == str(folder / "server.key_secret")
