"""One snapshot of an index asked questions: names, bearers, evidence, order."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from whichone.files.output import cache_folder
from whichone.names import plain_signs
from whichone.records import Question
from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.dense.encoder import Encoder, encoder_name, need_encoder
from whichone.retrieval.namesake.asking import (
    Asking,
    Resolution,
    asked_back,
    is_another,
    misspelt,
    picked,
    resolution,
)
from whichone.retrieval.namesake.denials import Denial, Denials, blanked
from whichone.retrieval.namesake.evidence import Asked, Evidence, Weigher
from whichone.retrieval.namesake.knowledge_evidence import Knowledge, RelationTable, RelationWords
from whichone.retrieval.namesake.lexical import Filter, RowSelection
from whichone.retrieval.namesake.pool import MOST_PAGES, Pool, Pooler, with_shared
from whichone.retrieval.namesake.question_names import (
    SEPARATOR,
    Mention,
    PageNames,
    names_one_thing,
    remainder,
    strangers,
    subject,
)
from whichone.retrieval.namesake.sentences import (
    SentenceCloseness,
    SentenceJudge,
    judge_folder,
    split_sentences,
)
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import (
    EvidenceModel,
    NamesakeParameters,
    about_it,
    absence_features,
    among_all,
    calibrated,
    logistic,
)

_MOST_OF_OPENING = 25  # Words of a page's first sentence that a reader reads before another passage
_SHOWN_BEARERS = 5
_WORD = re.compile(r"[^\W_]+")
_ROUGHLY = re.compile(
    r"(?P<about>\b(?:about|around|roughly|nearly|almost|approximately|some|circa|over|etwa|rund|fast|environ|presque|unos|casi|aproximadamente)\s+)?"
    r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?:\s+(?P<scale>thousand|million|billion))?(?!\w)",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?P<decade>\d{3}0)e?r?s?\b(?<=[sr])|['’](?P<short>\d0)s\b|\b(?P<century>\d{1,2})(?:st|nd|rd|th) century\b"
    r"|(?<!his )(?<!her )(?<!their )\b(?P<word>twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies\b",
    re.IGNORECASE,
)
_TENS = ("twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet")
# Kinds whose titles tell namesakes apart by a comma, not by parentheses.
PLACES = frozenset(["place", "building", "organization"])


@dataclass(frozen=True)
class WeighedQuestion:
    """What was understood of a question, and the passages in their order."""

    rows: list[int]
    scores: list[float]
    mentions: Sequence[Mention]
    weighed: list[tuple[Mention, list[Evidence]]]  # Each name with its bearers, the strongest name first
    candidates: list[Evidence]  # All that was weighed, best first
    asked: Asked

    @property
    def meant(self) -> tuple[Mention, list[Evidence]] | None:
        """The name that the question is about, and its bearers: of the shared names that of the best bearer.

        A claim's own words are mostly on the page of its object, so that kinds and the sentence alone say which name it is about.
        """
        shared = [own for own in self.weighed if len(own[1]) > 1] or self.weighed
        if self.asked.claim:
            return max(shared, key=lambda own: max(about_it(e.parts) for e in own[1]), default=None)
        return max(shared, key=lambda own: own[1][0].score, default=None)

    @property
    def best_other(self) -> float:
        """The best score of a page without a name of the question."""
        return max((e.unread_score for e in self.candidates if "unnamed" in e.values), default=-math.inf)

    def notes(self, index: Index) -> dict[str, Any]:
        """Who has each name, and what speaks for and against each."""
        bearers = dict(self.weighed)
        names = []
        for mention in self.mentions:
            shown = bearers.get(mention, [])[:_SHOWN_BEARERS]
            names.append(
                {
                    "name": mention.name,
                    "bearers": len(bearers[mention]) if mention in bearers else len(mention.pages),
                    "whole": mention.whole,
                    **({"written": mention.written} if mention.written else {}),
                    "candidates": [e.note(index) for e in shown]
                    or [
                        {"page": index.pages.id(p), "title": index.pages.title(p)}
                        for p in mention.pages[:_SHOWN_BEARERS]
                    ],
                }
            )
        if not names:
            return {"names": [], "how": "no name of the corpus is in the question"}
        return {"names": names, "asks": [relation.name for relation in self.asked.relations]}


@dataclass(frozen=True)
class QuestionParts:
    """A question without what it denies, its names, and the words that it denies."""

    question: Question
    mentions: Sequence[Mention]
    denied: Sequence[str]
    told: str  # The question without what it denies for sure, and without the relation of a slot to fill
    denials: Denials  # How its language denies


class Searcher:
    """Answers from one snapshot; what does not depend on it is taken from the one before."""

    def __init__(
        self,
        index: Index,
        parameters: NamesakeParameters,
        encoder: Callable[[], Encoder | None],
        before: Searcher | None = None,
    ) -> None:
        self.index = index
        self.parameters = parameters
        self._pages = index.pages
        self._find_encoder = encoder
        self._asking = Asking(parameters.ask, parameters.never)
        self._relations: RelationTable = index.pages.table
        self._knowledge: Knowledge | None = None
        if before is not None:  # the base of an index stays, and its pages keep their numbers
            self._knowledge = before._knowledge
        elif parameters.knowledge:
            self._knowledge = Knowledge(parameters.knowledge, index.parts[0].corpus)
        knowledge = self._knowledge
        self._names: PageNames = PageNames(
            knowledge.names() if knowledge is not None and before is None else (),
            index,
            lambda page: bool(index.pages.kinds(page) & PLACES),
            index,
            self._relations.language.openers,
            before._names if before is not None else None,
        )
        self._closeness: SentenceCloseness | None = None
        if parameters.encoder != "none":
            self._closeness = SentenceCloseness(
                self._need_encoder,
                index.pages.texts,
                index.sentence_vectors,
                language=index.parts[0].corpus.language,
            )
        self._judge: SentenceJudge | None = None
        if folder := judge_folder(parameters.judge):
            kept = before._judge if before is not None else None
            self._judge = SentenceJudge(folder, self._passage_to_read, kept, words=parameters.judge_words)
        self._pooler = Pooler(index, self._names, self._dense(), parameters)
        judged = self._judge.kind if self._judge is not None else None
        model, sentences = EvidenceModel.load(), self._closeness is not None
        self.fit = model.fit(sentences=sentences, judge=judged)
        self._weigher = Weigher(
            index,
            parameters,
            self.fit,
            first=model.fit(sentences=sentences),
            closeness=self._closeness,
            judge=self._judge,
            knowledge=knowledge,
            popularity=knowledge.popularity() if knowledge is not None else {},
        )

    def _need_encoder(self) -> Encoder:
        if (encoder := self._find_encoder()) is None:
            return need_encoder(self.parameters.encoder, device=self.parameters.device)
        return encoder

    def _dense(self) -> Dense | None:
        if self.parameters.encode != "all" or self.parameters.encoder == "none":
            return None
        base = self.index.parts[0].corpus
        return Dense.over(base, cache_folder() / "indexes" / base.hash[:16], encoder=self._need_encoder())

    def describe(self) -> dict[str, Any]:
        """The models and the knowledge base that decide what is answered."""
        encoder = self._find_encoder() if self._closeness is not None else None
        return {
            "encoder": encoder_name(self.parameters.encoder, encoder),
            "model": encoder.describe() if encoder is not None else None,
            "judge": self._judge.describe() if self._judge is not None else None,
            "knowledge_base": {"id": self._knowledge.id} if self._knowledge is not None else None,
            "evidence": EvidenceModel.load().id,
        }

    # questions

    def resolve(self, question: Question, answer: str = "", wanted: Filter | None = None) -> Resolution:
        """Who the name in a question means; `answer` is what was said when asked back."""
        asked, reading = self._resolved(question, "", wanted)
        if not answer:
            return asked
        if asked.name and (
            answer in asked.close or not asked.bearers
        ):  # "Did you mean Ada Park?" - "Ada Park"
            named = msgspec.structs.replace(question, text=question.text.replace(asked.name, answer))
            return self._resolved(named, "", wanted)[0]
        another = is_another(answer)
        if not asked.choices or not (another or picked(answer, asked.choices)):
            return self._resolved(question, answer, wanted)[0]
        meant = None if another else picked(answer, asked.choices)
        left = [b for b in asked.bearers if (b.id == meant if meant else b.id not in asked.offered)]
        share = sum(b.probability for b in left) or 1.0
        known = msgspec.structs.replace(
            asked,
            bearers=tuple(msgspec.structs.replace(b, probability=round(b.probability / share, 4)) for b in left),
            question=None, choices=(), offered=(), resolvable=bool(left), confidence=1.0, nobody=float(not left),
            outcome="this one" if left else "nobody",
        )  # fmt: skip
        if len(left) < 2:
            return known
        pages = {e.key: e.page for _, own in reading.weighed for e in own}
        return asked_back(known, 0.0, self._asking, reading.asked, self.index, pages)

    def _resolved(
        self, question: Question, answer: str, wanted: Filter | None
    ) -> tuple[Resolution, WeighedQuestion]:
        selection = self.index.select(wanted)
        heard = self._heard(question, selection)
        said, denied = self._answered(answer)
        heard = dataclasses.replace(heard, denied=(*heard.denied, *denied))
        pool = self._pooler.pool(f"{heard.question.text} {said}".strip(), heard.mentions, selection)
        reading = self._read(heard, pool, 1, selection, said)
        return self.resolution(question.text, reading), reading

    def resolution(self, text: str, reading: WeighedQuestion) -> Resolution:
        """Who is meant, of what was weighed."""
        if reading.meant is None:
            name = next(iter(strangers(text, reading.mentions, self._relations.language.openers)), None)
            return misspelt(Resolution(text, name, (), False, 0.0, None, 1.0, "nobody"), self.index)
        mention, evidence = reading.meant
        nobody = self.nobody(text, reading) or 0.0
        known = resolution(
            text, mention.name, reading.asked, evidence, nobody, self.index, self.fit, self._asking
        )
        return misspelt(known, self.index) if known.outcome == "nobody" and mention.written else known

    def nobody(self, text: str, reading: WeighedQuestion) -> float | None:
        """How likely nobody here is the one who is meant; None where the text has no name."""
        unknown = strangers(text, reading.mentions, self._relations.language.openers)
        if reading.meant is None:
            return 1.0 if unknown else None
        evidence = reading.meant[1]
        features = absence_features(
            [e.values for e in evidence], [e.unread_score for e in evidence],
            strangers=len(unknown), others=reading.best_other,
        )  # fmt: skip
        english = reading.asked.denials is Denials.load("en")  # what it was learned on
        return logistic(self.fit.nobody, features) if self.fit.nobody and english else 0.0

    def readings(
        self, questions: Sequence[Question], k: int, wanted: Filter | None = None
    ) -> Iterator[WeighedQuestion]:
        """Each question's passages, with everything that was weighed."""
        selection = self.index.select(wanted)
        every = [self._heard(question, selection) for question in questions]
        self._weigher.learn([m.pages for heard in every for m in heard.mentions])
        close, vectors = self._close([heard.question for heard in every])
        for n, heard in enumerate(every):
            near = close[n] if close is not None else ()
            vector = vectors[n] if vectors is not None else None
            pool = self._pooler.pool(heard.question.text, heard.mentions, selection, vector, near, k)
            yield self._read(heard, pool, k, selection)

    def _close(self, questions: Sequence[Question]) -> tuple[list[list[int]] | None, Any]:
        """With encode=all: the closest passages of each question, and the questions' vectors."""
        if self.parameters.encode != "all" or self._closeness is None or not questions:
            return None, None
        vectors = np.stack([self._closeness.question(plain_text(q.text)) for q in questions])
        return self._pooler.by_closeness(vectors), vectors

    def _heard(self, question: Question, selection: RowSelection) -> QuestionParts:
        """The names of a question, and what it denies apart from the rest of it."""
        mentions = self.mentions(question, selection)
        text = plain_signs(question.text)
        denials = Denials.of_text(text, self._pages.language)
        ends = [m.end for m in mentions]

        def apart(listed: Sequence[Denial]) -> tuple[list[Denial], list[Mention]]:
            ruled_out = [d for d in listed if d.words]
            return ruled_out, [m for m in mentions if not any(d.start <= m.start < d.end for d in ruled_out)]

        listed = denials.find(text, ends)
        ruled_out, meant = apart(listed)
        if ruled_out and mentions:
            # where every name is inside of a denial, the shared one is that of the one who is meant
            own = meant or [max(mentions, key=lambda m: (len(m.pages) > 1, -m.start))]
            kept = [m for m in mentions if any(m.pages == o.pages for o in own)]
            listed = denials.find(text, ends, [(m.start, m.end) for m in kept])
            ruled_out, meant = apart(listed)
            meant = meant or kept
        told = blanked(text, ruled_out, meant)
        shared = any(len(m.pages) > 1 for m in meant)
        left = blanked(told, listed, meant) if shared else told  # what may be denied is no evidence either
        asked = msgspec.structs.replace(question, text=left) if listed else question
        return QuestionParts(
            asked, meant, tuple(" ".join(d.words) for d in ruled_out), subject(told), denials
        )

    def _answered(self, answer: str) -> tuple[str, tuple[str, ...]]:
        """What an answer says, and what it denies: "not Leeds"."""
        text = plain_signs(answer)
        if not (denials := Denials.of_text(text, self._pages.language).answered(text)):
            return answer, ()
        return blanked(text, denials, ()), tuple(" ".join(d.words) for d in denials)

    def mentions(self, question: Question, selection: RowSelection) -> list[Mention]:
        """The names that are written as names; all that were found where none is."""
        listed = self._names.find(question.mention or question.text)
        if question.mention is not None:
            at = question.text.find(question.mention)
            listed = [dataclasses.replace(m, start=m.start + at, end=m.end + at) for m in listed if at >= 0]
        if not selection.everything:
            kept = [(m, self.index.kept_pages(m.pages, selection)) for m in listed]
            listed = [dataclasses.replace(m, pages=tuple(pages)) for m, pages in kept if pages]
        listed = [self._narrowed(m, question.text) for m in listed]
        return [mention for mention in listed if mention.proper] or listed

    def _narrowed(self, mention: Mention, text: str) -> Mention:
        """Of a name that very many pages have, those that ordinary retrieval likes best."""
        if len(mention.pages) <= MOST_PAGES:
            return mention
        pages = self._pooler.likeliest(text, mention.pages, MOST_PAGES)
        return dataclasses.replace(mention, pages=tuple(sorted(pages)))

    def _read(
        self, heard: QuestionParts, pool: Pool, k: int, selection: RowSelection, said: str = ""
    ) -> WeighedQuestion:
        asked = self._asked(heard, pool, said)
        *named, others = self._weigher.weigh(pool, asked, selection)
        weighed = []
        rivals = [e.score for e in others if "unread" not in e.values]
        for group, own in zip(pool.groups, named, strict=True):
            evidence = with_shared(own, named, group.mention)
            # those that have all that was answered go before the best, if that lacks something of it
            whole = [e for e in evidence if said and not e.values.get("missing", 1.0)]
            if whole and (more := max(evidence[0].score - whole[0].score, 0.0)):
                for bearer in whole:
                    bearer.parts["answer"] = more + 1
                evidence.sort(key=lambda e: ("unread" in e.values, -e.score, e.page))
            scores = [e.score for e in evidence]
            among = among_all(len(named), max(scores), rivals) if scores else {}
            for bearer in evidence:
                bearer.values |= among
            shares = calibrated(scores, [e.values for e in evidence], self.fit)
            for bearer, share in zip(evidence, shares, strict=True):
                bearer.probability = share
            if evidence:
                weighed.append((group.mention, evidence))
        every = [e for own in (*named, others) for e in own]
        every.sort(key=lambda e: ("unread" in e.values, -e.score, e.page))
        rows, scores = _passages(every, pool, k)
        shown = sorted((group.mention for group in pool.groups), key=lambda m: m.start)
        return WeighedQuestion(rows, scores, shown, weighed, every, asked)

    def _asked(self, heard: QuestionParts, pool: Pool, said: str) -> Asked:
        text, mentions = heard.question.text, [m for g in pool.groups for m in g.mentions]
        pieces = remainder(text, mentions)
        proper = {w for piece in pieces for w in _WORD.findall(piece) if not w.islower()}
        relations, cue = self._relations.asked_with_cue(pieces)
        if not relations:  # "took part in World War II" asks for a conflict
            relations, cue = self._relations.asked_with_cue([plain_text(text)])
        stem = self._relations.language.stem
        cue |= self._asked_type(text, relations)
        plain = [
            w
            for piece in pieces
            for w in _WORD.findall(piece)
            if w not in proper and stem(w.lower()) not in cue
        ]
        openers = self._relations.language.openers
        vector = None
        if self._closeness is not None and any(len(group.pages) > 1 for group in pool.groups):
            vector = self._closeness.question(plain_text(text))
        return Asked(
            text=plain_text(text),
            told=heard.told,
            mentions=mentions,
            said=" ".join(_WORD.findall(said)),
            plain=" ".join(plain),
            openers=openers,
            relations=relations,
            cue=cue,
            denied=heard.denied,
            denials=heard.denials,
            about=about(f"{text} {said}"),
            periods=periods(f"{text} {said}"),
            claim="?" not in text and subject(text) == text,
            where=self._relations.language.where.match(text) is not None,
            alone=names_one_thing(text, mentions, openers),
            vector=vector,
        )

    def _asked_type(self, text: str, relations: Sequence[RelationWords]) -> frozenset[str]:
        """The stem of what a question asks for, which tells nobody apart: "in what city", not "which singer"."""
        language = self._relations.language
        words = _WORD.findall(text)[:3]
        at = next((n for n, word in enumerate(words) if word.lower() not in language.openers), 0)
        own = self._relations.kinds.get((language.stem(words[at]),), ()) if at else ()
        if not own or not relations or any(kind in relation.kinds for relation in relations for kind in own):
            return frozenset()
        return frozenset([language.stem(words[at])])

    def _passage_to_read(self, page: int, question: str) -> tuple[str, str]:
        """A page's title, and the passage that has most of the question's words, after what the page opens with."""
        rows = self._pages.rows([page])
        best = int(self.index.lexical.of(question, rows).argmax())
        text = self._pages.passage(int(rows[best]))[0].text
        if best:
            opening = (split_sentences(self._pages.opening(page)) or [""])[0]
            text = f"{' '.join(opening.split()[:_MOST_OF_OPENING])} {text}"
        return self._pages.title(page), text


