"""What invented entities can be: AmbER's types and properties, and the sentences that state facts."""

from __future__ import annotations

import msgspec

from whichone.world.model import Property


class ValueKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a property's values are called, of what type they are, and how a page states the fact.

    `label` and `alias` are filled with an invented word; an empty label is a person's name;
    `practised_by` names those who use the value (Wikidata's P3095), the paper's "guitarist".
    """

    sentence: str
    label: str = ""
    alias: str = ""
    type: str = "Q5"
    type_label: str = "human"
    practised_by: str = ""
    lowercase: bool = False


class Kind(msgspec.Struct, frozen=True):
    """A type of entity: what it is called in titles and descriptions, and the properties it may have."""

    type: str
    type_label: str
    title: str
    properties: tuple[str, ...]


QUANTITIES = {"P1082": (600, 4_000_000), "P2437": (1, 28)}
"""Properties whose values are numbers, and their range."""

VALUES = {
    "P1303": ValueKind(
        sentence="{name} played the {value}.", label="{word}ophone", alias="{word} horn",
        type="Q34379", type_label="musical instrument", practised_by="{word}ophonist",
        lowercase=True,
    ),
    "P241": ValueKind(
        sentence="{name} served in the {value}.", label="Royal {word} Guard", alias="{word} Guard",
        type="Q781132", type_label="military branch",
    ),
    "P641": ValueKind(
        sentence="{name} was known for playing {value}.", label="{word}ball", type="Q31629",
        type_label="type of sport", practised_by="{word}ball player", lowercase=True,
    ),
    "P157": ValueKind(sentence="{name} was killed by {value}."),
    "P607": ValueKind(
        sentence="{name} fought in the {value}.", label="Battle of {word}", alias="{word} campaign",
        type="Q178561", type_label="battle",
    ),
    "P185": ValueKind(sentence="{value} was a doctoral student of {name}."),
    "P1441": ValueKind(
        sentence="{name} is a character in {value}.", label="The {word} Cycle", type="Q7725634",
        type_label="literary work",
    ),
    "P54": ValueKind(
        sentence="{name} spent several seasons with {value}.", label="{word} Rovers",
        alias="The {word} Rovers", type="Q12973014", type_label="sports team",
    ),
    "P135": ValueKind(
        sentence="{name} is counted among the painters of {value}.", label="{word}ism",
        type="Q968159", type_label="art movement", lowercase=True,
    ),
    "P413": ValueKind(
        sentence="The usual position of {name} was {value}.", label="{word} keeper",
        type="Q1781513", type_label="position", lowercase=True,
    ),
    "P658": ValueKind(
        sentence="{name} contains the song {value}.", label="Song of {word}", type="Q7366",
        type_label="song",
    ),
    "P264": ValueKind(
        sentence="{name} appeared on {value}.", label="{word} Records", alias="{word}",
        type="Q18127", type_label="record label",
    ),
    "P175": ValueKind(sentence="{name} is performed by {value}."),
    "P452": ValueKind(
        sentence="{name} works in {value}.", label="{word} manufacturing", type="Q8148",
        type_label="industry", lowercase=True,
    ),
    "P1082": ValueKind(sentence="{name} has {value} inhabitants."),
    "P58": ValueKind(sentence="The screenplay of {name} is by {value}."),
    "P161": ValueKind(sentence="{value} plays a leading part in {name}."),
    "P50": ValueKind(sentence="{name} was written by {value}."),
    "P2437": ValueKind(sentence="{name} ran for {value} seasons."),
}  # fmt: skip

HUMANS = (
    Kind("Q5", "human", "musician", ("P1303", "P607")),
    Kind("Q5", "human", "officer", ("P241", "P607", "P157")),
    Kind("Q5", "human", "athlete", ("P641", "P54", "P413")),
    Kind("Q5", "human", "chemist", ("P185", "P241")),
    Kind("Q5", "human", "painter", ("P135", "P1303")),
    Kind("Q5", "human", "legendary figure", ("P1441", "P157")),
)
OTHERS = (
    Kind("Q482994", "album", "album", ("P658", "P264", "P175")),
    Kind("Q4830453", "business", "company", ("P452",)),
    Kind("Q515", "city", "city", ("P1082",)),
    Kind("Q11424", "film", "film", ("P58", "P161")),
    Kind("Q7725634", "literary work", "novel", ("P50",)),
    Kind("Q47461344", "written work", "treatise", ("P50",)),
    Kind("Q215380", "musical group", "band", ("P264",)),
    Kind("Q7366", "song", "song", ("P264", "P175")),
    Kind("Q5398426", "television series", "TV series", ("P2437", "P161", "P58")),
)

PROPERTIES = tuple(
    Property(id=key, label=label, datatype=datatype)
    for key, label, datatype in (
        ("P31", "instance of", "wikibase-item"), ("P50", "author", "wikibase-item"),
        ("P54", "member of sports team", "wikibase-item"), ("P58", "screenwriter", "wikibase-item"),
        ("P135", "movement", "wikibase-item"), ("P157", "killed by", "wikibase-item"),
        ("P161", "cast member", "wikibase-item"), ("P175", "performer", "wikibase-item"),
        ("P185", "doctoral student", "wikibase-item"), ("P241", "military branch", "wikibase-item"),
        ("P264", "record label", "wikibase-item"),
        ("P413", "position played on team / speciality", "wikibase-item"),
        ("P452", "industry", "wikibase-item"), ("P569", "date of birth", "time"),
        ("P571", "inception", "time"), ("P607", "conflict", "wikibase-item"),
        ("P641", "sport", "wikibase-item"), ("P658", "tracklist", "wikibase-item"),
        ("P1082", "population", "quantity"), ("P1303", "instrument", "wikibase-item"),
        ("P1441", "present in work", "wikibase-item"), ("P1535", "used by", "wikibase-item"),
        ("P2437", "number of seasons", "quantity"), ("P3095", "practiced by", "wikibase-item"),
    )
)  # fmt: skip
