"""From sets to distinguishing facts as relations, and the pipeline that keeps each under its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whichone.benchmarks.relations import frequent_values
from whichone.knowledge.engines import Engine, Tables
from whichone.knowledge.formats.kilt_source import UNNAMED
from whichone.names import name_key
from whichone.papers.amber.collection import AmberRules, Collection, Popularity
from whichone.records import grouped

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, Table


def typed_entities(tables: Tables, collection: Collection, among: Table | None = None) -> Table:
    """Entities and their types of the collection, all or those that a column `bearer` names.

    `kinds` has a bit for each of the collection's types, which is cheaper to carry than a list.
    """
    entities = tables.entities.select("entity", "position", "types", "title", "sitelinks")
    if among is not None:
        entities = entities.semi_join(among, entities.entity == among.bearer)
    kinds = sum(
        entities.types.contains(t.id).fill_null(False).cast("int64") * 2**n
        for n, t in enumerate(collection.types.values())
    )
    return entities.select("entity", "position", "title", "sitelinks", kinds=kinds)


def of_kind(kinds: Any, n: int) -> BooleanValue:
    return (kinds & 2**n) > 0


def population(tables: Tables, entities: Table, popularity: Popularity) -> Table:
    """The entities that have a popularity, with it: they can be bearers."""
    import ibis

    if popularity == "none":
        known = entities.mutate(popularity=ibis.null("float64"))
    elif popularity == "sitelinks":
        linked = entities.filter(entities.sitelinks > 0)
        known = linked.mutate(popularity=linked.sitelinks.cast("float64"))
    elif popularity == "links":
        pages = tables.pages.select("page", about=tables.pages.entity)
        pages = pages.semi_join(entities, pages.about == entities.entity)
        links = tables.links.inner_join(pages, tables.links.target_page == pages.page)
        counted = links.group_by("about").agg(popularity=links.count().cast("float64"))
        known = entities.inner_join(counted, entities.entity == counted.about)
    else:
        views = tables.views.select(viewed="title", views="views")
        joined = entities.inner_join(views, entities.title == views.viewed)
        known = joined.group_by("entity").agg(  # by one column: by three it takes twice as long
            position=joined.position.arbitrary(),
            kinds=joined.kinds.arbitrary(),
            popularity=joined.views.sum().cast("float64"),
        )
    return known.select("entity", "position", "popularity", "kinds", typed=known.kinds > 0)


def spoken_names(tables: Tables, rules: AmberRules, language: str) -> Table:
    """Every label and alias of the language: `grouped` is what must be equal to be one name.

    The released program takes the language itself only; ours also its variants and "mul", where
    Wikidata keeps names that are the same in all languages.
    """
    import ibis

    names = tables.names
    spoken = names.language == language
    if rules.name == "paper":
        spoken = spoken | names.language.startswith(f"{language}-") | (names.language == "mul")
    names = names.filter(names.kind.isin(["label", "alias"]), spoken)
    grouped = names.name if rules.same_name == "exact" else names.key
    place = names.place
    if rules.name == "paper":  # labels, then aliases, the language's own first
        own, label = names.language == language, names.kind == "label"
        place = ibis.cases((own & label, 0), (label, 1), (own, place + 1), else_=place + 1_000_000)
    return names.select(grouped=grouped, name=names.name, bearer=names.entity, place=place.cast("int64"))


def repeated_names(names: Table) -> Table:
    """Names that occur more than once: the one step that looks at every name."""
    counted = names.group_by("grouped").agg(times=names.count())
    return counted.filter(counted.times > 1).select("grouped")


def repeated_namings(names: Table, repeated: Table, rules: AmberRules) -> Table:
    """Who has a repeated name, each bearer once with its own spelling of it."""
    borne = names.semi_join(repeated, "grouped")
    if rules.same_name == "exact":
        return borne.select("grouped", "bearer", "name").distinct()
    return borne.group_by(["grouped", "bearer"]).agg(name=borne.name.argmin(borne.place))


def shared_names(known: Table) -> Table:
    """Names with two or more typed bearers: the first and the last of them are not the same."""
    typed = known.filter(known.typed)
    ends = typed.group_by("grouped").agg(first=typed.position.min(), last=typed.position.max())
    return ends.filter(ends.first != ends.last).select("grouped")


def name_leads(known: Table, rules: AmberRules) -> Table:
    """For each shared name the popularity of its two most popular typed bearers, and of a head."""
    typed = known.filter(known.typed)
    held = typed.group_by("grouped").agg(popularity=typed.popularity.collect())
    several = held.filter(held.popularity.length() > 1)
    several = several.mutate(popularity=several.popularity.sort(), n=several.popularity.length())
    ordered, n = several.popularity, several.n
    pair = several.select("grouped", first=ordered[n - 1], second=ordered[n - 2])
    if rules.head_among == "typed":
        return pair.mutate(top=pair.first)
    return pair.inner_join(known.group_by("grouped").agg(top=known.popularity.max()), "grouped")


def gap_filter(leads: Table, rules: AmberRules) -> Table:
    """Names whose head leads by the gap; a hair less is let through here and tested exactly later."""
    import ibis

    first, second = leads.first, leads.second
    if rules.gap_scale == "log10":
        # No views at all count as one: engines refuse the logarithm of nothing.
        first, second = (ibis.greatest(p, 1.0).log10() for p in (first, second))
    below = second if rules.gap_denominator == "tail" else (first + second) / 2
    gap = ibis.cases((below > 0, (first - second) / below), (first > second, 1e308), else_=0.0)
    # Engines may differ in the last bit of a logarithm; the exact test is made in Python afterwards.
    return leads.filter(gap >= rules.gap - 1e-9)


def set_bearers(known: Table, leads: Table) -> Table:
    joined = known.filter(known.typed).inner_join(leads, "grouped")
    return joined.select(
        "grouped", "name", "entity", "position", "kinds", "popularity", "first", "second",
        is_head=(joined.popularity == joined.top).fill_null(False),
    )  # fmt: skip


def used_namings(namings: Table, tables: Tables, rules: AmberRules) -> Table:
    """The namings by a bearer's label, and those that a share of the links to the bearer use."""
    linked = tables.names.filter(tables.names.kind == "anchor")
    linked = linked.semi_join(namings, linked.entity == namings.bearer)
    called = linked.name if rules.same_name == "exact" else linked.key
    links = linked.select(linked=linked.entity, called=called, times=linked["count"])
    totals = links.group_by("linked").agg(total=links.times.sum())
    times = links.group_by(["linked", "called"]).agg(times=links.times.sum())
    shares = times.inner_join(totals, "linked")
    enough = shares.filter(shares.times >= rules.min_name_share * shares.total)
    labels = tables.names.filter(tables.names.kind == "label")
    labelled = labels.name if rules.same_name == "exact" else labels.key
    kept = enough.select("linked", "called").union(labels.select(linked=labels.entity, called=labelled))
    return namings.semi_join(kept, [namings.bearer == kept.linked, namings.grouped == kept.called])


