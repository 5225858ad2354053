"""EntityQuestions (Sciavolino et al., EMNLP 2021): simple questions on entities, by relation.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build entityquestions": "whichone.papers.entityquestions.commands.build_entityquestions:command",
    "import entityquestions": "whichone.papers.entityquestions.commands.import_entityquestions:command",
    "score entityquestions": "whichone.papers.entityquestions.commands.score_entityquestions:command",
}
EXPORTS = {
    "entityquestions": "whichone.papers.entityquestions.release:export_entityquestions",
}
BUILTINS = {
    "builtin/entityquestions": "whichone.papers.entityquestions.build:build_builtin",
}
DATASETS = {
    "entityquestions": "whichone.papers.entityquestions:published_files.toml",
}
LABELS = {
    "entityquestions": "whichone.benchmarks.relations:labels",
}
MEASURES = {
    "best_possible": "whichone.papers.entityquestions.resolvable:best_possible",
}
SOURCES = {
    "entityquestions": "whichone.papers.entityquestions.training:EntityQuestionsFiles",
}
TABLES = {
    "entityquestions": "whichone.papers.entityquestions.report.page:entityquestions_section",
}
TRAINING_BUILDS = {
    "knowledge base": "whichone.papers.entityquestions.training:build_to_learn_from",
}
