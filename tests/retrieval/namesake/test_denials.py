"""Who is not meant, in four languages; and sentences that deny something else."""

from __future__ import annotations

import pytest

import whichone
from whichone.retrieval.namesake.denials import Denials, blanked


def denied(language: str, text: str) -> list[str]:
    """What a text denies; "|" ends its name."""
    denials = Denials.load(language)
    assert denials is not None
    plain = text.replace("|", "")
    listed = denials.find(plain, [text.index("|")] if "|" in text else [])
    assert len(blanked(plain, listed, ())) == len(plain)
    assert Denials.of_text(plain, "en") is denials
    return [" ".join(denial.words) for denial in listed if denial.words]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "How many live in Southport|, not the one in Australia?", "Australia"),
        ("en", "Which time zone is Parma| (I do not mean the United States) in?", "United States"),
        ("en", "Who is Ada Park|, but not the one with the badge 17?", "17"),
        ("en", "the Bridgeport| whose time zone is not America/Chicago has?", "America Chicago"),
        ("en", "the Ada Park| who is no baker?", "baker"),
        ("en", "Ada Park|, the one outside Payroll?", "Payroll"),
        ("en", "Not the one in Leeds: where is Ada Park|?", "Leeds"),
        ("en", "Ada Park|, not the one in Leeds but the one in Turin", "Leeds"),
        ("en", "Ada Park| - not Turin - what is her badge?", "Turin"),
        ("de", "Wo wohnt Ada Park|, nicht die aus Leeds?", "Leeds"),
        ("de", "Hans Meier|, dessen Stadt nicht Bonn ist, sondern Köln", "Bonn"),
        ("de", "Hans Meier|, der kein Bäcker ist", "Bäcker"),
        ("fr", "Où travaille Jean Petit|, pas celui de Lyon ?", "Lyon"),
        ("fr", "Jean Petit| qui n'est pas de Lyon", "Lyon"),
        ("es", "¿Dónde trabaja Juan Gil|, no el de Vigo?", "Vigo"),
        ("en", "Where is the Ada Park| who never worked in Leeds?", "Leeds"),
        ("en", "Where is the Ada Park| that doesn't live in Leeds?", "Leeds"),
        ("en", "Where is Ada Park|? I am not looking for the one in Leeds.", "Leeds"),
        ("en", "Where is Ada Park|? We're not asking about Turin.", "Turin"),
        ("en", "Where is Ada Park|? Ignore the one in Turin.", "Turin"),
        ("en", "Where is every Ada Park| apart from the one in Leeds?", "Leeds"),
        ("en", "Ada Park| is not in Leeds. What is her badge?", "Leeds"),
        ("en", "What is the badge of Ada Park|? She has never worked in Leeds.", "Leeds"),
        ("en", "What is the badge of Ada Park|, never of Payroll?", "Payroll"),
        ("de", "Wo arbeitet Ada Park|? Ich meine nicht die aus Leeds.", "Leeds"),
        ("de", "Wo arbeitet Ada Park|, die nie in Leeds gewohnt hat?", "Leeds"),
        ("de", "Wo arbeitet Ada Park|, außer der aus Leeds?", "Leeds"),
        ("fr", "Où travaille Ada Park| ? Je ne parle pas de celle de Lyon.", "Lyon"),
        ("fr", "Où travaille la Ada Park| qui n'a jamais habité à Lyon ?", "Lyon"),
        ("fr", "Où travaille Ada Park|, à l'exception de celle de Lyon ?", "Lyon"),
        ("es", "¿Dónde trabaja Juan Gil|? No me refiero al de Vigo.", "Vigo"),
        ("es", "¿Dónde trabaja el Juan Gil| que nunca vivió en Vigo?", "Vigo"),
        ("es", "¿Dónde trabaja Juan Gil|, excepto el de Vigo?", "Vigo"),
        ("es", "Juan Gil|, que no es de Vigo, sino de Cádiz", "Vigo"),
    ],
)
def test_denials(language: str, text: str, words: str) -> None:
    assert denied(language, text) == [words]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Why is Ada Park| not in the list?"),
        ("en", "The printer of Ada Park| does not print"),
        ("en", "For Ada Park|, not much is known"),
        ("en", "The printer is not the problem of Ada Park|"),
        ("en", "Ada Park| from Leeds, not working since Monday"),
        ("de", "Warum druckt der Drucker von Ada Park| nicht die Rechnung?"),
        ("de", "Warum ist Ada Park| nicht in Leeds?"),
        ("fr", "Pourquoi Jean Petit| n'est pas là ?"),
        ("es", "¿Por qué Juan Gil| no está en Vigo?"),
    ],
)
def test_other_sentences_with_a_not(language: str, text: str) -> None:
    assert denied(language, text) == []


def test_a_language_without_a_table_denies_nothing() -> None:
    assert Denials.load("it") is None


