"""AmbigDocs (Lee et al., 2024) and RAMDocs: documents on several entities of one name.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build ambigdocs": "whichone.papers.ambigdocs.commands:build_ambigdocs_command",
    "import ambigdocs": "whichone.papers.ambigdocs.commands:import_ambigdocs_command",
    "import ramdocs": "whichone.papers.ambigdocs.commands:import_ramdocs_command",
    "score ambigdocs": "whichone.papers.ambigdocs.commands:score_ambigdocs_command",
}
ANSWER_EXPORTS = {"ambigdocs": "whichone.papers.ambigdocs.score_file:export_predictions"}
EXPORTS = {"ambigdocs": "whichone.papers.ambigdocs.ambigdocs_files:export_ambigdocs"}
MEASURES = {
    "all_entities": "whichone.papers.ambigdocs.further_measures:all_entities",
    "ambiguous": "whichone.papers.ambigdocs.further_measures:ambiguous",
    "answer_recall": "whichone.papers.ambigdocs.further_measures:answer_recall",
    "complete": "whichone.papers.ambigdocs.further_measures:complete",
    "entity_answer_recall": "whichone.papers.ambigdocs.further_measures:entity_answer_recall",
    "entity_coverage": "whichone.papers.ambigdocs.further_measures:entity_coverage",
    "entity_recall": "whichone.papers.ambigdocs.further_measures:entity_recall",
    "knowledge_precision": "whichone.papers.ambigdocs.further_measures:knowledge_precision",
    "merged": "whichone.papers.ambigdocs.further_measures:merged",
    "no_answer": "whichone.papers.ambigdocs.further_measures:no_answer",
    "partial": "whichone.papers.ambigdocs.further_measures:partial",
    "ramdocs_em": "whichone.papers.ambigdocs.further_measures:ramdocs_em",
    "str_em": "whichone.papers.ambigdocs.further_measures:str_em",
}
ANSWER_PAGES = {"ambigdocs": "whichone.papers.ambigdocs.ambigdocs_report:answers_page"}
BUILTINS = {"builtin/ambigdocs": "whichone.papers.ambigdocs.build_ambigdocs:build_builtin"}
CAMPAIGNS = {"categories": "whichone.papers.ambigdocs.category_campaign:CategoryKind"}
DATASETS = {"ambigdocs": "whichone.papers.ambigdocs:published_files.toml"}
UPLOADS = {"ambigdocs": "whichone.papers.ambigdocs.ambigdocs_files:UPLOAD"}