# Practised by, used by: the released program takes their names as further answers.
USERS = ("P3095", "P1535")


def usable(facts: Table, rules: AmberRules) -> Table:
    if rules.other_value_kinds:
        kept = facts.filter(facts.kind.isin(["entity", "quantity", "string", "monolingual", "time"]))
    else:
        kept = facts.filter(
            (facts.kind == "quantity") | (facts.kind == "entity") & facts.value.startswith("Q")
        )
    return kept if rules.deprecated_facts else kept.filter(kept["rank"] != "deprecated")


def bearer_facts(facts: Table, bearers: Table, collection: Collection) -> Table:
    """Facts of the sets' bearers with a property of the collection.

    `listed` says whether the property is one of those of the bearer's own types.
    """
    import ibis

    facts = facts.filter(facts["property"].isin(collection.wanted))
    facts = facts.select("entity", "property", "kind", "value", "unit", "place")
    joined = bearers.select("grouped", "entity", "position", "kinds").inner_join(facts, "entity")
    listed = ibis.or_(
        *(
            of_kind(joined.kinds, n) & joined["property"].isin(t.properties)
            for n, t in enumerate(collection.types.values())
        )
    )
    return joined.mutate(listed=listed).drop("kinds")


def shared_properties(bearer_facts: Table) -> Table:
    """Properties that two or more bearers of a name have: they tell nobody apart.

    `bearer_facts` must have been computed: given all joins at once, an engine may begin with the one
    on the property.
    """
    ends = bearer_facts.group_by(["grouped", "property"]).agg(
        low=bearer_facts.position.min(), high=bearer_facts.position.max()
    )
    return ends.filter(ends.low != ends.high).select("grouped", "property")


def distinguishing_facts(bearer_facts: Table, shared: Table) -> Table:
    """Facts whose property is listed for the bearer's type and had by no other bearer of the set."""
    return bearer_facts.filter(bearer_facts.listed).anti_join(shared, ["grouped", "property"])


def qualifiers(bearer_facts: Table, prop: str) -> Table:
    """The bearers whose qualifier no other bearer of the name has, with its first such value."""
    held = bearer_facts.filter(bearer_facts["property"] == prop)
    ends = held.group_by(["grouped", "kind", "value"]).agg(
        low=held.position.min(), high=held.position.max(), place=held.place.min()
    )
    own = ends.filter(ends.low == ends.high)
    return own.group_by(["grouped", "low"]).agg(
        kind=own.kind.argmin(own.place), value=own.value.argmin(own.place)
    )


