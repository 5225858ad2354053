"""`whichone` inside other tools: each module is imported only by those who have that tool."""
