"""What was typed, as checked values. The only file that touches jsonargparse."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structpos.cli import UsageError
from structpos.errors import PositionError, require, unknown

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class Option:
    """An argument of a command.

    Args:
        name: ``--name``, or a name alone for what is given by place.
        help: What it is for.
        kind: What the text is turned into; its ValueError is the message.
        default: Its value where it is not given.
        many: Takes one or more values.
        flag: Takes no value.
        needed: Must be given.
        choices: The only values it takes.
        shown: The name of its value in the help.
    """

    name: str
    help: str
    kind: Callable[[str], Any] = str
    default: Any = None
    many: bool = False
    flag: bool = False
    needed: bool = False
    choices: tuple[str, ...] = ()
    shown: str = ""

    @property
    def key(self) -> str:
        """Its name among the parsed values."""
        return self.name.lstrip("-").replace("-", "_")


def parse(
    command: str,
    options: Sequence[Option],
    given: Sequence[str],
    *,
    about: str,
    example: str,
    encoder: bool = False,
) -> dict[str, Any]:
    """The values of a command's arguments, by name.

    Args:
        command: Its name.
        options: Its arguments.
        given: What was typed after its name.
        about: What it does; the first lines of its help.
        example: The last line of its help, which can be pasted and run.
        encoder: Whether it takes ``--encoder``; torch is loaded only when one is given.

    Raises:
        UsageError: something typed has no meaning, with what was expected.
        SystemExit: help was asked for, and printed.
    """
    parser = _parser(command, options)
    if any(word in ("-h", "--help") for word in given):
        if encoder:
            parser.add_argument(
                "--encoder",
                metavar="NAME|CLASS",
                help="layout (default), sinusoidal, rotary, ..., or a class; --encoder.KEY VALUE sets its arguments",
            )
        print(f"{about}\n\n{ANSI.sub('', parser.format_help()).strip()}\n\n{example}")
        raise SystemExit(0)
    own, theirs = _split(options, given)
    values: dict[str, Any] = _checked(parser, own, options)
    if theirs and not encoder:
        raise UsageError(f"{theirs[0]} is not an option of this command.")
    if encoder:
        values["encoder"] = _encoder(theirs) if theirs else None
    return values


def _parser(command: str, options: Sequence[Option]) -> Any:
    placed = "".join(f" {option.shown}{' ...' * option.many}" for option in options if not option.name.startswith("-"))
    parser = require("jsonargparse", "cli").ArgumentParser(
        exit_on_error=False,
        formatter_class=argparse.HelpFormatter,  # its own one adds the type and default of what is a text to it
        usage=f"structpos {command}{placed} [--OPTION VALUE ...]",
    )
    for option in options:
        words: dict[str, Any] = {"help": option.help.replace("%", "%%")}
        if option.flag:
            words["action"] = "store_true"
        else:
            words |= {"type": str, "metavar": option.shown or "|".join(option.choices) or option.key.upper()}
        if option.many:
            words["nargs"] = "+"
        if option.name.startswith("-"):
            words["required"] = option.needed
        parser.add_argument(option.name, **words)
    return parser


def _split(options: Sequence[Option], given: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is given by place first, then options, so that both may be mixed; and apart, everything on the encoder."""
    flags = {option.name for option in options if option.flag}
    names = {option.name for option in options if option.name.startswith("--")}
    placed: list[str] = []
    named: list[str] = []
    encoder: list[str] = []
    words = iter(given)
    for word in words:
        if word == "--":  # whatever follows is no option, even if it looks like one
            placed += words
        elif not word.startswith("-"):
            placed.append(word)
        else:
            name = word.split("=", 1)[0]
            mine = encoder if name == "--encoder" or name.startswith("--encoder.") else named
            if mine is named and name not in names:
                raise UsageError(unknown("option", name, [*names, "--encoder"]))
            if name in flags and "=" in word:
                raise UsageError(f"{name} takes no value.")
            mine.append(word)
            if "=" not in word and name not in flags:
                value = next(words, None)
                if value is None:
                    raise UsageError(f"{word} needs a value.")
                mine.append(value)
    return [*named, "--", *placed] if placed else named, encoder