class Pipeline:
    """The named relations of one build: each is computed once, and can be printed, counted, sampled."""

    def __init__(
        self,
        engine: Engine,
        tables: Tables,
        collection: Collection,
        rules: AmberRules,
        *,
        popularity: Popularity,
        language: str = "en",
    ) -> None:
        self.engine, self.tables, self.collection = engine, tables, collection
        self.rules, self.popularity, self.language = rules, popularity, language
        self.relations: dict[str, Table] = {}
        self.every_set = False  # go on with names that cannot become a set, to explain why

    @property
    def ranked(self) -> bool:
        """Whether bearers have a popularity, so that there are heads and tails."""
        return self.popularity != "none"

    def keep(self, name: str, relation: Table) -> Table:
        self.relations[name] = self.engine.keep(name, relation)
        return self.relations[name]

    def run(self, only: str | None = None) -> None:
        """All relational steps, for every name or for one."""
        import ibis

        tables, rules, collection = self.tables, self.rules, self.collection
        naming = self.naming()
        if only is not None:
            key = only if rules.same_name == "exact" else name_key(only)
            naming = naming.filter(naming.grouped == key)
        repeated = self.keep("repeated_names", repeated_names(naming))
        namings = self.keep("namings", repeated_namings(naming, repeated, rules))
        if rules.min_name_share:
            namings = self.keep("used_namings", used_namings(namings, tables, rules))
        named = self.keep("named_entities", typed_entities(tables, collection, namings))
        people = population(tables, named, self.popularity)
        known = namings.inner_join(people, namings.bearer == people.entity).drop("bearer")
        known = self.keep("known_bearers", known)
        if not self.ranked:
            nobody = dict.fromkeys(("first", "second", "top"), ibis.null("float64"))
            passed = leads = self.keep("leads", shared_names(known).mutate(**nobody))
        else:
            leads = self.keep("leads", name_leads(known, rules))
            passed = gap_filter(leads, rules)
        shared = leads.select("grouped")
        self.relations["shared_names"] = shared  # these two are computed where they are asked for
        self.relations["bearers"] = known.semi_join(shared, "grouped")
        sets = self.keep("set_bearers", set_bearers(known, passed))
        facts = usable(tables.facts, rules)
        owned = self.keep("bearer_facts", bearer_facts(facts, sets, collection))
        if collection.qualifier:
            qualifier_rows = self.keep("qualifiers", qualifiers(owned, collection.qualifier))
            qualified = qualifier_rows.select("grouped", position="low")
            asking = owned.filter(owned.listed, owned["property"] != collection.qualifier)
            asking = asking.semi_join(qualified, ["grouped", "position"])
        else:
            held = self.keep("shared_properties", shared_properties(owned))
            asking = distinguishing_facts(owned, held)
        self.keep("distinguishing_facts", asking)
        if rules.false_value == "knowledge base":
            asked = facts.filter(facts["property"].isin(collection.property_ids))
            self.keep("value_counts", frequent_values(asked))

    def naming(self) -> Table:
        return spoken_names(self.tables, self.rules, self.language)

    def names_of(self, entities: Table, column: str, naming: Table | None = None) -> dict[str, list[str]]:
        """The names of the entities that a column has, in their order."""
        naming = self.naming() if naming is None else naming
        borne = naming.semi_join(entities, naming.bearer == entities[column])
        listed = borne.select("bearer", "place", "name").order_by("bearer", "place", "name")
        return grouped((entity, name) for entity, _, name in self.tuples(listed))

    def population(self) -> Table:
        return population(self.tables, typed_entities(self.tables, self.collection), self.popularity)

    def count(self, name: str) -> int:
        return self.number(self.relations[name].count())

    def number(self, expression: Any) -> int:
        return int(self.engine.value(expression) or 0)

    def pages(self) -> Table:
        """The pages that may be evidence.

        A knowledge base also knows a page's entity by its title. The released program goes by what
        the page's own record (of KILT) says, where records say anything.
        """
        pages = self.tables.pages
        if not self.rules.disambiguation_pages:
            pages = pages.filter(pages.kind == "article")
        if self.rules.name == "published":
            named = pages.filter(~pages.history.contains(f'"{UNNAMED}":true').fill_null(False))
            if self.number(named.limit(1).count()):
                return named
        return pages

    def tuples(self, relation: Table) -> Iterator[tuple[Any, ...]]:
        for batch in self.engine.batches(relation):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
