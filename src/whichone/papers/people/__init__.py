"""People of one name and their documents: inventors of PatentsView, part of them labelled by hand, or one's own table.

What it offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {
    "build inventors": "whichone.papers.people.commands:build_inventors_command",
    "build people": "whichone.papers.people.commands:build_people_command",
}
DATASETS = {"inventors": "whichone.papers.people:published_files.toml"}
