"""AmbER sets (Chen et al., ACL 2021): sets of namesakes, three tasks, their tables and figures.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build amber": "whichone.papers.amber.commands:build_amber_command",
    "import amber": "whichone.papers.amber.commands:import_amber_command",
    "score amber": "whichone.papers.amber.commands:score_amber_command",
}
EXPORTS = {"amber": "whichone.papers.amber.amber_files:export_amber"}
BUILTINS = {"builtin/amber": "whichone.papers.amber.build_amber:build_builtin"}
DATASETS = {"amber": "whichone.papers.amber:published_files.toml"}
LABELS = {"amber": "whichone.papers.amber.collection:labels"}
MEASURES = {
    "amber_em": "whichone.papers.amber.amber_scores:amber_exact_match",
    "amber_f1": "whichone.papers.amber.amber_scores:amber_f1",
}
STATISTICS = {"amber": "whichone.papers.amber.amber_tables:amber_statistics"}
TYPE_NAMES = {"amber": "whichone.papers.amber.collection:type_name"}
TABLES = {"amber": "whichone.papers.amber.amber_tables:templates_section"}
