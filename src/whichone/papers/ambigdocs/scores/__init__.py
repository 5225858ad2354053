"""AmbigDocs' measures: is each bearer answered, named, and named beside its own answer?"""
