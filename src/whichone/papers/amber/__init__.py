"""AmbER sets (Chen et al., ACL 2021): sets of namesakes, three tasks, their tables and figures.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build amber": "whichone.papers.amber.commands.build_amber:command",
    "import amber": "whichone.papers.amber.commands.import_amber:command",
    "score amber": "whichone.papers.amber.commands.score_amber:command",
}
EXPORTS = {
    "amber": "whichone.papers.amber.files:export_amber",
}
