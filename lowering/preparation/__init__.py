"""Rewrites to the forms that lowerings support: windows for resizing, sums for means, explicit broadcasting."""
