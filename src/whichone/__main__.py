"""python -m whichone"""

from whichone.cli import run

run()
