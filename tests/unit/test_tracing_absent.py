"""Programs without OpenTelemetry, and with it but without a provider.

Not here: what spans say (test_tracing_spans.py).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio, tracing
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
FAR = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_importing_meshmsg_does_not_import_opentelemetry() -> None:
    """Nor does asyncio's side, or a pattern."""
    done = run(
        "import sys, meshmsg, meshmsg.aio, meshmsg.patterns.aio, meshmsg.testing; "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert done.returncode == 0, done.stderr


def test_without_the_package_one_line_says_what_to_install(tmp_path: Path) -> None:
    """An ImportError, of the program that asks for it only."""
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ImportError('hidden')\n")
    done = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import meshmsg\n"
        "from meshmsg import tracing"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: meshmsg.tracing needs the package opentelemetry-api, which cannot be "
        "imported (hidden): pip install 'meshmsg[otel]'"
    )


def test_without_a_provider_nothing_goes_with_a_message() -> None:
    """It is sent as without; no span is recorded."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull:
        tracing.traced(push.send, "x")(b"x", timeout=WAIT_S)
        message = pull.recv(timeout=WAIT_S)
        assert (message.timestamp, message.headers) == (None, {})
        with tracing.process(message, destination="x") as span:
            assert not span.is_recording()
            assert tracing.headers() == {}


def test_without_a_provider_a_trace_still_goes_on() -> None:
    """From what comes to what is sent while that is worked on, as it is."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x", headers={"traceparent": FAR}, timeout=WAIT_S)
        with tracing.process(pull.recv(timeout=WAIT_S)):
            with tracing.sending("x") as headers:
                assert headers == {"traceparent": FAR}
            tracing.traced(push.send)(b"y", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).headers == {"traceparent": FAR}


def test_a_provider_that_is_set_later_is_used() -> None:
    """By calls that were traced before."""
    done = run(
        "import meshmsg as mm\n"
        "from meshmsg import tracing\n"
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        f"with mm.Push(bind={UP!r}) as push, mm.Pull(connect=push.endpoint) as pull:\n"
        "    send = tracing.traced(push.send)\n"
        f"    send(b'x', timeout={WAIT_S})\n"
        "    trace.set_tracer_provider(TracerProvider())\n"
        "    send(b'x')\n"
        "    with tracing.process(pull.recv()) as span:\n"
        "        print(span.is_recording(), span.instrumentation_scope.name)\n"
        "        print(span.instrumentation_scope.version == mm.__version__)\n"
        "    print('traceparent' in pull.recv().headers)\n"
    )
    assert done.stdout == "True meshmsg.tracing\nTrue\nTrue\n", done.stderr


@pytest.mark.parametrize("name", ["headers", "process", "sending", "traced"])
def test_help_says_how_it_is_used(name: str) -> None:
    """Where it comes from, what it takes, and whether threads may."""
    function = getattr(tracing, name)
    assert function.__module__ == "meshmsg.tracing"
    for word in ("Args:", "Returns:", "Thread-safe:"):
        assert word in function.__doc__


def test_sockets_of_both_worlds_are_as_they_were() -> None:
    """Tracing has changed no class."""
    for module in (mm, aio):
        for role in ("Push", "Pull", "Req", "Rep"):
            for call in vars(getattr(module, role)).values():
                assert not getattr(call, "__module__", "").startswith("meshmsg.tracing")
