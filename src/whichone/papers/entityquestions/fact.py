"""A fact as EntityQuestions asks for it: one subject, one relation, every valid object."""

from __future__ import annotations

import msgspec


class Object(msgspec.Struct, frozen=True):
    """A value of the relation: its id, its label and its other names."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


class EntityFact(msgspec.Struct, frozen=True):
    """Subject and relation with all objects; `frequency` is how often the subject is met.

    `evidence` are the passages (from 0) of the subject's page that contain an answer.
    """

    subject: str
    name: str
    relation: str
    objects: tuple[Object, ...]
    page: str
    title: str
    frequency: float | None = None
    evidence: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.relation}:{self.subject}"

    def answers(self) -> tuple[str, ...]:
        """Labels first, then aliases, each once."""
        names = [o.label for o in self.objects] + [a for o in self.objects for a in o.aliases]
        return tuple(dict.fromkeys(names))
