"""PopQA (Mallen et al., ACL 2023): questions with the popularity of their subject.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "import popqa": "whichone.papers.popqa.commands.import_popqa:command",
    "score popqa": "whichone.papers.popqa.commands.score_popqa:command",
}
EXPORTS = {
    "popqa": "whichone.papers.popqa.files:export_popqa",
}
DATASETS = {
    "popqa": "whichone.papers.popqa:published_files.toml",
}
MEASURES = {
    "popqa": "whichone.papers.popqa.scores.correct:popqa",
}
