"""AmbigDocs (Lee et al., 2024) and RAMDocs: documents on several entities of one name.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build ambigdocs": "whichone.papers.ambigdocs.commands.build_ambigdocs:command",
    "import ambigdocs": "whichone.papers.ambigdocs.commands.import_ambigdocs:command",
    "import ramdocs": "whichone.papers.ambigdocs.commands.import_ramdocs:command",
    "score ambigdocs": "whichone.papers.ambigdocs.commands.score_ambigdocs:command",
}
ANSWER_EXPORTS = {
    "ambigdocs": "whichone.papers.ambigdocs.scores.answers:export_predictions",
}
EXPORTS = {
    "ambigdocs": "whichone.papers.ambigdocs.export_files:export_ambigdocs",
}
MEASURES = {
    "all_entities": "whichone.papers.ambigdocs.scores.coverage:all_entities",
    "ambiguous": "whichone.papers.ambigdocs.scores.answer_measures:ambiguous",
    "answer_recall": "whichone.papers.ambigdocs.scores.answer_measures:answer_recall",
    "complete": "whichone.papers.ambigdocs.scores.answer_measures:complete",
    "entity_answer_recall": "whichone.papers.ambigdocs.scores.answer_measures:entity_answer_recall",
    "entity_coverage": "whichone.papers.ambigdocs.scores.coverage:entity_coverage",
    "entity_recall": "whichone.papers.ambigdocs.scores.answer_measures:entity_recall",
    "knowledge_precision": "whichone.papers.ambigdocs.scores.answer_measures:knowledge_precision",
    "merged": "whichone.papers.ambigdocs.scores.answer_measures:merged",
    "no_answer": "whichone.papers.ambigdocs.scores.answer_measures:no_answer",
    "partial": "whichone.papers.ambigdocs.scores.answer_measures:partial",
    "ramdocs_em": "whichone.papers.ambigdocs.scores.answer_measures:ramdocs_em",
    "str_em": "whichone.papers.ambigdocs.scores.answer_measures:str_em",
}
ANSWER_PAGES = {
    "ambigdocs": "whichone.papers.ambigdocs.report.page:answers_page",
}
BUILTINS = {
    "builtin/ambigdocs": "whichone.papers.ambigdocs.build_benchmark:build_builtin",
}
CAMPAIGNS = {
    "categories": "whichone.papers.ambigdocs.campaign.kind:CategoryKind",
}
DATASETS = {
    "ambigdocs": "whichone.papers.ambigdocs:published_files.toml",
}
UPLOADS = {
    "ambigdocs": "whichone.papers.ambigdocs.upload:UPLOAD",
}
