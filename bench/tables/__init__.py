"""EntityQuestions' Tables 2 and 3 and AmbER's Table 7 with real small weights: data, trainings, tables."""
