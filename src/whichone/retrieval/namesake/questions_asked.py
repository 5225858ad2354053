"""One snapshot of an index asked questions: names, bearers, evidence, order."""

from __future__ import annotations

import dataclasses
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
from whichone.retrieval.namesake.evidence import Asked, Denials, Evidence, Weigher, blanked
from whichone.retrieval.namesake.knowledge_evidence import Knowledge, RelationTable
from whichone.retrieval.namesake.lexical import Filter, Selection
from whichone.retrieval.namesake.pool import MOST_PAGES, Group, Pool, Pooler, Resolution, resolution
from whichone.retrieval.namesake.question_names import (
    SEPARATOR,
    Mention,
    PageNames,
    remainder,
    subject,
)
from whichone.retrieval.namesake.sentences import SentenceCloseness, SentenceJudge
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import EvidenceModel, NamesakeParameters, calibrated

_SHOWN_BEARERS = 5
_WORD = re.compile(r"[^\W_]+")
_DECADE = re.compile(r"\d{3}0s")
PLACES = frozenset(["place", "building", "organization"])
"""Kinds whose titles tell namesakes apart by a comma, not by parentheses."""


@dataclass(frozen=True)
class Reading:
    """What was understood of a question, and the passages in their order."""

    rows: list[int]
    scores: list[float]
    mentions: Sequence[Mention]
    weighed: list[tuple[Mention, list[Evidence]]]
    asked: Asked

    def notes(self, index: Index) -> dict[str, Any]:
        """Who has each name, and what speaks for and against each."""
        bearers = dict(self.weighed)
        names = []
        for mention in self.mentions:
            shown = bearers.get(mention, [])[:_SHOWN_BEARERS]
            names.append(
                {
                    "name": mention.name,
                    "bearers": len(bearers.get(mention, mention.pages)),
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
class Heard:
    """A question without what it denies, its names, and the words that it denies."""

    question: Question
    mentions: Sequence[Mention]
    denied: Sequence[str]


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
        self._relations: RelationTable = index.pages.table
        self._denials = Denials.load(index.pages.language)
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
        if parameters.judge:
            kept = before._judge if before is not None else None
            self._judge = SentenceJudge(
                parameters.judge, self._passage_to_read, kept, words=parameters.judge_words
            )
        self._pooler = Pooler(index, self._dense(), parameters, self._relations.language.openers)
        judged = self._judge.kind if self._judge is not None else None
        self.fit = EvidenceModel.load().fit(sentences=self._closeness is not None, judge=judged)
        self._weigher = Weigher(
            index,
            parameters,
            self.fit,
            closeness=self._closeness,
            judge=self._judge,
            knowledge=knowledge,
            popularity=knowledge.popularity() if knowledge is not None else {},
        )

    def _need_encoder(self) -> Encoder:
        encoder = self._find_encoder()
        if encoder is None:
            return need_encoder(self.parameters.encoder, device=self.parameters.device)
        return encoder

    def _dense(self) -> Dense | None:
        if self.parameters.encode != "all" or self.parameters.encoder == "none":
            return None
        base = self.index.parts[0].corpus
        work = cache_folder() / "indexes" / base.hash[:16]
        return Dense.over(base, work, encoder=self._need_encoder())

    def describe(self) -> dict[str, Any]:
        """The models and the knowledge base that decide what is answered."""
        encoder = self._find_encoder() if self._closeness is not None else None
        return {
            "encoder": encoder_name(self.parameters.encoder, encoder),
            "model": encoder.describe() if encoder is not None else None,
            "judge": self._judge.describe() if self._judge is not None else None,
            "knowledge_base": {"id": self._knowledge.id} if self._knowledge is not None else None,
            "evidence": dict(EvidenceModel.load().made).get("version", ""),
        }

    # questions

    def resolve(
        self, question: Question, answer: str = "", wanted: Filter | None = None
    ) -> Resolution:
        """Who the name in a question means; `answer` is what was said when asked back."""
        selection = self.index.select(wanted)
        heard = self._heard(question, selection)
        said, denied = self._answered(answer)
        mentions = heard.mentions
        text = f"{heard.question.text} {said}".strip()
        pool = self._pooler.pool(text, mentions, selection)
        asked = self._asked(heard.question, mentions, pool, (*heard.denied, *denied))
        if said.strip():
            # whatever is answered tells bearers apart, however it is written
            more = " ".join(_WORD.findall(said))
            words = (*asked.words, *self._relations.language.stems(said))
            proper = f"{asked.proper} {more}"
            asked = dataclasses.replace(
                asked,
                proper=proper,
                words=words,
                periods=[*asked.periods, *periods(_WORD.findall(said))],
            )
        best: tuple[Mention, list[Evidence]] | None = None
        for group in pool.groups:
            evidence = self._weighed(group, asked, selection)
            shared = len(evidence) > 1
            if best is None or (shared and len(best[1]) < 2):
                best = (group.mention, evidence)
        if best is None:
            return Resolution(question.text, None)
        return resolution(question.text, best[0].name, best[1], self.index, self.fit)

    def _weighed(self, group: Group, asked: Asked, selection: Selection) -> list[Evidence]:
        """The bearers with their probabilities, best first."""
        if self._knowledge is not None:
            pieces = remainder(asked.text, [group.mention])
            around = [s for piece in pieces for s in self._relations.language.stems(piece)]
            asked = dataclasses.replace(asked, around=(*around, *asked.words))
        evidence = self._weigher.weigh(group.lexical, asked, selection, group.longer)
        shares = calibrated([e.score for e in evidence], [e.values for e in evidence], self.fit)
        for bearer, share in zip(evidence, shares, strict=True):
            bearer.probability = share
        return evidence

    def readings(
        self, questions: Sequence[Question], k: int, wanted: Filter | None = None
    ) -> Iterator[Reading]:
        """Each question's passages, with everything that was weighed."""
        selection = self.index.select(wanted)
        every = [self._heard(question, selection) for question in questions]
        self._weigher.learn([m.pages for heard in every for m in heard.mentions])
        close, vectors = self._close([heard.question for heard in every])
        for n, heard in enumerate(every):
            near = close[n] if close is not None else ()
            vector = vectors[n] if vectors is not None else None
            pool = self._pooler.pool(
                heard.question.text, heard.mentions, selection, vector, near, k
            )
            yield self._read(heard, pool, k, selection)

    def _close(self, questions: Sequence[Question]) -> tuple[list[list[int]] | None, Any]:
        """With encode=all: the closest passages of each question, and the questions' vectors."""
        if self.parameters.encode != "all" or self._closeness is None or not questions:
            return None, None
        vectors = np.stack([self._closeness.question(plain_text(q.text)) for q in questions])
        return self._pooler.by_closeness(vectors), vectors

    def _heard(self, question: Question, selection: Selection) -> Heard:
        """The names of a question, and what it denies apart from the rest of it."""
        mentions = self.mentions(question, selection)
        text = plain_signs(question.text)
        denials = self._denials.find(text, [m.end for m in mentions]) if self._denials else []
        meant = [m for m in mentions if not any(d.start <= m.start < d.end for d in denials)]
        if not denials or not meant:
            return Heard(question, mentions, ())
        left = msgspec.structs.replace(question, text=blanked(text, denials))
        return Heard(left, meant, tuple(word for denial in denials for word in denial.words))

    def _answered(self, answer: str) -> tuple[str, tuple[str, ...]]:
        """What an answer says, and what it denies: "not Leeds"."""
        text = plain_signs(answer)
        denials = self._denials.answered(text) if self._denials else []
        if not denials:
            return answer, ()
        return blanked(text, denials), tuple(word for d in denials for word in d.words)

    def mentions(self, question: Question, selection: Selection) -> list[Mention]:
        """The names that are written as names; all that were found where none is."""
        listed = self._names.find(question.mention or question.text)
        if question.mention is not None:
            at = question.text.find(question.mention)
            listed = [
                dataclasses.replace(m, start=m.start + at, end=m.end + at)
                for m in listed
                if at >= 0
            ]
        if not selection.everything:
            kept = [(m, self.index.kept_pages(m.pages, selection)) for m in listed]
            listed = [dataclasses.replace(m, pages=tuple(pages)) for m, pages in kept if pages]
        listed = [self._narrowed(m, question.text) for m in listed]
        return [mention for mention in listed if mention.proper] or listed

    def _narrowed(self, mention: Mention, text: str) -> Mention:
        """Of a name that very many pages have, those that ordinary retrieval likes best."""
        if len(mention.pages) <= MOST_PAGES:
            return mention
        rows = self._pages.rows(mention.pages)
        best = rows[np.argsort(-self.index.lexical.of(text, rows), kind="stable")]
        pages = list(dict.fromkeys(self._pages.of_passages(best[: 4 * MOST_PAGES]).tolist()))
        return dataclasses.replace(mention, pages=tuple(sorted(pages[:MOST_PAGES])))

    def _read(self, heard: Heard, pool: Pool, k: int, selection: Selection) -> Reading:
        question = heard.question
        asked = self._asked(question, heard.mentions, pool, heard.denied)
        weighed = []
        for group in pool.groups:
            if len(group.lexical) > 1:
                evidence = self._weighed(group, asked, selection)
                weighed.append((group.mention, evidence))
        if is_claim(question.text):
            pool = self._subject_first(pool, asked)
        order = reordered(pool.pages, [evidence for _, evidence in weighed])
        rows, scores = _passages(order, pool, k)
        shown = sorted((group.mention for group in pool.groups), key=lambda m: m.start)
        return Reading(rows, scores, shown, weighed, asked)

    def _asked(
        self, question: Question, mentions: Sequence[Mention], pool: Pool, denied: Sequence[str]
    ) -> Asked:
        pieces = remainder(question.text, mentions)
        words = [word for piece in pieces for word in _WORD.findall(piece)]
        opening = _WORD.search(question.text)
        first = opening.group() if opening is not None else ""
        proper = [w for w in words if (w[0].isupper() and w != first) or any(map(str.isdigit, w))]
        plain = [w for w in _WORD.findall(self._relations.without_cue(pieces)) if w not in proper]
        shared = any(len(group.lexical) > 1 for group in pool.groups)
        vector = None
        if self._closeness is not None and shared:
            vector = self._closeness.question(plain_text(question.text))
        return Asked(
            plain_text(question.text),
            pieces,
            tuple(stem for piece in pieces for stem in self._relations.language.stems(piece)),
            " ".join(plain),
            " ".join(proper),
            self._relations.asked(pieces),
            " ".join(denied),
            periods(words),
            vector,
        )

    def _passage_to_read(self, page: int, question: str) -> tuple[str, str]:
        """A page's title, and the passage that has most of the question's words."""
        rows = self._pages.passages(page)
        scores = self.index.lexical.of(question, rows)
        best = int(rows[int(scores.argmax())])
        return self._pages.title(page), self._pages.passage(best)[0].text

    def _subject_first(self, pool: Pool, asked: Asked) -> Pool:
        """In a claim the names of its object appear too; the kind tells which is the subject.

        "Boris Karloff appeared in Kansas": what has a cast is a film, so it is not about Karloff.
        """
        bearers = {page for group in pool.groups for page in group.lexical}
        if not asked.relations or len(pool.groups) < 2:
            return pool
        scores = dict(zip(pool.pages, pool.scores, strict=True))
        for page in bearers & set(scores):
            fit = self._weigher.kind([page], asked.relations)
            scores[page] += self.parameters.subject * (fit / 2 if fit > 0 else fit)
        order = sorted(scores, key=lambda page: (-scores[page], page))
        return dataclasses.replace(pool, pages=order, scores=[scores[page] for page in order])


def _passages(order: Sequence[int], pool: Pool, k: int) -> tuple[list[int], list[float]]:
    """Each page's best passage in the order of the pages, then ordinary results up to k."""
    rows = [pool.passages[page] for page in order[:k]]
    scores = pool.scores[: len(rows)]
    taken = set(rows)
    more = [row for row in pool.ordinary[:k] if row not in taken]
    lowest = scores[-1] if scores else 0.0
    for place, row in enumerate(more[: k - len(rows)], 1):
        rows.append(row)
        scores.append(lowest - place / (k + 1))
    return rows, scores


def periods(words: Sequence[str]) -> list[tuple[int, int]]:
    """Decades and centuries among words: "1780s" are the years 1780 to 1789, "1700s" to 1799."""
    spans = []
    for word in words:
        if _DECADE.fullmatch(word):
            year = int(word[:4])
            spans.append((year, year + (99 if year % 100 == 0 else 9)))
    return spans


def plain_text(text: str) -> str:
    """A question as an encoder reads it."""
    return text.replace(SEPARATOR, " ")


def is_claim(text: str) -> bool:
    """Whether a text states something: neither a question nor a slot to fill."""
    return "?" not in text and subject(text) == text


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
