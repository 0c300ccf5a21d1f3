"""What ``check_encoder`` found, and how it says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["passed", "failed", "skipped"]


class EncoderFault(AssertionError):
    """An encoder breaks its contract; ``report`` holds every property that was looked at."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class Failed(Exception):
    """One property does not hold; the message has the numbers and the smallest input."""


class Skipped(Exception):
    """One property cannot be looked at here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One property: whether it holds, and with failed and skipped ones why.

    Args:
        name: Name of the property, as ``only`` and ``skip`` take it.
        state: ``passed``, ``failed`` or ``skipped``.
        why: Numbers and smallest input where it failed, the reason where it was skipped, else empty.
        seconds: Processor time it took [s].
    """

    name: str
    state: State
    why: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}: {self.state}" + (f": {self.why}" if self.why else "")


@dataclass(frozen=True, kw_only=True)
class Report:
    """All properties of one encoder.

    Args:
        encoder: The encoder, as it prints itself.
        outcomes: One for each property, in the order in which they were looked at.

    Example:
        >>> print(Report(encoder="NoPosition()", outcomes=(Outcome(name="rows", state="passed"),)))
        NoPosition(): 1 passed, 0 skipped, 0 failed
    """

    encoder: str
    outcomes: tuple[Outcome, ...]

    def names(self, state: State) -> tuple[str, ...]:
        """The properties in one state."""
        return tuple(outcome.name for outcome in self.outcomes if outcome.state == state)

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the properties that hold."""
        return self.names("passed")

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the properties that do not hold."""
        return self.names("failed")

    @property
    def skipped(self) -> dict[str, str]:
        """What could not be looked at, and why."""
        return {outcome.name: outcome.why for outcome in self.outcomes if outcome.state == "skipped"}

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.names(state))} {state}" for state in ("passed", "skipped", "failed"))
        lines = [f"  {outcome}" for outcome in self.outcomes if outcome.state != "passed"]
        return "\n".join([f"{self.encoder}: {counts}", *lines])
