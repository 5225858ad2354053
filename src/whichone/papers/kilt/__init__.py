"""KILT (Petroni et al., NAACL 2021): eleven datasets over one snapshot, its alignment and scores.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "import kilt": "whichone.papers.kilt.commands.import_kilt:command",
    "map": "whichone.papers.kilt.commands.map:command",
    "score kilt": "whichone.papers.kilt.commands.score_kilt:command",
    "score kilt-tables": "whichone.papers.kilt.commands.score_kilt_tables:command",
}
EXPORTS = {
    "kilt": "whichone.papers.kilt.export_files:export_kilt",
}
KNOWLEDGE_EXPORTS = {
    "kilt-el": "whichone.papers.kilt.convert.hyperlinks:export_hyperlinks",
}