STAFF = [
    {"id": "1", "title": "Ada Park", "text": "Badge 17.", "city": "Leeds"},
    {"id": "2", "title": "Ada Park", "text": "Badge 18.", "city": "Turin"},
]


@pytest.mark.parametrize("language", ["en", "de"])
def test_denials_are_understood_whatever_the_language_of_the_passages(language: str) -> None:
    namesake = whichone.Namesake.over(STAFF, encoder="none", language=language)
    for text in (
        "What is the badge of Ada Park, not the one in Leeds?",
        "Welche Nummer hat Ada Park? Ich meine nicht die aus Leeds.",
        "Quel est le badge de la Ada Park qui n'est pas de Leeds ?",
        "¿Cuál es el número de Ada Park, que no es de Leeds?",
    ):
        believed = namesake.resolve(text)
        assert believed.best is not None and believed.best.id == "2", text
        assert believed.resolvable, text


def asked(text: str, title: str = "Ada Park") -> tuple[str | None, bool]:
    """Who is meant by a text about one of two in Leeds and Turin, and whether it is sure."""
    records = [{**record, "title": title} for record in STAFF]
    believed = whichone.Namesake.over(records, encoder="none").resolve(text)
    return believed.best and believed.best.id, believed.resolvable


@pytest.mark.parametrize(
    "text",
    [
        "I do not mean the Ada Park from Leeds. Which badge?",
        "What is the badge? I'm not looking for Ada Park of Leeds.",
        "We don't want Ada Park, the one in Leeds",
        "Anyone but the Ada Park from Leeds",
        "Ich meine nicht Ada Park aus Leeds.",
        "Welche Nummer? Ich suche nicht die Ada Park in Leeds.",
        "Je ne cherche pas Ada Park de Leeds",
        "Nous ne parlons pas de la Ada Park de Leeds, quel badge ?",
        "No me refiero a la Ada Park de Leeds",
        "No buscamos a Ada Park de Leeds, ¿qué número tiene?",
        "Please skip Ada Park from Leeds and give me the badge.",
        "What badge has Ada Park? Anyone except the one in Leeds.",
        "By no means Ada Park of Leeds: which badge?",
        "Welche Nummer hat Ada Park? Alle außer der in Leeds.",
        "Bitte ignorieren Sie Ada Park aus Leeds: welche Nummer?",
        "Quel badge a Ada Park ? Toutes sauf celle de Leeds.",
        "¿Qué número tiene Ada Park? Todas menos la de Leeds.",
        "¿Qué número tiene Ada Park? No es la de Leeds.",
    ],
)
def test_a_name_inside_of_a_denial_is_not_what_is_denied(text: str) -> None:
    assert asked(text) == ("2", True)


