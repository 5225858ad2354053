"""PopQA (Mallen et al., ACL 2023): questions with the popularity of their subject.

What the paper offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "import popqa": "whichone.papers.popqa.commands:import_popqa_command",
    "score popqa": "whichone.papers.popqa.commands:score_popqa_command",
}
EXPORTS = {"popqa": "whichone.papers.popqa.popqa:export_popqa"}
DATASETS = {"popqa": "whichone.papers.popqa:published_files.toml"}
MEASURES = {"popqa": "whichone.papers.popqa.popqa:popqa"}
