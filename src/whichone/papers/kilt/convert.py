"""The original files of KILT's datasets as tasks whose evidence is text."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from whichone.errors import BadInput, Missing
from whichone.files.arrow_records import KeyedTable, MappedRecords, Seen, Selection, blocks
from whichone.files.json_records import array_records, records_under
from whichone.files.lines import ODD_RECORD, read_json_lines
from whichone.papers.kilt.convert_links import convert_aida, convert_elevant, convert_wned
from whichone.papers.kilt.convert_relations import convert_trex, convert_zsre
from whichone.papers.kilt.evidence_text import Original, TaskOutput, TaskRecord, made_id, sentence

LABELS = ("SUPPORTS", "REFUTES")
BLOCK = 1_000  # Claims, or pages, that are looked up together
_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "-COLON-": ":", "_": " ",
}  # fmt: skip


def page_title(identity: str) -> str:
    """FEVER's page id as a title: `Soul_Food_-LRB-film-RRB-` is Soul Food (film)."""
    for escape, character in _ESCAPES.items():
        identity = identity.replace(escape, character)
    return identity


class _Claim(msgspec.Struct, array_like=True):
    id: str
    line: int
    label: str
    claim: Any
    evidence: Any


def convert_fever(original: Original) -> Iterator[TaskRecord]:
    """Claims of FEVER 1 and 2 with their sets of sentences; those without enough information are left out."""
    claims = _claims(original)
    pages = _pages(original, claims)
    for block in blocks(claims, BLOCK):
        listed = [_places(claim) for claim in block]
        wanted = list({page for sets in listed for places in sets for page, _ in places})
        rows = zip(wanted, pages.many(wanted), strict=True)
        texts = {page: dict(numbered or ()) for page, numbered in rows}
        for claim, sets in zip(block, listed, strict=True):
            outputs = _outputs(claim, sets, texts, original) or (TaskOutput(claim.label),)
            yield TaskRecord(claim.id, claim.claim, outputs, claim.line)


def _claims(original: Original) -> Sequence[_Claim]:
    """Each id where it comes first, with its last record."""
    claims: MappedRecords[_Claim] = MappedRecords(_Claim, original.near)
    places, seen, said = array("q"), Seen(), Seen()
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                key, label = str(record["id"]), record["label"]
                claim = _Claim(key, line, label, record["claim"], record["evidence"])
            except (KeyError, TypeError):
                raise BadInput("not a record of FEVER", file=file, line=line) from None
            if label not in LABELS:
                original.left_out["not enough information"] += 1
                continue
            other = said.add_one(f"{key}\0{claim.claim}") is None
            if (first := seen.add_one(key, len(places))) is None:
                places.append(len(claims))
            elif other:
                raise BadInput("two claims have one id", file=file, line=line, ids=[key])
            else:
                places[first] = len(claims)
            claims.append(claim)
    return Selection(claims, places)


Place = tuple[str, int]


def _places(claim: _Claim) -> list[list[Place]]:
    """Sets of page and sentence number; FEVER repeats a set for each annotator."""
    sets = (
        tuple((entry[2], entry[3]) for entry in group if entry[2] is not None and entry[3] is not None)
        for group in claim.evidence
    )
    return [list(places) for places in dict.fromkeys(sets) if places]


def _outputs(
    claim: _Claim, sets: Sequence[Sequence[Place]], texts: Mapping[str, Mapping[int, str]], original: Original
) -> tuple[TaskOutput, ...]:
    outputs = []
    for places in sets:
        found = [texts[page].get(number) for page, number in places]
        original.left_out["sentences not in FEVER's pages"] += found.count(None)
        evidence = tuple(
            sentence(page_title(page), text or "", fever_page_id=page, fever_sentence_id=number)
            for (page, number), text in zip(places, found, strict=True)
        )
        outputs.append(TaskOutput(claim.label, evidence))
    return tuple(outputs)


Numbered = list[tuple[int, str]]
_NUMBERED = pa.list_(pa.struct([("number", pa.int64()), ("text", pa.string())]))


