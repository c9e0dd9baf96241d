"""What `import meshmsg` loads: what a program with plain sockets needs, and no more.

Not here: how long it takes, which is the machine's.
"""

from __future__ import annotations

import subprocess
import sys

SELDOM = {
    "asyncio",
    "configparser",
    "ipaddress",
    "json",
    "meshmsg._cli",
    "meshmsg._security.certificates.content",
    "meshmsg._security.certificates.expiry",
    "meshmsg._security.environment.ini",
    "meshmsg._security.files.secret_files",
    "meshmsg._security.tls_files",
    "meshmsg.aio",
    "meshmsg.patterns",
    "meshmsg.testing",
    "meshmsg.tracing",
    "opentelemetry",
    "pathlib",
    "pyarrow",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "urllib.parse",
}
"""Each is loaded by the call that needs it first."""


def loaded(code: str) -> set[str]:
    """Return which of those a program has loaded at its end."""
    code += f"\nimport sys\nprint(*sorted(set(sys.modules) & {SELDOM!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_loads_nothing_that_few_need() -> None:
    """But for what the interpreter has loaded by itself."""
    assert loaded("import meshmsg") - loaded("") == set()


def test_what_few_need_is_loaded_when_it_is() -> None:
    """So the list above is of things that exist, and that this finds."""
    code = "import meshmsg, meshmsg.aio, meshmsg.tracing, meshmsg._cli.program"
    found = loaded(code)
    assert {"asyncio", "meshmsg.aio", "meshmsg.tracing", "opentelemetry", "meshmsg._cli"} <= found
    made = loaded(
        "import meshmsg\n"
        "from meshmsg._security.files.secret_files import write_secret\n"
        "import os, tempfile\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    path = write_secret(os.path.join(folder, 's'))\n"
        "    print(type(path).__module__, end=' ')\n"
        "    if meshmsg.has('tls'): meshmsg.Secret(path)\n"
    )
    assert "meshmsg._security.files.secret_files" in made
    assert "pathlib" in made
