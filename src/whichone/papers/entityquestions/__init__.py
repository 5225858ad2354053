"""EntityQuestions (Sciavolino et al., EMNLP 2021): simple questions on entities, by relation.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build entityquestions": "whichone.papers.entityquestions.commands:build_entityquestions_command",
    "import entityquestions": "whichone.papers.entityquestions.commands:import_entityquestions_command",
    "score entityquestions": "whichone.papers.entityquestions.commands:score_entityquestions_command",
}
EXPORTS = {"entityquestions": "whichone.papers.entityquestions.entityquestions_files:export_entityquestions"}
BUILTINS = {"builtin/entityquestions": "whichone.papers.entityquestions.build_entityquestions:build_builtin"}
DATASETS = {"entityquestions": "whichone.papers.entityquestions:published_files.toml"}
LABELS = {"entityquestions": "whichone.benchmarks.relations:labels"}
MEASURES = {"best_possible": "whichone.papers.entityquestions.entityquestions_files:best_possible"}
SOURCES = {"entityquestions": "whichone.papers.entityquestions.build_entityquestions:EntityQuestionsFiles"}
TABLES = {"entityquestions": "whichone.papers.entityquestions.entityquestions_report:entityquestions_section"}
TRAINING_BUILDS = {
    "knowledge base": "whichone.papers.entityquestions.build_entityquestions:build_to_learn_from"
}