def _pages(original: Original, claims: Iterable[_Claim]) -> KeyedTable[Numbered]:
    """The sentences of the pages that the claims refer to, from the files of FEVER's wiki-pages."""
    wanted = Seen()
    for block in blocks(claims, BLOCK):
        named = [page for claim in block for places in _places(claim) for page, _ in places]
        wanted.add(named, [0] * len(named))
    files = [
        f for path in original.extra for f in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])
    ]
    if len(wanted) and not files:
        raise Missing(
            "FEVER names sentences by their number",
            hint="give the folder of its wiki-pages (wiki-001.jsonl ...) with --extra",
        )
    pages = (page for file in files for _, page in read_json_lines(file) if isinstance(page.get("id"), str))
    asked = (zip(b, wanted.numbers_of([page["id"] for page in b]), strict=True) for b in blocks(pages, BLOCK))
    known = (page for block in asked for page, number in block if number is not None)
    pairs = ((page["id"], _numbered(page["lines"])) for page in known)
    return KeyedTable.of_pairs(pairs, _NUMBERED, _decoded, original.near)


def _decoded(table: pa.Table) -> Iterator[Numbered]:
    for sentences in table["value"].to_pylist():
        yield [(sentence["number"], sentence["text"]) for sentence in sentences]


def _numbered(lines: str) -> Numbered:
    rows = (line.partition("\t") for line in lines.split("\n"))
    return [(int(n), rest.partition("\t")[0]) for n, _, rest in rows if n.isdigit()]


MOST_TOKENS = 5


def convert_nq(original: Original) -> Iterator[TaskRecord]:
    """The open version of Natural Questions: questions with short answers of at most five tokens.

    Both the released forms: `document_tokens`, or `document_text` cut at blanks.
    """
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                if outputs := _outputs_of(record, original):
                    yield TaskRecord(str(record["example_id"]), record["question_text"], outputs, line)
            except (KeyError, TypeError, IndexError) as error:
                raise BadInput(
                    f"not a record of Natural Questions: {error!r}", file=file, line=line
                ) from None


def _outputs_of(record: Mapping[str, Any], original: Original) -> tuple[TaskOutput, ...]:
    """Nothing of a question without a short answer."""
    tokens = _tokens(record)
    page = record.get("document_url") or record.get("document_title")
    short: dict[str, TaskOutput] = {}
    long: dict[str, TaskOutput] = {}
    for annotation in record["annotations"]:
        for span in annotation["short_answers"]:
            words = _words(tokens, span)
            if len(words) > MOST_TOKENS:
                original.left_out["answers of more than five tokens"] += 1
            elif words:
                text = " ".join(words)
                short.setdefault(text, TaskOutput(text, (sentence(page, text),)))
        if text := " ".join(_words(tokens, annotation["long_answer"])):
            document = {
                "yes_no_answer": annotation.get("yes_no_answer", "NONE"),
                "annotation_id": annotation.get("annotation_id"),
            }
            long.setdefault(text, TaskOutput(None, (sentence(page, text, **document),)))
    if not short:
        original.left_out["questions without a short answer"] += 1
        return ()
    return (*short.values(), *long.values())


