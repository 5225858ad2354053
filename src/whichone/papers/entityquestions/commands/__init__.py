"""The commands of EntityQuestions."""