def _passages(candidates: Sequence[Evidence], pool: Pool, k: int) -> tuple[list[int], list[float]]:
    """Each page's best passage in the order of the candidates, then ordinary results up to k."""
    rows: list[int] = []
    scores: list[float] = []
    for evidence in candidates:
        for page in evidence.pages:
            if len(rows) < k:
                rows.append(pool.passages[page])
                scores.append(min(evidence.score, scores[-1] if scores else evidence.score))
    taken = set(rows)
    more = [row for row in pool.ordinary[:k] if row not in taken]
    lowest = scores[-1] if scores else 0.0
    for place, row in enumerate(more[: k - len(rows)], 1):
        rows.append(row)
        scores.append(lowest - place / (k + 1))
    return rows, scores


def about(text: str) -> list[float]:
    """Numbers that a text says roughly: "about 36 thousand", "1.2 million"."""
    scale = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "": 1.0}
    return [
        float(match["number"].replace(",", "")) * scale[(match["scale"] or "").lower()]
        for match in _ROUGHLY.finditer(text)
        if match["about"] or match["scale"]
    ]


def periods(text: str) -> list[tuple[int, int]]:
    """Decades and centuries of a text: "1780s" are the years 1780 to 1789, "1700s" to 1799, "the seventies" 1970 to 1979."""
    spans = []
    for match in _PERIOD.finditer(text):
        if match["century"]:
            year = 100 * int(match["century"])
            spans.append((year - 99, year))
            continue
        word = (match["word"] or "").lower()
        tens = 20 + 10 * _TENS.index(word) if word else int(match["short"] or 0)
        year = int(match["decade"] or 1900 + tens)
        spans.append((year, year + (99 if year % 100 == 0 else 9)))
    return spans


def plain_text(text: str) -> str:
    """A question as an encoder reads it."""
    return text.replace(SEPARATOR, " ")


def reordered(pages: Sequence[int], groups: Iterable[Sequence[Evidence]]) -> list[int]:
    """The pages with each group's members in the group's order, on the places the group has."""
    order = list(pages)
    for group in groups:
        rank = {page: n for n, evidence in enumerate(group) for page in evidence.pages}
        places = [n for n, page in enumerate(order) if page in rank]
        members = sorted((order[n] for n in places), key=lambda page: rank[page])
        for place, page in zip(places, members, strict=True):
            order[place] = page
    return order
