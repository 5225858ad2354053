"""EntityQuestions (Sciavolino et al., EMNLP 2021): simple questions on entities, by relation.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build entityquestions": "whichone.papers.entityquestions.commands.build_entityquestions:command",
    "import entityquestions": "whichone.papers.entityquestions.commands.import_entityquestions:command",
    "score entityquestions": "whichone.papers.entityquestions.commands.score_entityquestions:command",
}
EXPORTS = {
    "entityquestions": "whichone.papers.entityquestions.files:export_entityquestions",
}
