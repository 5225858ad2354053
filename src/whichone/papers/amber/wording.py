"""Clean English for queries: the released templates without their mistakes, and grammar around what fills them.

`--wording published` keeps the released texts, on which published query ids depend.
"""

from __future__ import annotations

import re

CLEAN = {
    "$object is the performer of $name .": "$object is the performer of $name.",
    "$object performs in $name.": "$object performed $name.",
    "What is the record label of $name.?": "What is the record label of $name?",
    "$name belongs to $object tracklist.": "$object is on the tracklist of $name.",
    "$object is on the release of $name .": "$object is on the release $name.",
    "$object is a song in the $name tracklist.": "$object is a song on the tracklist of $name.",
    "What song appears in the album $name?": "What song appears on the album $name?",
    "What are the tracks in $name?": "What are the tracks on $name?",
    "$name wrote $object.": "$object wrote $name.",
    "$name is written by $object.": "$name was written by $object.",
    "$name is in the industry of $object.": "$name works in the $object industry.",
    "$name's industry is $object.": "$name belongs to the $object industry.",
    "$name plays as a $object.": "$name plays in the position of a $object.",
    "Who was screenwriter for $name?": "Who was the screenwriter of $name?",
    "Who was the screenwriter for $name?": "Who wrote the screenplay of $name?",
    "$object screenwrote $name.": "$object wrote the screenplay for $name.",
    "Who is a cast member on $name?": "Who is a cast member of $name?",
    "$object was a cast member in $name.": "$object was a cast member of $name.",
    "What movement did $name participate in?": "What movement did $name take part in?",
    "$name participated in the $object movement.": "$name took part in the $object movement.",
    "$name belongs to the $object branch of the military.": "The military branch of $name is the $object.",
    "$name belongs to the military branch $object.": "$name belongs to the military branch “$object”.",
    "$name is a player on the $object.": "$name is a player on the team $object.",
    "$name plays for the $object team.": "The team of $name is $object.",
    "$name plays for the $object.": "$name plays for the team $object.",
    "$name plays for which team?": "For which team does $name play?",
    "What were the wars that $name participated in?": "Which battle or war did $name take part in?",
    "Which battle did $name fight in?": "In which battle or war did $name fight?",
    "Which war did $name fight?": "Which battle or war did $name fight in?",
    "$name fought in $object.": "$name took part in the $object.",
    "$name plays $object.": "The sport of $name is $object.",
    "$name belongs to which record label?": "To which record label does $name belong?",
}
"""Released templates with a mistake, or that many values do not fit, and what is asked instead."""

_NO_ARTICLE = re.compile(
    r"\bthe (?=(?:World War|Operation|D-Day|Desert Storm|Vietnam\b(?! War))|[\w’']+[’']s )"
)
_STOPS = re.compile(r"[.?!][.?!]+$")
_ONE = re.compile(r"\b(1|one) seasons\b", re.I)
_WERE_ONE = re.compile(r"\bThere were (1|one) season\b", re.I)
_A = re.compile(r"\b([Aa])n? (?=[“\"']?([\w]+))")
_VOWEL = re.compile(r"(?i:[aeiou])")
_SOUNDS_CONSONANT = re.compile(r"(?i)(?:uni|use|usu|eu|ewe|one\b|once\b|ut[aeiou])")
_SOUNDS_VOWEL = re.compile(r"(?i:honou?r|hour|heir|honest)|8|11\b|18\b|[FHLMNRSX](?=[A-Z.]|\b)")
_NOUN_AFTER = re.compile(r"\$object (movement|position|industry)")
_BY_ORGANISATION = re.compile(
    r"\bby (?=[A-Z][\w’' -]*\b(?:Army|Navy|Force|Forces|Brigade|Brigades|Front|Party|Police|Guard|Union)\.$)"
)
ARTICLES_OF_TEMPLATES = ("a $object", "an $object")


def clean_template(template: str) -> str:
    """The template in clean English."""
    return CLEAN.get(template, template)


def cleaned(text: str, template: str) -> str:
    """A filled template: articles, numbers and stops agree with what was put in."""
    if any(article in template for article in ARTICLES_OF_TEMPLATES):
        text = _A.sub(_article, text)
    if "the $object" in template or "the $name" in template:
        text = _NO_ARTICLE.sub("", text)
        text = re.sub(r"\bthe (?=[Tt]he )", "", text)
    if match := _NOUN_AFTER.search(template):
        text = re.sub(rf"\b({match[1]}) {match[1]}\b", r"\1", text, flags=re.I)
    if "the team $object" in template:
        text = re.sub(r"\bthe team (?=.*\bteam\.$)", "the ", text, flags=re.I)
    if "by $object" in template:
        text = _BY_ORGANISATION.sub("by the ", text)
    text = _WERE_ONE.sub(r"There was \1 season", _ONE.sub(r"\1 season", text))
    return _STOPS.sub(lambda stops: stops[0][-1], text)


def _article(match: re.Match[str]) -> str:
    word = match[2]
    vowel = bool(_VOWEL.match(word)) and not _SOUNDS_CONSONANT.match(word)
    vowel = vowel or bool(_SOUNDS_VOWEL.match(word))
    return f"{match[1]}{'n' if vowel else ''} "
