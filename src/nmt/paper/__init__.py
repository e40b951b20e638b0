"""Tables and figures of a paper, made from the files of runs, with their provenance."""
