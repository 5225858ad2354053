"""What speaks for and against each candidate of a question: the features that `weights.py` names."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whichone.names import token_key, without_parentheses
from whichone.records import grouped
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.denials import Denials
from whichone.retrieval.namesake.knowledge_evidence import (
    Knowledge,
    RelationWords,
    Stems,
    compared,
    contains,
    extremes,
)
from whichone.retrieval.namesake.lexical import RowSelection
from whichone.retrieval.namesake.pool import best_by_page, with_shared
from whichone.retrieval.namesake.question_names import SEPARATOR, Mention, remainder
from whichone.retrieval.namesake.sentences import SentenceCloseness, SentenceJudge, split_sentences
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.spelling import (
    ARTICLES,
    ELDER,
    YOUNGER,
    PlaceForms,
    Said,
    carries,
    generation,
    has_form,
    places_in,
    words_beside,
)  # fmt: skip
from whichone.retrieval.namesake.weights import Fit, NamesakeParameters, said_by_reader

if TYPE_CHECKING:
    from whichone.retrieval.namesake.pool import Group, Pool

MOST_ENCODED = 64
MOST_READ = 24  # So many candidates of a question, the likeliest by their words and names, are read
# So many pages that only carry the words of a name are weighed as its bearers; more must speak for one with the words further apart.
MOST_CARRYING, _BETTER = 2, 0.4
_NO_BEARER = frozenset(["unread", "disambiguation"])
_SHOWN = 160
_OPENING = 600
_PAGES_READ, _SENTENCES = 2, 40
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NEAR = 0.03
_OTHER_SAYS = 0.3  # So much counts what a page of another kind says of the relation
_BY = frozenset(["by", "von", "vom", "par", "por"])
_A = frozenset(["a", "an", "ein", "eine", "un", "une", "una"])
_OF = frozenset([
    "of", "for", "on", "in", "from", "von", "des", "der", "für", "auf", "de", "du", "dans", "pour", "del",
    "en", "para",
])  # fmt: skip
# A place after a word such as "born": "in Leeds", "on 3 May 1950 at Leeds", "5 April 1958, Leeds"
_PLACE = re.compile(
    r"[^).;]{0,50}?(?:\b(?:in|at|near|im|bei|à|en)\s+(?![A-Z]\w+ \d)|\d{4},\s+)[^\W\d_a-zà-ÿ]"
)
_LIFE = re.compile(r"[^(]{0,80}\(\s*[^)–—-]{0,30}\d{4},?\s+(?:in\s+)?[A-Z]")
_OF_NAME = frozenset([
    "bm25", "level", "rank", "named", "share", "alone", "loosely", "titled", "bare", "respelt", "longer", "company", "nickname", "near",
    "contains", "unnamed", "extra", "numbered", "qualified", "best_kind", "only_says", "length",
])  # fmt: skip
_SCALE = 10.0  # BM25 scores are divided by it, so that all evidence is of one order


@dataclass
class Evidence:
    """One candidate, an entity or a page, with what each kind of evidence adds to or takes off its score."""

    key: str
    pages: list[int]
    values: dict[str, float] = field(default_factory=dict)  # The features themselves, before they are weighed
    parts: dict[str, float] = field(default_factory=dict)
    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)
    probability: float = 0.0
    before: float | None = None  # Its score without what a reader says

    def add(self, name: str, value: float, why: str, *, speaks: bool = True) -> None:
        """What it has of a kind of evidence, and what that says for or against it."""
        self.values[name] = value
        (self.speaks_for if speaks else self.speaks_against).append(why)

    @property
    def unread_score(self) -> float:
        """What tells whether anybody is meant at all was learned on such scores."""
        return self.score if self.before is None else self.before

    @property
    def page(self) -> int:
        """The page that speaks for it best."""
        return self.pages[0]

    @property
    def score(self) -> float:
        return sum(self.parts.values())

    def note(self, index: Index) -> dict[str, Any]:
        return {
            "page": index.pages.id(self.page),
            "title": index.pages.title(self.page),
            **({"entity": self.key} if index.pages.entity(self.page) else {}),
            "probability": round(self.probability, 4),
            "score": round(self.score, 4),
            "evidence": {name: round(value, 4) for name, value in self.parts.items() if value},
            "for": self.speaks_for,
            "against": self.speaks_against,
        }


@dataclass(frozen=True)
class Asked:
    """What is known of a question when its candidates are weighed."""

    text: str
    mentions: Sequence[Mention]
    said: str  # What was answered when it was asked back
    plain: str  # What it says besides names and asking, in words written small
    openers: frozenset[str]
    relations: Sequence[RelationWords]
    cue: frozenset[str]  # The stems of the words that ask
    told: str  # What it says, without what it denies for sure, and without the relation of a slot to fill
    denials: Denials
    denied: Sequence[str] = ()  # What the question says the meant one is not: "not the one in Leeds"
    about: Sequence[float] = ()  # Numbers that it says roughly: "about 36 thousand"
    periods: Sequence[tuple[int, int]] = ()  # Decades and centuries that the question names: "of the 1780s"
    claim: bool = False  # It states something: neither a question nor a slot to fill
    where: bool = False  # It asks for a place
    alone: bool = False  # One whole name is in it, and no other word is written as one
    vector: Vectors | None = None


@dataclass(frozen=True)
class Around:
    """What a question says around one of its names, other names too."""

    mention: Mention | None
    first: bool
    role: str  # In a claim: "claim_owner", "claim_agent" or "claim_subject", where its words say so
    proper: str  # Words written with a capital or a digit: who or what else the question mentions
    said: Said
    clues: Mapping[str, float]  # The stems that tell something, with how rare each is


class Weigher:
    """Weighs the candidates of a question against what it asks."""

    def __init__(
        self,
        index: Index,
        parameters: NamesakeParameters,
        fit: Fit,
        *,
        first: Fit,
        closeness: SentenceCloseness | None,
        judge: SentenceJudge | None,
        knowledge: Knowledge | None,
        popularity: Mapping[int, float],
    ) -> None:
        self._index = index
        self._pages = index.pages
        self._options = parameters
        self._weights = {**first.weights, "popularity": parameters.popularity}
        self._when_read = {**fit.weights, "popularity": parameters.popularity}
        self._closeness = closeness
        self._judge = judge
        self._knowledge = knowledge
        self._popularity = popularity
        self._sentence_stems = functools.lru_cache(4_000)(self._stems_by_sentence)
        self._title_keys = functools.lru_cache(20_000)(self._read_title_keys)
        self._rarity = functools.lru_cache(20_000)(
            lambda word: sum(index.lexical.idf(index.lexical.keys(word)))
        )

    def learn(self, groups: Sequence[Sequence[int]]) -> None:
        """Encode sentences that were not encoded when indexing, of many questions together."""
        if self._closeness is not None:
            shared = [group for group in groups if 1 < len(group) <= MOST_ENCODED]
            self._closeness.learn([page for group in shared for page in group])

    def _owner(self, page: int) -> str | None:
        """Whom a page is about: its source says so, or the knowledge base."""
        own = self._pages.entity(page)
        return self._knowledge.entity(page) if own is None and self._knowledge is not None else own

    def weigh(self, pool: Pool, asked: Asked, selection: RowSelection) -> list[list[Evidence]]:
        """For each name of the pool its bearers, and at last the others, each best first, ties by page."""
        first = min((g.mention.start for g in pool.groups), default=0)
        several = len(pool.groups) > 1
        most = {name: max(getattr(pool, name).values(), default=0.0) or 1.0 for name in ("bm25", "level")}
        weighed: list[list[Evidence]] = []
        arounds: list[Around] = []
        roles = self._roles(asked, pool.groups) if asked.claim else [""] * len(pool.groups)
        for group, role in zip((*pool.groups, None), (*roles, ""), strict=True):
            around = self._around(asked, group, group is not None and group.mention.start == first, role)
            pages = list(group.pages) if group is not None else list(pool.others)
            made = self._candidates(pages, pool, asked, around, selection, most)
            for evidence in made:
                self._add_name(evidence, pool, asked, around, group, several)
            weighed.append(made)
            arounds.append(around)
        every = [e for own in weighed for e in own]
        self._weigh(every)
        read = {id(e) for e in sorted(every, key=lambda e: (-e.score, e.page))[:MOST_READ]}
        for own, around in zip(weighed, arounds, strict=True):
            for evidence in own:
                if id(evidence) in read:
                    self._read(evidence, asked, around, several)
                else:
                    evidence.values["unread"] = 1.0
        for own, around in zip(weighed[:-1], arounds, strict=False):
            for name, feature in (("kind", "best_kind"), ("says", "only_says")):
                highest = max((e.values.get(name, 0.0) for e in own), default=0.0)
                best = [e for e in own if highest and e.values.get(name) == highest]
                only = len(best) == 1 < len(own) and (asked.alone or asked.claim)
                for evidence in best if only or feature == "best_kind" else ():
                    evidence.values[feature] = 1.0
            self._add_extreme(own, asked, around)
            self._add_strange(own, weighed[:-1], asked, around)
        self._weigh(every)
        self._list_carrying(pool, weighed)
        self._weigh(every)
        named = [e for own in weighed[:-1] for e in own if "unread" not in e.values]
        if self._closeness is not None and asked.vector is not None and len(named) > 1:
            near = named[:MOST_ENCODED]
            self._closeness.learn([e.page for e in near])
            for evidence in near:
                self._add_sentence(evidence, asked.vector)
            self._weigh(near)
        for own in weighed:
            own.sort(key=lambda e: ("unread" in e.values, -e.score, e.page))
        if self._judge is not None and len(named) > 1:
            self._judged([e for own in weighed for e in own if "unread" not in e.values], asked.text)
            for own in weighed:
                own.sort(key=lambda e: ("unread" in e.values, -e.score, e.page))
        return weighed

    def _list_carrying(self, pool: Pool, weighed: list[list[Evidence]]) -> None:
        """Pages without a name that carry its words, and fit no worse than its best bearer, become its bearers; the closest first."""
        best = [max((_fit(e) for e in own if "unread" not in e.values), default=0.0) for own in weighed]
        whole = [n for n, group in enumerate(pool.groups) if group.mention.whole and group.mention.proper]
        closest: list[tuple[float, float, int, int]] = []
        for place, evidence in enumerate(weighed[-1]):
            fit, page = _fit(evidence), evidence.page
            if evidence.values.keys() & _NO_BEARER or self._owner(page) is not None:
                continue  # whose names are known
            for n in (n for n in whole if fit >= best[n]):
                how = carries(pool.groups[n].mention.name, self._pages.title(page), self._pages.opening(page))
                if how and fit >= best[n] + _BETTER * (1 - how):
                    closest.append((-how, -fit, place, n))
        for _, _, place, n in sorted(closest)[:MOST_CARRYING]:
            if "near" not in (values := weighed[-1][place].values):
                values["near"] = 1.0
                weighed[n].append(weighed[-1][place])
        weighed[-1] = [evidence for evidence in weighed[-1] if "near" not in evidence.values]

    def _around(self, asked: Asked, group: Group | None, first: bool, role: str) -> Around:
        pieces = remainder(asked.text, group.mentions if group is not None else asked.mentions)
        words = [word for piece in pieces for word in _WORD.findall(piece)]
        opening = _WORD.search(asked.text)
        opens = opening.group() if opening is not None else ""
        proper = [w for w in words if (w[0].isupper() and w != opens) or any(map(str.isdigit, w))]
        proper += _WORD.findall(asked.said)
        proper = [w for w in proper if w.casefold() not in asked.openers]
        language = self._pages.table.language
        clues = {
            stem: self._rarity(w)
            for w in (*words, *_WORD.findall(asked.said))
            if w.casefold() not in asked.openers and (stem := language.stem(w.lower())) not in asked.cue
        }
        mention = group.mention if group is not None else None
        return Around(mention, first, role, " ".join(proper), Said.of((*pieces, asked.said), language), clues)

    def _roles(self, asked: Asked, groups: Sequence[Group]) -> list[str]:
        """What a claim says of each name: that it has something, or does it; else it is said of the name that opens it."""
        roles = [self._role(asked, group.mention) for group in groups]
        if len(groups) > 1 and "claim_owner" not in roles:
            first = min(range(len(groups)), key=lambda n: groups[n].mention.start)
            if not set(_WORD.findall(asked.text[: groups[first].mention.start].casefold())) - ARTICLES:
                roles[first] = "claim_subject"
        return roles

    def _role(self, asked: Asked, mention: Mention) -> str:
        before = [w.casefold() for w in _WORD.findall(asked.text[: mention.start])[-6:]]
        genitive = asked.text[mention.end :].startswith(("'s ", "' "))
        while before and before[-1] in ARTICLES:
            before.pop()
        if not before:
            return "claim_owner" if genitive else ""
        if before[-1] in _BY:
            return "claim_agent"
        of = before.pop() in _OF if before[-1] in _OF and len(before) > 1 else False
        stem = self._pages.table.language.stem(before[-1])
        own = {kind for relation in asked.relations for kind in relation.kinds}
        has = bool(own.intersection(self._pages.table.kinds.get((stem,), ())))
        if of and has and _A.intersection(before[-4:-1]):
            return ""  # "is a fictional character in": the character is what is asked about
        if not of and not has and ARTICLES.intersection(before[-3:-1]):
            return "claim_owner" if genitive else ""  # "for the team": the team is what it has
        return "claim_owner" if genitive or stem in asked.cue else ""

    def _candidates(
        self,
        pages: Sequence[int],
        pool: Pool,
        asked: Asked,
        around: Around,
        selection: RowSelection,
        most: Mapping[str, float],
    ) -> list[Evidence]:
        """Pages of one entity together, the best first, with what their words are worth."""
        rows = self._pages.rows(pages)
        rows = rows if selection.everything else rows[selection.keeps(rows)]
        owners = self._pages.of_passages(rows).tolist()

        def scores(text: str) -> dict[int, float]:
            return best_by_page(owners, self._index.lexical.of(text, rows)) if text else {}

        texts = {"words": scores(asked.plain), "proper": scores(around.proper)}
        kept = [page for page in pages if page in pool.level]
        together = grouped(
            (self._owner(page) or self._pages.id(page), page)
            for page in sorted(kept, key=lambda p: (-pool.level[p], p))
        )
        made = []
        for key, own in together.items():
            evidence = Evidence(key, own)
            values = evidence.values
            for name in ("bm25", "level"):
                values[name] = max(getattr(pool, name)[page] for page in own) / most[name]
            values["rank"] = 1 / (1 + min(pool.ranks.get(page, 1_000) for page in own))
            for name, best in texts.items():
                values[name] = max(best.get(page, 0.0) for page in own) / _SCALE
            if values["words"] + values["proper"] > 0:
                shared = _SCALE * (values["words"] + values["proper"])
                evidence.speaks_for.append(f"shares words with the question (BM25 {shared:.2f})")
            if pool.dense:
                values["dense"] = max(pool.dense[page] for page in own)
            made.append(evidence)
        return made

    def _add_name(
        self, evidence: Evidence, pool: Pool, asked: Asked, around: Around, group: Group | None, several: bool
    ) -> None:
        """How it has the name of its group; of a page without one, whether its title contains one."""
        values = evidence.values
        key, bare, opens = self._title_keys(evidence.page)
        if group is None:
            values["unnamed"] = 1.0
            values["claim_unnamed"] = float(asked.claim and bool(pool.groups))
            own = f" {key} "
            if any(f" {token_key(g.mention.name)} " in own for g in pool.groups):
                values["contains"] = 1.0
            return
        mention = group.mention
        values["named"] = float(mention.whole and mention.proper)
        values["share"] = (mention.end - mention.start) / max(len(asked.text), 1)
        values["alone"] = float(asked.alone)
        name = token_key(mention.name)
        words = set(name.split())
        elsewhere = not words & set(key.split())  # a document whose title says nothing of its subject
        values["titled"] = float(
            name in (bare, bare.partition(" , ")[0])
            or (elsewhere and not any(group.pages[page] for page in evidence.pages))
        )
        values["bare"] = float(key == name)
        if how := min((group.pages[page] for page in evidence.pages), key=len):
            evidence.add(how, 1.0, "has only another form of the name", speaks=False)
        if asked.claim:
            values["claim"] = 1.0
            if several:
                values["claim_first"] = float(around.first)
                values["claim_level"] = values["level"]
            if around.role and (several or around.role == "claim_owner"):
                values[around.role] = 1.0
        if mention.written:
            values["loosely"] = 1.0
        elif not how and not values["titled"]:
            values["called"] = 1.0
        if elsewhere and (not opens or opens[0] not in words or name.split()[-1] not in opens):
            values["elsewhere"] = 1.0  # nor is it about it
        beside = words_beside(asked.text, mention.start, mention.end)
        generations = generation(beside), generation({*key.split()} - words)
        if all(generations):  # "Ada Park the younger" is Ada Park Jr.
            values["attribute" if len({*generations}) == 1 else "denied"] = 1.0
        if how or not words <= set(key.split()):
            return  # its title says nothing of who it is
        stem = self._pages.table.language.stem
        added = {stem(w) for w in key.split() if w.isalnum() and w not in name.split()}
        said = added & set(around.said.stems)
        values["qualified"] = float(bool(said))
        values["extra"] = min(float(len(added - said)), 3.0) / 3
        values["numbered"] = float(any(w.isdigit() and len(w) < 4 for w in added - said))

    def _read_title_keys(self, page: int) -> tuple[str, str, list[str]]:
        """A page's title, the same without parentheses, and how its text opens, as keys of names."""
        title = self._pages.title(page)
        opens = token_key(self._pages.opening(page)[:60]).split()
        return token_key(title), token_key(without_parentheses(title)), opens

    def _judged(self, read: list[Evidence], question: str) -> None:
        """What the reader says of the likeliest of these; the others are no better than the last of them."""
        assert self._judge is not None
        likely = sorted(read, key=lambda e: (-e.score, e.page))[: self._options.judged]
        judged = self._judge.scores(question.replace(SEPARATOR, " "), likely)
        told = said_by_reader([score for score, _ in judged])
        for evidence in read:
            evidence.before = evidence.score
            evidence.values["pair"] = min(own["pair"] for own in told)
        for evidence, own, (score, sentence) in zip(likely, told, judged, strict=True):
            evidence.values |= own
            if sentence:
                evidence.speaks_for.append(f"was read ({score:.2f}): {sentence[:_SHOWN]}")
        if any("claim" in e.values for e in read) or not any(e.values["proper"] for e in read):
            for evidence in read:
                evidence.values["pair_plain"] = evidence.values["pair"]
        self._weigh(read, self._when_read)

    def _weigh(self, weighed: Sequence[Evidence], weights: Mapping[str, float] | None = None) -> None:
        own = self._weights if weights is None else weights
        for evidence in weighed:
            evidence.parts = {n: own[n] * value for n, value in evidence.values.items() if own.get(n)}

    def _read(self, evidence: Evidence, asked: Asked, around: Around, several: bool) -> None:
        """Adds what the pages themselves say."""
        values = evidence.values
        if all(self._pages.lists_bearers(page) for page in evidence.pages[:4]):
            evidence.add("disambiguation", 1.0, "only lists who has the name", speaks=False)
        if asked.relations and "elsewhere" not in values:
            self._add_kind(evidence, asked, several and around.mention is not None)
            self._add_says(evidence, asked)
        self._add_attributes(evidence, around)
        if asked.denied:
            self._add_denied(evidence, asked.denied)
        self._add_together(evidence, around)
        if around.said.places:
            self._add_places(evidence, around.said.places)
        if asked.about:
            self._add_about(evidence, asked.about)
        if asked.periods:
            self._add_period(evidence, asked.periods)
        self._add_missing(evidence, asked, around)
        if self._knowledge is not None:
            self._add_facts(evidence, self._knowledge, around)
        if self._options.popularity:
            known = max(self._popularity.get(page, 0.0) for page in evidence.pages)
            values["popularity"] = math.log10(1 + known)

    def kinds(self, pages: Sequence[int]) -> frozenset[str]:
        return frozenset().union(*(self._pages.kinds(page) for page in pages[:4]))

    def kind(self, pages: Sequence[int], relations: Sequence[RelationWords]) -> float:
        """How well a kind of thing can be asked so, -1 where it cannot; 0 where it is not known."""
        if not (kinds := self.kinds(pages)) or not relations:
            return 0.0
        wanted: dict[str, float] = {}
        for relation in relations:
            for place, kind in enumerate(relation.kinds):
                wanted[kind] = max(wanted.get(kind, 0), 1 / (1 + place / 2))
        return max(wanted.get(kind, 0.0) for kind in kinds) or -1.0

    def _add_kind(self, evidence: Evidence, asked: Asked, several: bool) -> None:
        relations = asked.relations
        fit = self.kind(evidence.pages, relations)
        if asked.claim and several:
            evidence.values["claim_kind"] = max(fit, 0.0)
            evidence.values["claim_other"] = float(fit < 0)
        kinds = " or ".join(sorted(self.kinds(evidence.pages)))
        described = f"{'an' if kinds[:1] in {*'aeio'} else 'a'} {kinds}"
        asks = " or ".join(r.name.replace("_", " ") for r in relations)
        if fit > 0:
            evidence.add("kind", fit, f"is {described}; the question asks for {asks}")
        elif not fit:
            evidence.values["no_kind"] = 1.0
        else:
            evidence.add("other_kind", 1.0, f"is {described}, not what one asks for {asks}", speaks=False)

    def _add_says(self, evidence: Evidence, asked: Asked) -> None:
        phrases = dict.fromkeys(phrase for relation in asked.relations for phrase in relation.says)
        if not phrases:
            return
        sentences = self._read_sentences(evidence)
        said = [" ".join(p) for p in phrases if any(s.issuperset(p) for s in sentences)]
        if asked.where and self._says_where(evidence, phrases):
            evidence.add("where", 1.0, "says where")
        fits = 1.0 if "no_kind" in evidence.values else evidence.values.get("kind", _OTHER_SAYS)
        evidence.values["states"] = fits * bool(said)
        evidence.values["says"] = fits * len(said) / math.sqrt(len(phrases))
        evidence.values["opening"] = float(any(sentences[0].issuperset(p) for p in phrases))
        if said:
            evidence.speaks_for.append(f"says {', '.join(said[:4])}")
        else:
            evidence.speaks_against.append("says nothing of it")

    def _says_where(self, evidence: Evidence, phrases: Iterable[Stems]) -> bool:
        """Whether a place follows a phrase that states what is asked, or a date of a life: "1977 in Kilwinning"."""
        stem = self._pages.table.language.stem
        if ("born",) in phrases and any(
            _LIFE.match(self._pages.opening(page)) for page in evidence.pages[:2]
        ):
            return True
        heads = {phrase[0] for phrase in phrases if phrase[0] not in self._pages.table.language.openers}
        texts = [text for page in evidence.pages[:_PAGES_READ] for text in self._pages.texts(page)[:8]]
        return any(
            _PLACE.match(text, word.end()) is not None
            for text in texts
            for word in _WORD.finditer(text)
            if word.group().islower() and stem(word.group()) in heads
        )

    def _add_attributes(self, evidence: Evidence, around: Around) -> None:
        """Attributes whose values the question names: company, department, city."""
        named = [
            f"{name} {value}"
            for name, value, stems in self._attributes(evidence)
            if around.said.has(value, stems)
        ]
        if named:
            evidence.add("attribute", math.sqrt(len(named)), f"has the {', the '.join(named[:3])}")

    def _attributes(self, evidence: Evidence) -> Iterator[tuple[str, str, Stems]]:
        """What is known of it: name, value, and the value's stems, of those short enough to be named."""
        stems = self._pages.table.language.stems
        known = [(n, v, stems(v)) for n, v in self._index.attributes(evidence.page).items()]
        if self._knowledge is not None:
            facts = self._knowledge.facts(self._owner(evidence.page) or "")
            known += {f.value_stems: (f.property, f.value, f.value_stems) for f in facts}.values()
        return (own for own in known if 0 < len(own[2]) <= 8)

    def _add_denied(self, evidence: Evidence, denied: Sequence[str]) -> None:
        """Whether it has what the question rules out: as an attribute, else in its text."""
        texts = [self._pages.stems(page) for page in evidence.pages[:_PAGES_READ]]
        opening = self._pages.opening(evidence.page)[:_OPENING]
        for said in denied:
            words = Said.of([said], self._pages.table.language)
            ruled_out = words.stems
            has = any(words.has(value, stems) for _, value, stems in self._attributes(evidence))
            has = has or any(has_form(opening, forms) for forms in words.places)
            if has or any(contains(text, ruled_out) for text in texts):
                evidence.add("denied", 1.0, f"has what the question rules out: {said}", speaks=False)
                return
            found = [s for s in ruled_out if any(s in text for text in texts)]
            share = len(found) / max(len(ruled_out), 1)
            evidence.values["denied"] = max(evidence.values.get("denied", 0.0), share / 2)

    def _add_together(self, evidence: Evidence, around: Around) -> None:
        """How much of what the question says stands in one sentence, and how much nowhere."""
        sentences = self._read_sentences(evidence)
        every: frozenset[str] = frozenset().union(*sentences)
        evidence.values["length"] = math.log10(1 + sum(map(len, sentences)))
        if not (whole := sum(around.clues.values())):
            return
        evidence.values["together"] = max((_worth(around.clues, s) for s in sentences), default=0.0) / whole
        evidence.values["unplaced"] = 1 - _worth(around.clues, every) / whole

    def _add_missing(self, evidence: Evidence, asked: Asked, around: Around) -> None:
        """How much of what the question says it has nowhere, also words that are in no passage."""
        stem, attributes = self._pages.table.language.stem, list(self._attributes(evidence))
        known = frozenset().union(*self._read_sentences(evidence), *(stems for _, _, stems in attributes))
        small = {word for word in _WORD.findall(asked.said) if word.islower()}  # of an answer, "the one in"
        proper = {stem(w.lower()) for w in around.proper.split() if w not in small or stem(w) in known}
        missing = proper - known
        if missing and around.said.places:  # "New York" is there where NY is
            values = [forms for _, value, _ in attributes for forms in places_in(value)]
            text = " ".join(self._pages.opening(page)[:_OPENING] for page in evidence.pages[:_PAGES_READ])
            had = [p for p in around.said.places if any(p & own for own in values) or has_form(text, p)]
            missing -= {stem(word.lower()) for forms in had for form in forms for word in _WORD.findall(form)}
        if evidence.values.get("about") or evidence.values.get("period"):
            missing = {word for word in missing if not any(map(str.isdigit, word))}
        evidence.values["missing"] = min(len(missing), 4) / 4
        evidence.values["placed"] = 1 - len(missing) / len(proper) if proper else 0.0
        evidence.values["says more"] = float(bool(proper))
        plain = around.clues.keys() - proper
        evidence.values["unsaid"] = len(plain - known) / max(len(plain), 1)
        evidence.values["unheard"] = min(sum(not worth for worth in around.clues.values()), 4) / 4

    def _read_sentences(self, evidence: Evidence) -> list[frozenset[str]]:
        """The stems of each sentence that is read, the first one with those of the title."""
        return [s for page in evidence.pages[:_PAGES_READ] for s in self._sentence_stems(page)]

    def _stems_by_sentence(self, page: int) -> tuple[frozenset[str], ...]:
        language = self._pages.table.language
        sentences = (s for text in self._pages.texts(page)[:8] for s in split_sentences(text))
        title = frozenset(language.stems(self._pages.title(page)))
        listed = [frozenset(language.stems(s)) for _, s in zip(range(_SENTENCES), sentences, strict=False)]
        return tuple([listed[0] | title, *listed[1:]] if listed else [title])

    def _add_strange(
        self, own: list[Evidence], every: Sequence[list[Evidence]], asked: Asked, around: Around
    ) -> None:
        """What the question says of the one who is meant and nobody can place, or may deny what it covers."""
        if (mention := around.mention) is not None:
            own = [e for e in with_shared(own, every, mention) if "unread" not in e.values]
        if len(own) < 2 or mention is None:
            return
        stem = self._pages.table.language.stem
        values, texts, codes = Counter[str](), Counter[str](), set[str]()
        words = _WORD.findall(asked.told.casefold())
        names = {name for evidence in own for name in self._index.attributes(evidence.page)}
        known = asked.cue.union(*(map(stem, name.split()) for name in names))
        for evidence in own:
            values.update({s for _, _, value in self._attributes(evidence) for s in value})
            codes.update(w for _, value, _ in self._attributes(evidence) for w in _WORD.findall(value))
            texts.update(frozenset().union(*self._read_sentences(evidence)))
        placed = {w for forms in around.said.places for form in forms for w in _WORD.findall(form)}
        pairs = ((pair, "".join(pair)) for pair in itertools.pairwise(words))
        spelt = {word for pair, whole in pairs if whole in names or stem(whole) in texts for word in pair}
        superlatives = {word for _, phrases in compared() for phrase in phrases for word in phrase.split()}
        labels = tuple(label for listed, _ in compared() for label in listed)
        evident = any(e.values.get(name) for e in own for name in ("about", "period", "extreme"))
        had = {name for name in ("attribute", "place") if any(name in e.values for e in own)}

        def clue(word: str) -> str:
            own_stem = stem(small := word.lower())
            if own_stem in known or small in spelt:  # the "time zone" of a timezone
                return "known"
            if evident and (any(map(str.isdigit, word)) or small in superlatives or small.startswith(labels)):
                return "clue"
            if (count := values[own_stem]) and (len(word) > 3 or word in codes):  # CO is not co
                return "clue" if count < len(own) else "known"
            if (count := texts[own_stem]) or (own_stem,) in self._pages.table.kinds:
                return "said" if 0 < count < len(own) else "known"
            younger = "attribute" in had and small in YOUNGER | ELDER
            return "clue" if younger or (had and word in placed) else ""

        spans = [((m.start, m.end), "name" if m.pages == mention.pages else "other") for m in asked.mentions]
        word = asked.denials.strange(asked.told, spans, clue, claim=asked.claim)
        for evidence in own if word else ():
            why = f"the question says {word!r}, which nothing here explains"
            evidence.add("strange", 1.0, why, speaks=False)

    def _add_places(self, evidence: Evidence, places: Sequence[PlaceForms]) -> None:
        texts = " ".join(self._pages.opening(page)[:_OPENING] for page in evidence.pages[:_PAGES_READ])
        if had := [min(forms) for forms in places if has_form(texts, forms)]:
            evidence.add("place", len(had) / len(places), f"has {', '.join(had)}")

    def _add_about(self, evidence: Evidence, about: Sequence[float]) -> None:
        """A number of the page, or of what is known of it, is near one that the question says roughly."""
        texts = " ".join(self._pages.opening(page)[:_OPENING] for page in evidence.pages[:_PAGES_READ])
        texts = " ".join((texts, *self._index.attributes(evidence.page).values()))
        numbers = [float(n.replace(",", "")) for n in _NUMBER.findall(texts)]
        near = [n for n in numbers if any(abs(n - wanted) <= _NEAR * wanted for wanted in about)]
        if near:
            evidence.add("about", 1.0, f"has about that number ({near[0]:g})")

    def _add_extreme(self, own: Sequence[Evidence], asked: Asked, around: Around) -> None:
        read = ((self._index.attributes(e.page), self._pages.opening(e.page)[:_OPENING]) for e in own)
        name = _WORD.findall(around.mention.name.casefold()) if around.mention is not None else ()
        for n, what in extremes(asked.told.casefold(), read, {"", "one", *asked.openers, *name}):
            own[n].add("extreme", 1.0, f"has the {what}")

    def _add_period(self, evidence: Evidence, periods: Sequence[tuple[int, int]]) -> None:
        """A year of the page's opening is of a decade or century that the question names."""
        years = [int(year) for year in _YEAR.findall(self._pages.opening(evidence.page)[:_OPENING])]
        if inside := [year for year in years if any(low <= year <= high for low, high in periods)]:
            evidence.add("period", 1.0, f"is of that time ({inside[0]})")

    def _add_facts(self, evidence: Evidence, knowledge: Knowledge, around: Around) -> None:
        properties = [
            p for page in evidence.pages[:4] for p in knowledge.asked_properties(page, around.said.stems)
        ]
        if properties:
            evidence.add("fact", 1.0, f"has the fact {', '.join(properties[:3])}")

    def _add_sentence(self, evidence: Evidence, vector: Vectors) -> None:
        assert self._closeness is not None
        close, sentence = self._closeness.closest(vector, evidence.page)
        evidence.values["sentence"] = close
        if sentence:
            evidence.speaks_for.append(f"closest sentence ({close:.2f}): {sentence[:_SHOWN]}")


def _fit(evidence: Evidence) -> float:
    """What speaks for it, its name and its place among results aside."""
    return sum(
        value for name, value in evidence.parts.items() if name not in _OF_NAME and "claim" not in name
    )


def _worth(clues: Mapping[str, float], stems: frozenset[str]) -> float:
    return sum(value for stem, value in clues.items() if stem in stems)
