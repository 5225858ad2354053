"""Wikitext to paragraphs: each rule on a line written for it, then properties on anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.knowledge.formats.wiki_site import clean_title, link_target, site_for
from whichone.knowledge.formats.wikitext import WikiText, parse_wikitext, without_quotes

SITE = site_for("enwiki", "en")


def parse(text: str) -> WikiText:
    return parse_wikitext("T", text, SITE)


def body(text: str) -> list[str]:
    return [p.removesuffix("\n") for p in parse(text).paragraphs[1:]]


def test_paragraph_zero_is_the_title() -> None:
    assert parse("").paragraphs == ("T\n",)


def test_headings_carry_their_parents_and_appear_only_before_text() -> None:
    text = "Lead.\n== A ==\n=== B ===\nunder b\n== Empty ==\n== C ==\nunder c"
    assert body(text) == ["Lead.", "Section::::A.:B.", "under b", "Section::::C.", "under c"]


def test_list_items_are_marked_and_numbered() -> None:
    text = "* one\n** two\n# first\n# second\n\n# again\n: indented\n; term : meaning"
    assert body(text) == [
        "BULLET::::- one",
        "BULLET::::- two",
        "BULLET::::1. first",
        "BULLET::::2. second",
        "BULLET::::1. again",
        "BULLET::::- indented",
        "BULLET::::- term meaning",
    ]


def test_anchors_know_their_target_and_place() -> None:
    page = parse("* See [[abe lincoln#Early life|the ''president'']]s, [[Chicago]]an or [[#here|here]].")
    assert page.paragraphs[1] == "BULLET::::- See the presidents, Chicagoan or here.\n"
    assert [(a.text, a.target) for a in page.anchors] == [
        ("the presidents", "Abe lincoln"),
        ("Chicagoan", "Chicago"),
    ]
    for anchor in page.anchors:
        assert page.paragraphs[anchor.paragraph][anchor.start : anchor.end] == anchor.text


def test_what_is_not_text_goes_and_is_counted() -> None:
    page = parse(
        "{{Infobox|a={{b}}}}\n{|\n| cell\n{|\n| inner\n|}\n|}\nText<ref>r [[X]]</ref> here.<ref name=a />"
        "\n[[File:A.jpg|thumb|caption [[link]]]][[Category:Men|Key]]<!-- hidden -->\n[[de:Seite]]"
    )
    assert page.paragraphs[1:] == ("Text here.\n",)
    assert page.anchors == ()
    assert page.categories == ("Men",)
    assert page.lost == {
        "files": 1, "language links": 1, "references": 2, "tables": 2, "templates": 2,
    }  # fmt: skip
    assert page.templates == ("b", "Infobox")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is {{convert|70|km|mi|abbr=on}} away", "It is 70 km away"),
        ("from {{convert|66|to|883|km2|sqmi}}", "from 66 to 883 km2"),
        ("{{circa|1809}} and {{circa}} 1810", "c. 1809 and c. 1810"),
        ("{{lang|de|Der [[Fluss|Strom]]}}!", "Der Strom!"),
        ("{{nowrap|{{convert|5|ft}} high}}", "5 ft high"),
        ("Berlin ({{IPA|x}}; {{lang-de|Berlin}}) is", "Berlin (Berlin) is"),
        ("Berlin ({{IPA|x}}) is", "Berlin is"),
        ("one{{snd}}two", "one – two"),
        ("a {{unknown|b}} c", "a c"),
    ],
)
def test_templates_that_stand_for_words_are_expanded(text: str, shown: str) -> None:
    assert body(text) == [shown]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("broken {{template", "broken {{template"),
        ("broken }} end", "broken }} end"),
        ("broken [[link", "broken [[link"),
        ("<nowiki>[[not]] ''a'' {{link}}</nowiki>", "[[not]] ''a'' {{link}}"),
        ("{{a|{| b }}", None),
        ("&amp;nbsp; &lt;b&gt;", "&nbsp; <b>"),
        ("x<br />y", "x y"),
        ("[http://a.b words] and [http://a.b]", "words and"),
        ("<div>in a block</div>after", "in a block"),
    ],
)
def test_odd_markup_stays_readable(text: str, shown: str | None) -> None:
    assert body(text)[:1] == ([shown] if shown is not None else [])


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("''Animal Farm''", "Animal Farm"),
        ("'''bold''' and ''italics''", "bold and italics"),
        ("L'''amour'' est", "L'amour est"),
        ("''Animal Farm'''s plot", "Animal Farm's plot"),
        ("'''''both''''' x", "both x"),
        ("''''four''''", "'four'"),
        ("don't", "don't"),
    ],
)
def test_quote_marks_go_and_apostrophes_stay(line: str, shown: str) -> None:
    assert without_quotes(line) == shown


@pytest.mark.parametrize(
    ("written", "kind", "title"),
    [
        ("abe_lincoln", "page", "Abe lincoln"),
        ("Caf%C3%A9 &amp; bar", "page", "Café & bar"),
        ("100% Pure", "page", "100% Pure"),
        ("M&notes", "page", "M&notes"),
        (":Category:People", "other", "People"),
        ("Image:x.jpg", "file", "X.jpg"),
        ("wikt:word", "other", "word"),
        ("de:Berlin", "language", "Berlin"),
        ("2001: A Space Odyssey", "page", "2001: A Space Odyssey"),
        ("#Section", "section", ""),
    ],
)
def test_link_targets(written: str, kind: str, title: str) -> None:
    target = link_target(written, SITE)
    assert (target.kind, target.title) == (kind, title)


def test_a_title_keeps_a_first_letter_that_has_no_single_capital() -> None:
    assert clean_title("ßtraße", SITE) == "ßtraße"
    assert clean_title(" iPod _x ", SITE) == "IPod x"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["{{", "[[a|", "{|\n", "<div>", "<ref>", "<!--", "[http://a ", " ", " ;", "{{a}}", "<gallery "]
)
def test_a_page_made_to_be_slow_is_not(piece: str) -> None:
    """Two such pages of 40,000 pieces take seconds, not the hours of a parser that tries again."""
    assert parse(piece * 40_000 + "x").paragraphs[0] == "T\n"


_PIECES = st.sampled_from(
    ["[[", "]]", "{{", "}}", "{|", "|}", "|", "\n", "==", "*", "#", "''", "'''", "<ref>", "</ref>",
     "<!--", "-->", "<nowiki>", "</nowiki>", "A b", " ", "é", "&#x110000;", "File:", "\x7f", "("]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_nothing_an_editor_writes_breaks_it_and_anchors_fit(text: str) -> None:
    page = parse(text)
    for anchor in page.anchors:
        assert page.paragraphs[anchor.paragraph][anchor.start : anchor.end] == anchor.text
        assert anchor.text.strip() == anchor.text != ""
    for paragraph in page.paragraphs:
        assert paragraph.endswith("\n")
        assert paragraph.count("\n") == 1
