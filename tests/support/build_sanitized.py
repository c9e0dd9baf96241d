"""Builds the package with a sanitizer into a folder of its own, beside the normal install.

Usage: MESHMSG_SANITIZE=address,undefined python tests/support/build_sanitized.py FOLDER.
The folder then goes first on PYTHONPATH. Not here: running anything with it (tests/sanitized.sh).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(folder: Path) -> None:
    """Copy the package to folder/meshmsg and put a freshly built extension into it."""
    if not os.environ.get("MESHMSG_SANITIZE"):
        raise SystemExit("MESHMSG_SANITIZE is not set: say which sanitizer")
    target = folder.resolve()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "meshmsg",
        target / "meshmsg",
        ignore=shutil.ignore_patterns("_mm*.so", "__pycache__"),
    )
    command = [sys.executable, "setup.py", "-q", "build_ext", "--force"]
    command += ["--build-lib", str(target), "--build-temp", str(target / "objects")]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
