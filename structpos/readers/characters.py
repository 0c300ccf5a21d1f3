"""Characters as a person would type them: ligatures spelt out, soft hyphens shown, Arabic letters in their order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

REPLACEMENT = "\ufffd"

# Latin ligatures, Armenian ligatures, Hebrew and Arabic presentation forms: one sign that stands for letters.
_SIGNS = "\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufdff\ufe70-\ufefc"
_FORMS = re.compile(f"[{_SIGNS}]+")
_CHANGED = re.compile(f"[\x00\u00ad{_SIGNS}]")
_ARABIC = re.compile("[\u0600-\u06ff\ufb50-\ufdff\ufe70-\ufefc]")
_UNREADABLE = re.compile("[\x7f-\x9f\ufffd\ue000-\uf8ff]")
_ALEF = frozenset("\u0622\u0623\u0625\u0627\u0671")
_LAM = "\u0644"


def normalise(text: str) -> str:
    """Spell out ligatures and presentation forms; a soft hyphen that was drawn is a hyphen, NUL an unknown character.

    Example:
        >>> normalise("di\ufb03cult"), normalise("agree\u00adment")
        ('difficult', 'agree-ment')
    """
    text = text.replace("\u00ad", "-").replace("\x00", REPLACEMENT)
    return _FORMS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)


def ordinary(text: str) -> bool:
    """Whether a text is all Western letters and signs, so that nothing in it needs a closer look; quick.

    Example:
        >>> ordinary("“Agreement” – 100 €"), ordinary("agree\u00adment"), ordinary("\ufb01ve")
        (True, False, False)
    """
    if not text.isprintable():
        return False
    if text.isascii():
        return True
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def normalise_all(texts: list[str], joined: str) -> list[str]:
    """Normalise the words of a page, given singly and joined; the list itself where nothing in it changes."""
    return [normalise(text) for text in texts] if _CHANGED.search(joined) else texts


def has_arabic(text: str) -> bool:
    """Whether a text holds Arabic letters."""
    return _ARABIC.search(text) is not None


def unreadable(text: str) -> int:
    """How many characters say nothing: unknown, control or private use.

    Example:
        >>> unreadable("a\ufffd\ue001b")
        2
    """
    return len(_UNREADABLE.findall(text))


def mend_lam_alef(words: Sequence[tuple[Any, ...]], lines: dict[tuple[int, int], list[tuple[str, float]]]) -> list[str]:
    """Put the two letters of a lam-alef ligature back in their order.

    A font may map the one sign to alef and lam, stored as drawn: the alef comes first, without a width of its own.

    Args:
        words: As extracted: text at 4, block at 5, line at 6.
        lines: For each (block, line) its characters and their widths along the line, blanks left out.

    Returns:
        The texts of all words; a line whose words and characters disagree is left as it is.
    """
    texts = [word[4] for word in words]
    members: dict[tuple[int, int], list[int]] = {}
    for index, word in enumerate(words):
        members.setdefault((word[5], word[6]), []).append(index)
    for key, characters in lines.items():
        letters = [letter for letter, _ in characters]
        swaps = [
            at
            for at in range(len(letters) - 1)
            if letters[at] in _ALEF and letters[at + 1] == _LAM and characters[at][1] <= 0.01 < characters[at + 1][1]
        ]
        mine = members.get(key, [])
        if not swaps or "".join(letters) != "".join(texts[index] for index in mine):
            continue
        for at in swaps:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        start = 0
        for index in mine:
            end = start + len(texts[index])
            texts[index] = "".join(letters[start:end])
            start = end
    return texts
