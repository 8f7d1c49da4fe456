"""What is said of descriptors, steps and turns, the same in every form."""
