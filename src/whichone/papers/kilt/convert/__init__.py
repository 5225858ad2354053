"""The datasets' original formats as tasks for the mapping, as KILT's section 3 and appendix describe."""
