"""KILT (Petroni et al., NAACL 2021): eleven datasets over one snapshot, its alignment and scores.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "import kilt": "whichone.papers.kilt.commands:import_kilt_command",
    "map": "whichone.papers.kilt.commands:map_command",
    "score kilt": "whichone.papers.kilt.commands:score_kilt_command",
    "score kilt-tables": "whichone.papers.kilt.commands:score_kilt_tables_command",
}
EXPORTS = {"kilt": "whichone.papers.kilt.kilt_files:export_kilt"}
KNOWLEDGE_EXPORTS = {"kilt-el": "whichone.papers.kilt.convert_links:export_hyperlinks"}
ANSWER_TABLES = {"kilt": "whichone.papers.kilt.kilt_report:answers_section"}
BOARD_MEASURES = {"kilt": "whichone.papers.kilt.kilt_report:board_measures"}
DATASETS = {"kilt": "whichone.papers.kilt.kilt_record:published_files"}
MEASURES = {
    "kilt_accuracy": "whichone.papers.kilt.kilt_measures:kilt_accuracy",
    "kilt_em": "whichone.papers.kilt.kilt_measures:kilt_exact_match",
    "kilt_f1": "whichone.papers.kilt.kilt_measures:kilt_f1",
    "kilt_recall": "whichone.papers.kilt.kilt_measures:kilt_recall",
    "kilt_rouge_l": "whichone.papers.kilt.kilt_measures:kilt_rouge_l",
}
SOURCES = {"kilt": "whichone.papers.kilt.import_kilt:KiltFiles"}
STATISTICS = {"kilt": "whichone.papers.kilt.kilt_report:kilt_statistics"}
TABLES = {
    "kilt": "whichone.papers.kilt.kilt_report:runs_section",
    "kilt-names": "whichone.papers.kilt.kilt_report:namesake_section",
}
