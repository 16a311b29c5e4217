"""Grade, correct, check intent, judge sufficiency."""
