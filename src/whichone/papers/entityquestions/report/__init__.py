"""Tables and figures of the EntityQuestions paper."""