@pytest.mark.parametrize(
    "text",
    [
        "What is the badge of Ada Park, minus the Leeds one?",
        "What badge has Ada Park, hardly the one in Leeds?",
        "What badge has the Ada Park whose city is anything other than Leeds?",
        "the badge of the Ada Park who declines to work in Leeds",
        "the badge of the Ada Park who left Leeds",
        "the badge of the non-Leeds Ada Park",
        "the badge of Ada Park (Leeds ruled out)",
        "the badge of Ada Park. Leeds does not count.",
        "the badge of Ada Park; a long way off Leeds",
        "the badge of Ada Park the elder",
        "the badge of Ada Park from Quito",
        "die Nummer von Ada Park, der Leeds verlassen hat",
        "die Nummer von Ada Park, Leeds kommt nicht in Frage",
        "le badge de Ada Park qui fuit Leeds",
        "le badge de Ada Park, Leeds mis à part",
        "el número de Ada Park que abandonó Leeds",
        "el número de Ada Park, lejos de Leeds",
        "It is wrong that Ada Park is in Leeds; what is the badge?",
        "What is the badge of Ada Park? The Leeds one is of no interest.",
        "Es stimmt nicht, dass Ada Park in Leeds ist. Welche Nummer?",
        "Es falso que Ada Park esté en Leeds. ¿Su número?",
        "Rather than Ada Park of Leeds I need the other one; which badge?",
        "What badge has Ada Park when Leeds is excluded?",
        "Drop Ada Park of Leeds, whose badge is left?",
        "I refuse to deal with Ada Park from Leeds. Which badge?",
        "It would be a mistake to give me the badge of Ada Park in Leeds.",
        "What badge has Ada Park? Leeds? No.",
        "What badge has Ada Park? My Ada hates Leeds.",
        "Lass Ada Park aus Leeds weg: welche Nummer?",
        "Anstelle der Ada Park aus Leeds will ich die andere: welche Nummer?",
        "Welche Nummer hat Ada Park? Die aus Leeds ist es nicht.",
        "Ada Park in Leeds scheidet aus. Welche Nummer?",
        "Streich Ada Park aus Leeds; welche Nummer bleibt?",
        "Welche Nummer hat die andere Ada Park als die in Leeds?",
        "Laissons de côté la Ada Park de Leeds : quel badge ?",
        "Quel badge a Ada Park ? Leeds, c'est faux.",
        "Ada Park de Leeds ne convient pas. Quel badge ?",
        "Rayez la Ada Park de Leeds : quel badge reste ?",
        "¿Qué número tiene Ada Park? La de Leeds no me interesa.",
        "Dejemos fuera a la Ada Park de Leeds: ¿qué número?",
        "Ada Park de Leeds no me sirve. ¿Qué número?",
        "Tacha a la Ada Park de Leeds: ¿qué número queda?",
        "You sent me Ada Park of Leeds last week, which was an error. Which badge is it?",
        "Ada Park of Leeds has already been handled; whose badge comes next?",
        "I was given Ada Park (Leeds) by mistake, what is the right badge?",
        "The Ada Park in Leeds turned out to be the wrong one. Which badge do I need?",
        "Ada Park in Leeds? That isn't who I am after. Which badge?",
        "Ada Park of Leeds has been struck off the list; badge of the one who stays?",
        "Die Ada Park aus Leeds war eine Verwechslung. Welche Nummer hat sie?",
        "Ada Park aus Leeds? Die suche ich gar nicht. Welche Nummer?",
        "Ada Park aus Leeds wurde mir untergeschoben. Welche Nummer stimmt?",
        "Ada Park de Leeds, c'était la mauvaise. Quel badge ?",
        "Ada Park de Leeds ? Ce n'est pas elle. Quel badge ?",
        "Ada Park de Leeds ya está atendida, ¿qué número sigue?",
        "¿Ada Park de Leeds? Esa no es. ¿Qué número?",
        # words that no list has: beside what decides only words that are known to affirm may stand
        "Ada Park from Leeds bores me to tears. Which badge?",
        "Ada Park of Leeds can wait. Which badge?",
        "Ada Park from Leeds? Been there, done that. Which badge?",
        "What is the badge of Ada Park? Who needs the one from Leeds?",
        "What is the badge of Ada Park? Should you think of Leeds, think again.",
        "What is the badge of Ada Park? The one from Leeds I know.",
        "You keep giving me Ada Park of Leeds. Which badge has she?",
        "Ada Park from Turin cannot open the door. Which badge?",
        "Ada Park aus Leeds kann mir gestohlen bleiben. Welche Nummer?",
        "Ada Park aus Leeds hatten wir letzte Woche. Welche Nummer?",
        "Ada Park de Leeds m'est égal. Quel badge ?",
        "Ada Park de Leeds, ou plutôt son homonyme : quel badge ?",
        "Ada Park de Leeds me da igual. ¿Qué número?",
        "Ada Park de Leeds, mejor dicho, su tocaya: ¿qué número?",
    ],
)
def test_a_word_that_may_deny_leads_to_a_question_back(text: str) -> None:
    assert not asked(text)[1]


@pytest.mark.parametrize(
    "text",
    [
        "What is the badge of Ada Park in Turin?",
        "the badge of the Ada Park whose home town is Turin",
        "the badge of the Ada Park with the home town Turin",
        "Does Ada Park, who lives in Turin, have a badge?",
        "Welche Nummer hat die Ada Park, die in Turin arbeitet?",
        "le badge de Ada Park, qui habite à Turin",
        "la placa de Ada Park que vive en Turin",
        "Only the Ada Park from Turin interests me. Which badge?",
        "What is the badge of Ada Park, not the one in Leeds but the one in Turin?",
        "Find Ada Park of Turin: which badge?",
        "Welche Nummer hat Ada Park? Die aus Turin.",
        "Ada Park from Turin wrote again. Which badge?",
        "What is the badge of Ada Park? You know, the one from Turin.",
        "What is the badge of Ada Park? The good old Turin guy.",
        "Quick question about the Ada Park from Turin: which badge?",
        "My boss wants to know the badge of Ada Park in Turin, thanks!",
        "Could you look up the badge of Ada Park in Turin for me, please?",
        "I need the shoe size of Ada Park from Turin.",
        "Which invoice did Ada Park from Turin forge?",
        "Welche Nummer hat Ada Park? Natürlich die aus Turin.",
        "Petite question sur Ada Park de Turin : quel badge ?",
        "Una pregunta rápida sobre Ada Park de Turin: ¿qué número?",
        "Ada Park aus Turin hat wieder geschrieben. Welche Nummer?",
    ],
)
def test_what_affirms_is_no_denial(text: str) -> None:
    assert asked(text) == ("2", True)


def test_a_negator_that_is_not_understood_leads_to_a_question_back() -> None:
    namesake = whichone.Namesake.over(STAFF, encoder="none")
    believed = namesake.resolve("Given that nobody would say not Leeds, what badge has Ada Park?")
    assert not believed.resolvable and believed.question is not None
