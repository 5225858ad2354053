"""The parts of bench/namesake_training.py: data, trainings, table."""