def _checked(parser: Any, given: list[str], options: Sequence[Option]) -> dict[str, Any]:
    try:
        values: dict[str, Any] = parser.parse_args(given).as_dict()
    except Exception as error:  # jsonargparse raises argparse.ArgumentError, and in places others
        raise UsageError(plainly(str(error))) from None
    for option in options:
        value = values[option.key]
        if value is None or option.flag:
            values[option.key] = option.default if value is None else value
            continue
        if "" in value if option.many else option.kind is Path and not value:  # an unset variable of a shell
            raise UsageError(f"{option.name}: a path is needed, got an empty text.")
        try:
            values[option.key] = [option.kind(one) for one in value] if option.many else option.kind(value)
        except ValueError as error:
            said = str(error) if option.kind not in (int, float) else f"a number is needed, got '{value}'."
            raise UsageError(f"{option.name}: {said}") from None
        if option.choices and value not in option.choices:
            raise UsageError(unknown(option.name.lstrip("-"), value, option.choices))
    return values


def _encoder(given: list[str]) -> dict[str, Any]:
    """The settings of an encoder from ``--encoder NAME --encoder.KEY VALUE ...``, types checked."""
    from structpos.encoders import find
    from structpos.encoders.base import PositionEncoder, class_path

    pairs = list(_pairs(given))
    if not any(key == "--encoder" for key, _ in pairs):
        pairs.insert(0, ("--encoder", "layout"))
    words = []
    for key, value in pairs:
        if value.startswith(("{", "[")):
            value = _spelt_out(value)
        elif _names_an_encoder(key) and "." not in value:
            value = class_path(find(value))
        words.append(f"{key}={value}")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # a class of one's own, beside the files one works on
    if ("--encoder", "layout") in pairs and not any(key == "--encoder.width" for key, _ in pairs):
        words.append("--encoder.width=128")
    parser = require("jsonargparse", "cli").ArgumentParser(exit_on_error=False)
    parser.add_argument("--encoder", type=PositionEncoder)
    try:
        settings: dict[str, Any] = parser.parse_args(words).as_dict()["encoder"]
    except Exception as error:
        raise UsageError(f"--encoder: {_with_arguments(str(error))}") from None
    return settings


def _spelt_out(value: str) -> str:
    """JSON with the short names of encoders in it spelt out; anything else as it is."""
    from structpos.encoders import find
    from structpos.encoders.base import class_path

    def spell(item: Any) -> Any:
        if isinstance(item, list):
            return [spell(part) for part in item]
        if not isinstance(item, dict):
            return item
        spelt = {key: spell(part) for key, part in item.items()}
        name = item.get("class_path")
        return {**spelt, "class_path": class_path(find(name))} if isinstance(name, str) and "." not in name else spelt

    try:
        return json.dumps(spell(json.loads(value)))
    except json.JSONDecodeError:
        return value


def _with_arguments(message: str) -> str:
    """The message, and which arguments there are where one is unknown."""
    from structpos.encoders import build

    kinds = re.findall(r"class_path '([^']+)'", message)
    argument = re.search(r"Option '([^']+)' is not accepted", message)
    if kinds and argument:
        try:
            wrong = {"class_path": kinds[-1], "init_args": {argument[1].split(".")[0]: None}}
            build(wrong, trust=[kinds[-1].rpartition(".")[0]])
        except PositionError as error:
            return str(error)
    return plainly(message)


def _pairs(given: list[str]) -> Any:
    words = iter(given)
    for word in words:
        key, equals, value = word.partition("=")
        yield key.replace("-", "_").replace("__", "--", 1), value if equals else next(words)


def _names_an_encoder(key: str) -> bool:
    parts = key.lstrip("-").split(".")
    return parts[-1] in ("encoder", "part") or (len(parts) > 1 and parts[-2] == "parts")


def plainly(message: str) -> str:
    r"""A message of jsonargparse in one sentence.

    Example:
        >>> plainly('Parser key "workers":\n  Expected a <class \'int\'>. Got value: x')
        "workers: expected int, got 'x'."
    """
    keys = [key for key in re.findall(r'Parser key "([^"]+)"', message) if key != "encoder"]
    where = f"{keys[-1]}: " if keys else ""
    if found := re.search(r"Expected a (.+)\. Got value: (.*)", message):
        kind = re.sub(r"<class '([^']+)'>", r"\1", found[1]).replace("typing.", "").replace("Literal", "one of ")
        return f"{where}expected {kind}, got '{found[2]}'."
    if found := re.search(r"Option '([^']+)' is not accepted", message):
        return f"it takes no argument '{found[1]}'."
    if found := re.search(r"the following arguments are required: (.+)", message):
        return f"{where}{found[1].strip()} must be given."
    lines = [line.strip(" -") for line in message.splitlines() if line.strip()]
    return f"{lines[0] if len(lines) == 1 else ' '.join(lines[1:3])}".rstrip(".") + "."
