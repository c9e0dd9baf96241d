"""What `meshmsg doctor` looks at, one after the other, and which step a reason belongs to.

Not here: who looks (doctor.py). Law: a reason of an event ends the step that it is about.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from meshmsg._cli.codes import Code

STEPS = {
    "name": Code.NAME,
    "connection": Code.CONNECTION,
    "wire": Code.WIRE,
    "mechanism": Code.MECHANISM,
    "role": Code.ROLE,
    "allowed": Code.ALLOWED,
    "round trip": Code.ROUND_TRIP,
}
"""In order, each with the exit code of what fails there."""
_OF_WIRE = "NOT_ZMTP OLD_ZMTP NOT_SP HANDSHAKE_TIMEOUT TLS_EXPECTED FRAME_FLAGS COMMAND"
_OF_MECHANISM = "MECHANISM HANDSHAKE HANDSHAKE_EOF CRYPTO SEQUENCE CERTIFICATE TLS_ALERT PLAINTEXT"
_OF_ALLOWED = (
    "ERROR_COMMAND NOT_ALLOWED ALLOW_TIMEOUT REVOKED IDENTITY ROLE_REFUSED CONNECTIONS FEATURE"
)
STEP_OF = {
    **dict.fromkeys(_OF_WIRE.split(), "wire"),
    **dict.fromkeys(_OF_MECHANISM.split(), "mechanism"),
    "SOCKET_TYPE": "role",
    **dict.fromkeys(_OF_ALLOWED.split(), "allowed"),
}
"""By the name of a reason; what is not here is about the connection."""


@dataclass(frozen=True)
class Step:
    """One thing that was looked at.

    Attributes:
        name: Which of STEPS, or "dates".
        ok: Whether it is well; None: it cannot be looked at.
        words: What was found.
        warns: It is well, and will not stay so.
    """

    name: str
    ok: bool | None
    words: str
    warns: bool = False


@dataclass
class Report:
    """What was found, up to the first thing that is not well.

    Attributes:
        url: The endpoint.
        steps: In order.
        reason: Of the event that says why not, "" if there is none.
        advice: What to do, "" if that is not known.
    """

    url: str
    steps: list[Step] = field(default_factory=list)
    reason: str = ""
    advice: str = ""

    def well(self, name: str, words: str) -> None:
        """Note that a step is well."""
        self.steps.append(Step(name, True, words))

    def dates(self, words: str, *, good: bool) -> None:
        """Note for how long a certificate is good, of ours or the peer's."""
        self.steps.append(Step("dates", True, words, warns=not good))

    def unknown(self, name: str, words: str) -> None:
        """Note that a step cannot be looked at."""
        self.steps.append(Step(name, None, words))

    def fail(self, name: str, words: str, *, reason: str = "", advice: str = "") -> None:
        """Note what is not well; nothing is looked at any more."""
        self.steps.append(Step(name, False, words))
        self.reason, self.advice = reason, advice

    @property
    def code(self) -> Code:
        """The exit code."""
        failed = [step for step in self.steps if step.ok is False]
        return STEPS[failed[0].name] if failed else Code.OK

    def as_dict(self) -> dict[str, object]:
        """As what JSON has."""
        return {
            "url": self.url,
            "ok": self.code is Code.OK,
            "code": int(self.code),
            "reason": self.reason,
            "advice": self.advice,
            "steps": [asdict(one) for one in self.steps],
        }

    def lines(self) -> list[str]:
        """As it is printed."""
        marks = {True: "ok", False: "FAILED", None: "-"}
        lines = [
            f"{'WARN' if one.warns else marks[one.ok]:6}  {one.name:10}  {one.words}"
            for one in self.steps
        ]
        reason = f"{self.reason}: " if self.reason else ""
        if self.code is Code.OK:
            warns = any(one.warns for one in self.steps)
            return [*lines, "All is well now; see WARN." if warns else "All is well."]
        lines[-1] = f"{marks[False]:6}  {self.steps[-1].name:10}  {reason}{self.steps[-1].words}"
        return [*lines, f"What to do: {self.advice}"] if self.advice else lines
