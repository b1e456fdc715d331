"""From float networks to fixed point: calibration, formats, and the rewrite to quantised types."""
