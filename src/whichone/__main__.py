"""python -m whichone"""

from whichone.cli import main

main()
