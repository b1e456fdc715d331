"""From fixed point to exact integer arithmetic, by rules."""
