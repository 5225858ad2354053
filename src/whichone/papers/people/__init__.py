"""Inventors: real people of one name and their patents, from PatentsView, part of them labelled by hand.

What it offers to the other rooms, by name; nothing is imported until it is used.
"""

COMMANDS = {"build inventors": "whichone.papers.people.commands:build_inventors_command"}
DATASETS = {"inventors": "whichone.papers.people:published_files.toml"}
