"""People sort answers into AmbigDocs' five categories: a kind of annotation campaign."""