def _tokens(record: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Tokens, and whether each is markup."""
    if "document_tokens" in record:
        return [(token["token"], bool(token["html_token"])) for token in record["document_tokens"]]
    pieces = record["document_text"].split(" ")
    return [(piece, piece.startswith("<") and piece.endswith(">")) for piece in pieces]


def _words(tokens: list[tuple[str, bool]], span: Mapping[str, int]) -> list[str]:
    start, end = span["start_token"], span["end_token"]
    return [token for token, markup in tokens[start:end] if not markup] if min(start, end) >= 0 else []


class _HotpotQa(msgspec.Struct):
    identity: str | int = msgspec.field(name="_id")
    question: str
    answer: str
    context: list[tuple[str, list[str]]]
    supporting_facts: list[tuple[str, Annotated[int, msgspec.Meta(ge=0)]]]


def convert_hotpotqa(original: Original) -> Iterator[TaskRecord]:
    """All supporting sentences of a question together are its evidence."""
    for file in original.files:
        for number, record in enumerate(array_records(file, _HotpotQa), 1):
            context = dict(record.context)
            evidence, lost = [], 0
            for title, place in dict.fromkeys(record.supporting_facts):
                lines = context.get(title, ())
                lost += place >= len(lines)
                if place < len(lines):
                    evidence.append(sentence(title, lines[place].strip()))
            original.left_out["supporting facts outside the context"] += lost
            outputs = (TaskOutput(record.answer, tuple(evidence)),)
            yield TaskRecord(str(record.identity), record.question, outputs, number)


def convert_triviaqa(original: Original) -> Iterator[TaskRecord]:
    """Every alias of the answer is looked for on every Wikipedia page of the question."""
    for file in original.files:
        try:
            for number, record in enumerate(records_under(file, "Data"), 1):
                if not (pages := [page["Title"] for page in record.get("EntityPages", ())]):
                    original.left_out["questions without a Wikipedia page"] += 1
                    continue
                answer = record["Answer"]
                names = dict.fromkeys([answer["Value"], *answer["Aliases"]])
                outputs = tuple(TaskOutput(name, (sentence(page, name),)) for name in names for page in pages)
                yield TaskRecord(record["QuestionId"], record["Question"], outputs, number)
        except ODD_RECORD as error:
            raise BadInput(f"not a file of TriviaQA: {error!r}", file=file) from None


class _Eli5Answers(msgspec.Struct):
    text: list[str]
    score: list[int]


class _Eli5Evidence(msgspec.Struct):
    title: str
    text: str


class _Eli5(msgspec.Struct):
    q_id: str | int
    title: str
    answers: _Eli5Answers
    evidence: list[_Eli5Evidence] = []


def convert_eli5(original: Original) -> Iterator[TaskRecord]:
    """Answers with their votes; annotated evidence, where there is any, is an output of its own.

    Records are those of the released JSON lines (`q_id`, `title`, `answers`), with `evidence`, a list
    of {title, text}, where people have annotated it.
    """
    for file in original.files:
        for line, record in read_json_lines(file, _Eli5):
            texts, scores = record.answers.text, record.answers.score
            if len(texts) != len(scores):
                raise BadInput(f"{len(texts)} answers, but {len(scores)} scores", file=file, line=line)
            outputs = [
                TaskOutput(text, None, {"meta": {"score": score}})
                for text, score in zip(texts, scores, strict=True)
            ]
            outputs += [TaskOutput(None, (sentence(e.title, e.text),)) for e in record.evidence]
            if not record.evidence:
                original.left_out["questions without annotated evidence"] += original.split != "train"
            yield TaskRecord(str(record.q_id), record.title, tuple(outputs), line)


NOTHING = "no_passages_used"


def convert_wow(original: Original) -> Iterator[TaskRecord]:
    """Wizard of Wikipedia: each grounded turn of the wizard, with the conversation before it.

    Turns without a chosen sentence are left out; no topic is given. Dev and test are the unseen
    splits (`valid_topic_split.json`, `test_topic_split.json`).
    """
    for file in original.files:
        for number, dialog in enumerate(array_records(file, dict[str, Any]), 1):
            try:
                history: list[str] = []
                whole = made_id("wow", *(turn["text"] for turn in dialog["dialog"]))
                for place, turn in enumerate(dialog["dialog"]):
                    if turn["speaker"].endswith("Wizard"):
                        chosen = _chosen(turn)
                        if not history:
                            original.left_out["turns that open a conversation"] += 1
                        elif chosen is None:
                            original.left_out["turns without provenance"] += 1
                        else:
                            output = TaskOutput(turn["text"], (sentence(*chosen),))
                            yield TaskRecord(f"{whole}_{place}", "\n".join(history), (output,), number)
                    history.append(turn["text"])
            except ODD_RECORD as error:
                raise BadInput(
                    f"not a dialogue of Wizard of Wikipedia: {error!r}", file=file, line=number
                ) from None


def _chosen(turn: Mapping[str, Any]) -> tuple[str, str] | None:
    """Title and sentence that the wizard says it used."""
    checked = turn.get("checked_sentence") or {}
    if (text := next(iter(checked.values()), NOTHING)) == NOTHING or not text.strip():
        return None
    title = next(iter((turn.get("checked_passage") or {}).values()), None) or next(iter(checked), "")
    return str(title).replace("_", " "), text


CONVERTERS: dict[str, Callable[[Original], Iterator[TaskRecord]]] = {
    "fever": convert_fever,
    "aidayago2": convert_aida,
    "wned": convert_wned,
    "cweb": convert_wned,
    "trex": convert_trex,
    "structured_zeroshot": convert_zsre,
    "nq": convert_nq,
    "hotpotqa": convert_hotpotqa,
    "triviaqa": convert_triviaqa,
    "eli5": convert_eli5,
    "wow": convert_wow,
    "elevant": convert_elevant,
}
