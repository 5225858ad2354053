"""LongMemEval (Wu et al., ICLR 2025): questions about what a user said in earlier chat sessions.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "import longmemeval": "whichone.papers.longmemeval.commands.import_longmemeval:command",
}
