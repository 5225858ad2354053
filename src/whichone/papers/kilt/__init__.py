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
ANSWER_TABLES = {
    "kilt": "whichone.papers.kilt.report.answer_tables:answers_section",
}
BOARD_MEASURES = {
    "kilt": "whichone.papers.kilt.statistics:board_measures",
}
DATASETS = {
    "kilt": "whichone.papers.kilt.datasets:published_files",
}
MEASURES = {
    "kilt_accuracy": "whichone.papers.kilt.measures:kilt_accuracy",
    "kilt_em": "whichone.papers.kilt.measures:kilt_exact_match",
    "kilt_f1": "whichone.papers.kilt.measures:kilt_f1",
    "kilt_recall": "whichone.papers.kilt.measures:kilt_recall",
    "kilt_rouge_l": "whichone.papers.kilt.measures:kilt_rouge_l",
}
SOURCES = {
    "kilt": "whichone.papers.kilt.training:KiltFiles",
}
STATISTICS = {
    "kilt": "whichone.papers.kilt.report.statistics:kilt_statistics",
}
TABLES = {
    "kilt": "whichone.papers.kilt.report.runs:runs_section",
    "kilt-names": "whichone.papers.kilt.report.namesakes:namesake_section",
}
