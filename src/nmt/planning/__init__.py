"""What trainings will take, said before they run."""
